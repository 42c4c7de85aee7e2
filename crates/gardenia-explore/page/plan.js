// Plan: from a need to designs, a plot, and the lines that build them.
import { bytes, field, figure, get, h, keep, latest, percent, say, short, slider, table, typed } from "./kit.js";
import { chart } from "./chart.js";

export const title = "Plan";
export const heading = "Which filter, and how large?";
export const sentence = "Say how many keys you have, how many false positives you accept, and what the filter must do. The library lists the designs that fit, the best first.";

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export async function draw(body, values, { needs }) {
  const state = { items: +(values.items ?? 1e6), fpp: +(values.fpp ?? 0.01), memory: values.memory ? +values.memory : "", prefer: values.prefer ?? "balance", needs: new Set((values.needs ?? "").split(",").filter(Boolean)) };
  const [list, plot, code, message] = [h("div", { class: "card" }), h("div", {}), h("div", { class: "card", "aria-live": "polite" }), h("p", { "aria-live": "polite" })];
  let [plan, chosen, curves] = [null, null, []];
  const [last, lastCurves] = [latest(), latest()];

  const asked = () => ({ items: state.needs.has("grow") ? "" : Math.round(state.items), fpp: state.fpp, memory: state.memory === "" ? "" : Math.round(state.memory), prefer: state.prefer, needs: [...state.needs].join(",") });

  async function update() {
    keep("plan", { ...asked(), items: Math.round(state.items) });
    const started = performance.now();
    try {
      const found = await last((signal) => get("plan", asked(), signal));
      if (!found) return;
      plan = found;
      message.textContent = plan.error ? capital(plan.error) + "." + (plan.nearest ? ` The nearest design is ${plan.nearest.kind}, ${plan.without}: ${bytes(plan.nearest.bytes)}, ${short(plan.nearest.bits_per_key)} bits per key, and a rate of ${percent(plan.nearest.fpp)}.` : "") : "";
      message.className = plan.error ? "error note" : "";
      if (!plan.designs.some((design) => design.kind === chosen)) chosen = plan.designs[0]?.kind;
      show();
      body.dataset.ms = (performance.now() - started).toFixed(1);
    } catch (error) {
      message.className = "error note";
      message.textContent = error.message;
    }
    clearTimeout(update.timer);
    update.timer = setTimeout(async () => {
      const found = await lastCurves((signal) => get("plan", { ...asked(), curves: 1 }, signal)).catch(() => null);
      if (found?.curves) {
        curves = found.curves;
        showPlot();
        body.dataset.curves = "1";
      }
    }, 150);
  }

  function showPlot() {
    const designs = plan.designs.slice(0, 8);
    const series = [{ name: "information limit", limit: true, points: plan.limit }];
    designs.forEach((design, at) => {
      const points = curves.find((line) => line.kind === design.kind)?.points;
      series.push({ name: design.kind, colour: at + 1, points, dots: design.fpp > 0 ? [[design.bits_per_key, design.fpp]] : [], large: design.kind === chosen, faint: design.kind !== chosen, select: () => choose(design.kind) });
    });
    // A design far larger than the others is an arrow at the edge.
    const most = 4 * Math.min(...designs.map((design) => design.bits_per_key));
    const widest = Math.max(12, ...designs.map((design) => Math.min(most, design.bits_per_key * 1.3)));
    const lowest = Math.min(1e-6, ...designs.map((design) => design.fpp).filter((fpp) => fpp > 0));
    plot.replaceChildren(chart({ title: "Bits per key against the false-positive rate", x: { label: "bits per key", min: 0, max: 2 * Math.ceil(widest / 2) }, y: { label: "false-positive rate", log: true, min: 10 ** Math.floor(Math.log10(lowest) + 1e-9), max: 1, shown: percent }, series }));
  }

  function choose(kind) {
    chosen = kind;
    show();
  }

  function show() {
    const focused = document.activeElement?.dataset?.kind;
    const rows = plan.designs.map((design) => [
      h("button", { type: "button", class: "link", "data-kind": design.kind, "aria-pressed": String(design.kind === chosen), onclick: () => choose(design.kind) }, design.kind),
      short(design.bits_per_key), bytes(design.bytes), percent(design.fpp), short(design.ns), h("td", { class: "why" }, design.why)]);
    const designs = table("Designs", ["Design", "#Bits per key", "#Memory", "#False positives", "#ns per query", "Why"], rows, (at) => ({ class: "pick", "aria-selected": String(plan.designs[at].kind === chosen), onclick: (event) => event.target.closest("button") || choose(plan.designs[at].kind) }));
    designs.querySelector("th:last-child").className = "why";
    list.replaceChildren(h("h2", {}, "Designs that fit"), plan.designs.length ? designs : h("p", { class: "say" }, "No design fits."));
    if (focused) list.querySelector(`[data-kind="${focused}"]`)?.focus();
    showPlot();
    const design = plan.designs.find((design) => design.kind === chosen);
    code.hidden = !design;
    if (!design) return;
    code.replaceChildren(h("h2", {}, "Build it: " + design.kind), h("p", { class: "say" }, `${design.summary} Why: ${design.why}. For ${short(design.items ?? state.items)} keys it uses ${bytes(design.bytes)}.`),
      h("div", { class: "lines" }, design.code.map(({ language, text }) => h("div", {}, h("div", { class: "head" }, h("h3", {}, language), h("button", { type: "button", class: "small", "aria-label": "Copy the " + language + " lines", onclick: () => copy(language, text) }, "Copy")), h("pre", { tabindex: 0, role: "region", "aria-label": language + " lines" }, text)))));
  }
  const copy = (language, text) => navigator.clipboard?.writeText(text).then(() => say("The " + language + " lines are copied"), () => say("The browser does not allow it"));

  const log = (low, high) => [(at) => +(10 ** (low + at * (high - low))).toPrecision(3), (value) => (Math.log10(value) - low) / (high - low)];
  const [size, place] = log(3, 11);
  const open = [(at) => (at >= 0.999 ? "" : size(at)), (value) => (value === "" ? 1 : place(value))];
  const change = (name) => (value) => { state[name] = value; update(); };
  const prefer = h("select", { onchange: () => { state.prefer = prefer.value; update(); } }, ["balance", "speed", "memory"].map((word) => h("option", { selected: word === state.prefer }, word)));
  const boxes = needs.map(({ name, meaning }) => {
    const box = h("input", { type: "checkbox", checked: state.needs.has(name), "data-need": name, onchange: () => { box.checked ? state.needs.add(name) : state.needs.delete(name); update(); } });
    return h("label", { class: "check" }, box, meaning);
  });
  const rows = () => [["kind", "bits_per_key", "bytes", "fpp", "ns", "spec"], ...plan.designs.map((design) => [design.kind, design.bits_per_key, design.bytes, design.fpp, design.ns, design.spec])];
  body.append(h("div", { class: "grid side" },
    h("form", { class: "card", onsubmit: (event) => event.preventDefault() },
      slider("Keys", state.items, ...log(0, 10), short, change("items")),
      slider("False-positive rate", state.fpp, ...log(-9, -0.31), typed, change("fpp")),
      slider("Memory at most", state.memory, ...open, (value) => (value === "" ? "any" : bytes(value).replace("bytes", "B")), change("memory"), "At the right end, no limit."),
      field("Prefer", prefer), h("fieldset", {}, h("legend", {}, "What must it do?"), boxes)),
    h("div", { class: "grid" }, message, list,
      figure("What a rate costs", "plan", plot, "Each curve is a design: the further left, the less memory it needs for a rate. Dots are the designs of the table; the chosen one is large. No filter can be in the shaded part, below the information limit of log₂(1/rate) bits per key.", rows), code)));
  await update();
}
