// What every view needs: elements, calls, the address, jobs, exports, numbers.

export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "rect", "circle", "text", "title", "clipPath"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

// One page has one heavy job at a time: the server knows the page by this word.
const page = Math.random().toString(36).slice(2);
const token = new URLSearchParams(location.search).get("token");

// An address of this server that another tab can open.
export const linked = (path) => path + (token ? "?token=" + token : "");

async function call(path, options = {}) {
  const headers = { "X-Page": page, ...(token ? { "X-Token": token } : {}) };
  let response;
  try {
    response = await fetch("/api/" + path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The explorer does not answer. Is the program still running?");
  }
  const value = await response.json();
  if (!response.ok) throw new Error(value.error);
  return value;
}
export const get = (path, values = {}, signal) => call(path + query(values), { signal });
export const post = (path, value, signal) => call(path, { method: "POST", body: value instanceof Blob ? value : JSON.stringify(value), signal });

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value != null);
  return given.length ? "?" + new URLSearchParams(given) : "";
}

// The address: #view?parameters. Keys that were typed are never part of it.
export function place() {
  const [view, text = ""] = location.hash.slice(1).split("?");
  return { view: view || "plan", values: Object.fromEntries(new URLSearchParams(text)) };
}
export function keep(view, values) {
  history.replaceState(null, "", "#" + view + query(values));
}

export function say(text) {
  const status = document.getElementById("status");
  status.textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (status.textContent = ""), 4000);
}

// Calls with only the last answer counting: a slider moves faster than a network.
export function latest() {
  let running;
  return async (work) => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      const value = await work(mine.signal);
      return mine.signal.aborted ? undefined : value;
    } catch (error) {
      if (error.name === "AbortError") return undefined;
      throw error;
    }
  };
}

// Runs a job of the server to its end, with a bar and a button to stop it. A page has one at a time: a new one stops the old.
let current = null;
export async function job(box, start, show) {
  await current?.end();
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  const stop = h("button", { type: "button", "data-stop": "1" }, "Stop");
  const fail = (error) => box.replaceChildren(h("p", { class: "error", role: "alert" }, error.message ?? String(error)));
  let [id, finish] = [null, null];
  const finished = new Promise((done) => (finish = done));
  try {
    id = (await start()).job;
  } catch (error) {
    return fail(error);
  }
  const halt = () => post("stop?id=" + id, {}).catch(() => {});
  const mine = (current = { end: () => (halt(), finished) });
  stop.addEventListener("click", halt);
  try {
    // Short work is done before a bar is worth showing.
    for (let wait = 10; ; wait = Math.min(120, wait * 2)) {
      await new Promise((done) => setTimeout(done, wait));
      if (wait > 40 && !stop.isConnected) box.replaceChildren(h("div", { class: "row" }, bar, stop));
      const state = await get("job", { id });
      bar.value = state.done;
      if (state.error) return fail(state.error);
      if (state.result && box.isConnected) show(state.result, state.finished);
      if (state.finished) {
        box.replaceChildren(h("p", { class: "say" }, state.stopped ? "Stopped." : "Done."));
        return state.stopped ? null : state.result;
      }
      if (!box.isConnected) halt();
    }
  } catch (error) {
    fail(error);
  } finally {
    if (current === mine) current = null;
    finish();
  }
}

// Numbers for people: at most three digits.
const raised = (power) => String(power).replace(/[-\d]/g, (digit) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(digit)]);
export function short(value) {
  if (value == null || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) {
    const [digits, power] = value.toExponential(1).split("e");
    return (+digits === 1 ? "" : +digits + " × ") + "10" + raised(+power);
  }
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(+value.toPrecision(3));
}
export const percent = (value) => (value == null ? "–" : value === 0 ? "0 %" : value < 9.9e-5 ? short(value) : short(value * 100) + " %");
// A rate as one would type it.
export const typed = (value) => (value < 9.9e-5 ? value.toExponential(1) : short(value * 100) + " %");
export function bytes(value) {
  if (value == null) return "–";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < 4) [value, unit] = [value / 1024, unit + 1];
  return short(value) + " " + units[unit];
}

