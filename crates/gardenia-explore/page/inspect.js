// Inspect: what is in a file.
import { bytes, exports, field, figure, get, h, job, keep, percent, post, short, table } from "./kit.js";
import { chart, room } from "./chart.js";

export const title = "Inspect";
export const heading = "Inspect a filter file";
export const sentence = "Drop a file here, of Gardenia or of another program, or name it when you start the explorer. It is read on this machine and sent nowhere; keys that you type are asked and not kept.";

const whole = (value) => value.toLocaleString("en");
const interval = (items, error) => (items == null ? "–" : short(items) + (error == null ? "" : error === 0 ? ", counted" : ` ± ${short(2 * error)} (95 %)`));

export async function draw(body, values) {
  const [list, detail, message] = [h("div", {}), h("div", { class: "grid" }), h("p", { "aria-live": "polite" })];
  let files = [];

  async function load(choose) {
    files = await get("files");
    const pick = (file) => h("li", {}, h("button", { type: "button", "data-file": file.id, onclick: () => open(file.id) }, `${file.name} (${file.error ? "cannot be opened" : bytes(file.bytes)})`));
    list.replaceChildren(files.length ? h("ul", { class: "chips" }, files.map(pick)) : h("p", { class: "note" }, "No file is open yet. Build one with “gardenia build -o seen.gdn keys.txt”, and drop it above."));
    compare();
    const first = files.find((file) => file.id === choose) ?? files[0];
    if (first) await open(first.id, choose === first.id ? values : {});
  }

  async function upload(chosen) {
    for (const file of chosen) {
      message.className = "note";
      message.textContent = `Reading ${file.name}…`;
      try {
        const made = await post("upload?name=" + encodeURIComponent(file.name), file);
        message.textContent = message.className = "";
        await load(made.id);
      } catch (error) {
        message.className = "error note";
        message.textContent = error.message;
      }
    }
    // The same file can be chosen again, once it has changed.
    input.value = "";
  }

  let wanted;
  async function open(id, seen = {}) {
    wanted = id;
    for (const button of list.querySelectorAll("[data-file]")) button.setAttribute("aria-pressed", String(+button.dataset.file === id));
    keep("inspect", { file: id });
    const reading = h("div", { class: "progress", "aria-live": "polite" });
    detail.replaceChildren(h("div", { class: "card" }, h("h2", {}, files.find((file) => file.id === id)?.name ?? "The file"), reading));
    const found = await job(reading, () => post("file?id=" + id, {}), () => {});
    if (!found || wanted !== id) return;
    const { file, facts } = found;
    const box = h("div", {});
    function describe(facts) {
      const { measured } = facts;
      const rate = facts.fpp == null ? null : percent(facts.fpp) + " by its fill";
      const asked = measured && `${percent(measured.rate)} by ${whole(measured.queries)} queries (95 %: ${percent(measured.low)} to ${percent(measured.high)})`;
      const rows = [["Format", facts.format], ["Kind", facts.kind], ["What it is", facts.summary], ["Spec", facts.spec], ["Cells", facts.cells && whole(facts.cells)], ["Cells per key", facts.hashes || null], ["Hash function", facts.hasher], ["Scheme", facts.scheme], ["Memory", facts.memory && bytes(facts.memory)], ["Planned for", facts.planned_items ? `${short(facts.planned_items)} keys at ${percent(facts.planned_fpp)}` : null], ["Note", facts.metadata || null], ["Cells in use", percent(facts.fill) + (facts.sampled ? " (sampled)" : "")], ["Distinct keys", interval(facts.items, facts.items_error) + (facts.sampled && facts.items != null ? ", sampled" : "")], ["False-positive rate", [rate, asked].filter(Boolean).join("; ") || "count all cells below"], ...facts.notes];
      box.replaceChildren(h("dl", {}, rows.filter(([, value]) => value != null && value !== "").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])));
    }
    describe(facts);
    const answers = h("div", { "aria-live": "polite" });
    const keys = h("textarea", { "aria-label": "Keys to query, one per line", placeholder: "one key per line", spellcheck: "false" });
    const types = facts.key_types.length > 1 ? h("select", {}, facts.key_types.map((name) => h("option", {}, name))) : null;
    async function ask() {
      try {
        const told = await post("query", { id, keys: keys.value.split("\n").filter(Boolean), key_type: types?.value });
        const counts = told.answers.some((one) => one.count != null);
        const row = (one) => [h("td", { class: "mono" }, one.key), one.error ? h("td", { class: "error" }, one.error) : h("td", {}, one.present ? "may be present" : "certainly absent"), ...(counts ? [one.count == null ? "–" : String(one.count)] : [])];
        answers.replaceChildren(table("Answers", ["Key", "Answer", ...(counts ? ["#Count"] : [])], told.answers.map(row)));
      } catch (error) {
        answers.replaceChildren(h("p", { class: "error" }, error.message));
      }
    }
    const progress = h("div", { class: "progress", "aria-live": "polite" });
    const check = async () => {
      const told = await job(progress, () => post("verify?id=" + id, {}), () => {});
      if (!told) return;
      progress.replaceChildren(h("p", { class: "good" }, told.told));
      describe({ ...facts, ...told, sampled: false });
    };
    const fill = h("div", { class: "grid" });
    detail.replaceChildren(h("div", { class: "grid two" },
      h("div", { class: "card" }, h("h2", {}, file.name), box, h("div", { class: "row" }, h("button", { type: "button", onclick: check, "data-verify": "1" }, "Verify every byte")), progress),
      h("div", { class: "card" }, h("h2", {}, "Query keys"), h("p", { class: "say" }, "They are asked on this machine and not kept."), keys, ...(types ? [field("Type of the keys", types)] : []), h("div", { class: "row" }, h("button", { type: "button", class: "main", onclick: ask, "data-ask": "1" }, "Query")), answers)), fill);
    if (facts.tables.length) await picture(fill, id, facts.tables, seen);
    detail.dataset.file = id;
  }

  async function picture(box, id, tables, seen) {
    let [number, from, to, data] = [+(seen.table ?? 0), +(seen.from ?? 0), seen.to == null ? null : +seen.to, null];
    const WIDE = room(1, false) > 700 ? 128 : 64;
    const canvas = h("canvas", { width: WIDE, height: 1, role: "img", "aria-label": "Picture of the fill", tabindex: 0 });
    const [label, loads] = [h("figcaption", { "aria-live": "polite" }), h("div", {})];
    const choose = h("select", { onchange: () => { [number, from, to] = [+choose.value, 0, null]; show(); } }, tables.map((one, at) => h("option", { value: at, selected: at === number }, one.name)));
    async function show() {
      keep("inspect", { file: id, table: number || null, from: from || null, to });
      data = await get("fill", { id, table: number, from, to });
      const { parts } = data;
      canvas.width = Math.min(WIDE, Math.max(1, parts.length));
      canvas.height = Math.max(1, Math.ceil(parts.length / WIDE));
      paint();
      const each = (data.to - data.from) / (parts.length || 1);
      const where = `Cells ${whole(data.from)} to ${whole(data.to)} of ${whole(data.cells)}, row by row`;
      label.textContent = each > 1 ? `${where}; each square is the share in use of ${short(each)} neighbours${data.exact ? "" : " (sampled)"}. ${percent(data.mean)} are in use, from ${percent(Math.min(...parts))} to ${percent(Math.max(...parts))} in a square. An even tone is a healthy filter${fine() ? "" : "; orange is too full"}.` : `${where}. Each square is one cell, and the filled ones are in use: ${percent(data.mean)} of them.`;
      box.querySelector(".scale i").classList.toggle("fine", fine());
      spread();
    }
    function spread() {
      if (!data.loads) return loads.replaceChildren();
      const { counts, theory, together, read, law } = data.loads;
      const [name, names] = law === "blocks" ? ["block", "blocks"] : ["bucket", "buckets"];
      const used = counts.map((count, load) => [load, count, theory[load]]).filter(([, count, expected]) => count > 0 || expected > read / 2000);
      // Loads that lie close together share a bar.
      const step = Math.max(1, Math.ceil((used.at(-1)[0] - used[0][0]) / 40));
      const [low, high] = [Math.max(0, used[0][0] - step), Math.min(together, used.at(-1)[0] + step)];
      const inside = (all) => {
        const bars = [];
        for (let load = low; load <= high; load += step) bars.push([load + (step - 1) / 2, all.slice(Math.max(0, load), Math.max(0, load + step)).reduce((sum, count) => sum + count, 0)]);
        return bars;
      };
      const drawing = chart({ title: "Load of " + names, width: room(1, false), x: { label: `cells in use in a ${name} of ${together}`, min: low - step / 2, max: high + step / 2, whole: true }, y: { label: names, min: 0, room: true, whole: true }, series: [{ name: "this file", colour: 1, step, bars: inside(counts) }, { name: law === "blocks" ? "theory: keys choose blocks at random" : "theory: each cell is used at random", colour: 2, points: inside(theory) }] });
      const caption = `How many ${names} have how many of their ${together} cells in use, of ${whole(read)} that were read. ` + (law === "blocks" ? "The line is what theory expects of as many keys, spread at random over the blocks. Bars that are spread much wider would mean that keys are hashed badly." : "The line is what chance alone would give at this fill. Cuckoo filters move keys, and so have more full buckets.");
      loads.replaceChildren(figure("Load of the " + names, "load", drawing, caption, () => [["cells_in_use", names, "theory"], ...counts.map((count, load) => [load, count, theory[load]])]));
    }
    // Squares of few cells are full by chance: that is no warning.
    const fine = () => (data.to - data.from) / (data.parts.length || 1) < 64;
    const mix = (a, b, share) => [0, 1, 2].map((at) => Math.round(a[at] + (b[at] - a[at]) * share));
    // From empty over half full to full.
    const colour = () => {
      const look = getComputedStyle(document.documentElement);
      const stops = ["--cell", "--on", "--hot"].map((name) => look.getPropertyValue(name).trim().match(/\w\w/g).map((two) => parseInt(two, 16)));
      return (part) => {
        const [a, b] = part < 0.5 ? [stops[0], stops[1]] : [stops[1], stops[2]];
        if (fine()) return mix(stops[0], stops[1], part);
        const share = part < 0.5 ? part * 2 : part * 2 - 1;
        return mix(a, b, share);
      };
    };
    function paint() {
      if (!canvas.isConnected || !data) return;
      const [context, of] = [canvas.getContext("2d"), colour()];
      const image = context.createImageData(canvas.width, canvas.height);
      data.parts.forEach((part, at) => image.data.set([...of(part), 255], at * 4));
      context.putImageData(image, 0, 0);
    }
    // The same picture as squares, to be saved.
    function squares() {
      const of = colour();
      const svg = h("svg", { viewBox: `0 0 ${canvas.width * 10} ${canvas.height * 10}` });
      data.parts.forEach((part, at) => svg.append(h("rect", { x: (at % canvas.width) * 10, y: Math.floor(at / canvas.width) * 10, width: 10, height: 10, fill: `rgb(${of(part).join(" ")})` })));
      return svg;
    }
    function zoom(factor, middle = (from + (to ?? data.cells)) / 2) {
      const span = Math.max(Math.min(256, data.cells), ((to ?? data.cells) - from) * factor);
      const start = Math.max(0, Math.min(data.cells - span, middle - span / 2));
      [from, to] = [Math.floor(start), Math.min(data.cells, Math.ceil(start + span))];
      if (from === 0 && to === data.cells) to = null;
      return show();
    }
    canvas.addEventListener("click", (event) => {
      const at = event.offsetX / canvas.clientWidth / canvas.height + Math.floor((event.offsetY / canvas.clientHeight) * canvas.height) / canvas.height;
      zoom(0.25, from + at * ((to ?? data.cells) - from));
    });
    canvas.addEventListener("keydown", (event) => {
      const span = (to ?? data.cells) - from;
      const moves = { "+": () => zoom(0.5), "-": () => zoom(2), ArrowRight: () => zoom(1, from + span * 0.75), ArrowLeft: () => zoom(1, from + span * 0.25) };
      if (moves[event.key]) { event.preventDefault(); moves[event.key](); }
    });
    addEventListener("theme", paint);
    const button = (name, label, work) => h("button", { type: "button", "aria-label": label, onclick: work }, name);
    box.replaceChildren(h("figure", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Picture of the fill"), h("div", { class: "row" }, button("Zoom in", "Zoom in", () => zoom(0.5)), button("Zoom out", "Zoom out", () => zoom(2)), button("All", "Show all cells", () => { [from, to] = [0, null]; show(); }))),
      h("p", { class: "say" }, "Click to zoom. With the keyboard, + and − zoom and the arrows move."), ...(tables.length > 1 ? [field("Table", choose)] : []), canvas, h("div", { class: "scale" }, "empty", h("i", {}), "all cells in use"), label,
      exports("fill", () => data && squares(), () => [["part", "share"], ...data.parts.map((part, at) => [at, part])])), loads);
    await show();
  }

  const pair = h("div", { class: "card" });
  function compare() {
    pair.hidden = files.length < 2;
    if (files.length < 2) return;
    const choose = (label, at) => field(label, h("select", {}, files.map((file, number) => h("option", { value: file.id, selected: number === at }, file.name))));
    const [a, b] = [choose("First", 0), choose("Second", 1)];
    const told = h("div", { "aria-live": "polite" });
    const value = (field) => field.querySelector("select").value;
    const run = async () => {
      const found = await job(told, () => post(`compare?a=${value(a)}&b=${value(b)}`, {}), () => {});
      if (!found) return;
      const both = `About ${interval(found.common.items, found.common.error)} keys are in both, ${interval(found.only_a.items, found.only_a.error)} in ${found.a} alone and ${interval(found.only_b.items, found.only_b.error)} in ${found.b} alone. The Jaccard index, the share of all keys that is in both, is ${short(found.jaccard)} ± ${short(2 * found.jaccard_error)}.`;
      told.replaceChildren(figure("Keys in common", "overlap", circles(found), both, () => [["part", "keys", "standard_error"], ["both", found.common.items, found.common.error], [found.a, found.only_a.items, found.only_a.error], [found.b, found.only_b.items, found.only_b.error]]));
    };
    pair.replaceChildren(h("h2", {}, "Compare two files"), h("p", { class: "say" }, "How many keys two filters of one shape have in common, estimated from their cells and those of their union."), h("div", { class: "grid two" }, a, b), h("div", { class: "row" }, h("button", { type: "button", onclick: run, "data-compare": "1" }, "Compare")), told);
  }
  // Two sets, not to scale.
  function circles({ a, b, common, only_a, only_b }) {
    const cut = (name) => (name.length > 24 ? name.slice(0, 23) + "…" : name);
    const circle = (x, colour) => h("circle", { class: `set c${colour} f${colour}`, cx: x, cy: 100, r: 78 });
    const word = (x, y, text, look) => h("text", { class: look, x, y, "text-anchor": "middle" }, text);
    return h("svg", { class: "chart sets", viewBox: "0 0 420 216", role: "img", "aria-label": "Keys in common" }, circle(168, 1), circle(252, 3),
      word(130, 105, short(only_a.items), "big"), word(210, 105, short(common.items), "big"), word(290, 105, short(only_b.items), "big"), word(130, 204, cut(a), "label"), word(290, 204, cut(b), "label"));
  }

  const input = h("input", { type: "file", multiple: true, id: "file-input", onchange: () => upload(input.files) });
  const drop = h("div", { class: "drop", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"), ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); upload(event.dataTransfer.files); } }, h("label", { for: "file-input" }, "Drop a filter file here, or choose one:"), input);
  body.append(h("div", { class: "grid" }, drop, message, list, detail, pair));
  await load(+values.file || undefined);
}