export function field(label, input, hint) {
  input.id ||= "field-" + label.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("div", { class: "field" }, h("label", { for: input.id }, label), input, hint ? h("p", { class: "hint" }, hint) : null);
}
// A range and a field that follow each other. `at` and `from` turn the range's 0..1 into values and back.
export function slider(label, value, at, from, shown, change, hint) {
  const range = h("input", { type: "range", min: 0, max: 1, step: 0.002, "aria-label": label + ", slider" });
  const text = h("input", { type: "text", value: shown(value), autocomplete: "off", spellcheck: "false" });
  range.value = from(value);
  range.setAttribute("aria-valuetext", shown(value));
  const box = field(label, text);
  box.classList.add("slider");
  box.append(range, ...(hint ? [h("p", { class: "hint" }, hint)] : []));
  range.addEventListener("input", () => {
    value = at(+range.value);
    text.value = shown(value);
    range.setAttribute("aria-valuetext", shown(value));
    change(value);
  });
  text.addEventListener("change", () => {
    const read = at(1) === "" && /^\s*(any)?\s*$/i.test(text.value) ? "" : parse(text.value);
    if (read == null) return say(label + ": " + text.value + " is not a number");
    value = read;
    text.value = shown(value);
    range.value = from(value);
    range.setAttribute("aria-valuetext", shown(value));
    change(value);
  });
  return box;
}
// 10M, 1e6, 1 %, 1/1000, 20MiB, 1000 B
export function parse(text) {
  const found = /^\s*([\d.,]+(?:e[-+]?\d+)?)\s*(%|b|bytes|k|m|g|kib|mib|gib|\/\s*\d+)?\s*$/i.exec(text);
  if (!found) return null;
  const unit = (found[2] ?? "").toLowerCase().trim();
  const scale = unit.startsWith("/") ? 1 / +unit.slice(1) : { "": 1, "%": 0.01, b: 1, bytes: 1, k: 1e3, m: 1e6, g: 1e9, kib: 1024, mib: 2 ** 20, gib: 2 ** 30 }[unit];
  const value = +found[1].replace(/,/g, "") * scale;
  return Number.isFinite(value) ? value : null;
}

function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(name + " saved");
}
// The drawing as it looks, on its own: colours are written into it.
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((node) => [node, ...node.querySelectorAll("*")]);
  from.forEach((node, at) => {
    const look = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "text-anchor"]) {
      // A drawing that is made to be saved is in no document, and has its colours already.
      if (look.getPropertyValue(name)) to[at].setAttribute(name, look.getPropertyValue(name));
    }
  });
  const [, , width, height] = svg.getAttribute("viewBox").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(h("rect", { width, height, fill: getComputedStyle(document.documentElement).getPropertyValue("--card") }));
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}
// Buttons that save a drawing as SVG and PNG, and its numbers as CSV. `rows` begins with the names of the columns.
export function exports(name, drawing, rows) {
  const png = () => {
    const svg = drawing();
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const image = new Image();
    const url = URL.createObjectURL(standalone(svg));
    image.onload = () => {
      const canvas = h("canvas", { width: width * 2, height: height * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, width * 2, height * 2);
      URL.revokeObjectURL(url);
      canvas.toBlob((blob) => save(name + ".png", blob));
    };
    image.src = url;
  };
  const cell = (value) => (/[",\n]/.test(String(value)) ? '"' + String(value).replaceAll('"', '""') + '"' : value ?? "");
  const csv = () => save(name + ".csv", new Blob([rows().map((row) => row.map(cell).join(",") + "\n").join("")], { type: "text/csv" }));
  const button = (label, work) => h("button", { type: "button", class: "small", onclick: () => (drawing() ? work() : say("Nothing is drawn yet")), "aria-label": "Save " + name + " as " + label }, label);
  return h("div", { class: "row save" }, "Save as", button("SVG", () => save(name + ".svg", standalone(drawing()))), button("PNG", png), button("CSV", csv));
}
// A drawing with its title, a sentence that says what one sees, and its exports.
export function figure(title, name, drawing, caption, rows, find = () => drawing.querySelector("svg") ?? drawing) {
  return h("figure", { class: "card" }, h("h2", {}, title), drawing, h("figcaption", { "aria-live": "polite" }, caption), exports(name, find, rows));
}
// A table that may be wider than the screen.
export function table(label, head, rows, attributes = () => ({})) {
  const numeric = (name) => (name.startsWith("#") ? "n" : "");
  const cells = (row, tag) => row.map((value, at) => (value instanceof Node && /^T[DH]$/.test(value.tagName) ? value : h(tag, { class: numeric(head[at]), ...(tag === "th" ? { scope: "col" } : {}) }, value)));
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", {}, h("thead", {}, h("tr", {}, cells(head.map((name) => name.replace("#", "")), "th"))), h("tbody", {}, rows.map((row, at) => h("tr", attributes(at), cells(row, "td"))))));
}
