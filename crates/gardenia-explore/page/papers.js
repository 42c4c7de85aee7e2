// Papers: curves by theory, and fresh simulations with real filters.
import { field, figure, get, h, job, keep, latest, linked, percent, post, short, slider } from "./kit.js";
import { chart } from "./chart.js";

export const title = "Papers";
export const heading = "The papers, to play with";
export const sentence = "Lines are theory. Press Simulate, and for each point real filters are filled and asked for 50,000 absent keys: dots, with intervals of 95 %, side by side at each point. A “<” marks a point where no query found anything.";

const FIGURES = {
  schemes: { name: "Kirsch & Mitzenmacher: schemes", x: { label: "keys, n", log: true, room: true }, report: "km-figure-1", say: "Less hashing, same performance: positions computed from two or three hash values have nearly the rate of independent ones. The difference shows in small filters, at the left." },
  choices: { name: "Lumetta & Mitzenmacher: choices", x: { label: "hashes per key, k", whole: true, min: 0.5, max: 16.5 }, report: "lumetta-table-1", say: "Each key chooses, among groups of positions, the group that sets the fewest new bits. With enough bits per key two choices have a lower rate than the plain filter, if k is chosen well." },
  hashes: { name: "Grothoff: whole k", x: { label: "bits per key, b", min: 1 }, y: { label: "rate, as a multiple", min: 0.9, max: 1.25 }, report: "grothoff-k", say: "The best number of hashes, b·ln 2, is no whole number. At 1 is the rate that it would give. Rounding costs up to a tenth: sometimes the smaller number is better, sometimes the larger, and the best line is always the lower of the two." },
};

export async function draw(body, values) {
  const state = { figure: values.figure in FIGURES ? values.figure : "schemes", c: +(values.c ?? 12), n: +(values.n ?? 10000), k: +(values.k ?? 8) };
  const [plot, report, progress, message] = [h("div", {}), h("p", { class: "say" }), h("div", { class: "progress", "aria-live": "polite" }), h("p", { "aria-live": "polite" })];
  const last = latest();
  let [lines, dots] = [[], []];
  const choose = h("select", { onchange: () => { state.figure = choose.value; dots = []; update(); } }, Object.entries(FIGURES).map(([name, one]) => h("option", { value: name, selected: name === state.figure }, one.name)));

  async function update() {
    keep("papers", state);
    const { say, name, report: part } = FIGURES[state.figure];
    try {
      const found = await last((signal) => get("papers", state, signal));
      if (!found) return;
      lines = found.lines;
      message.className = message.textContent = "";
      box.querySelector("h2").textContent = name;
      // The other figures draw every k.
      hashes.hidden = state.figure !== "schemes";
      box.querySelector("figcaption").textContent = `${say} Here: ${short(found.cells)} bits and ${short(state.n)} keys; the plain filter is best with k = ${found.best}.`;
      report.replaceChildren("Every table and figure of the papers, with many more trials: ", h("a", { href: linked("lab.html") + "#" + part, target: "_blank", rel: "noopener" }, "the full lab report"), ".");
      show();
    } catch (error) {
      message.className = "error note";
      message.textContent = error.message;
    }
  }
  function show() {
    const series = lines.map((line, at) => ({ name: line.name, colour: (at % 8) + 1, dash: at >= 8, points: line.points, dots: dots.filter((dot) => dot.name === line.name).map((dot) => [dot.x, dot.y, dot.low, dot.high]) }));
    plot.replaceChildren(chart({ title: FIGURES[state.figure].name, x: FIGURES[state.figure].x, y: FIGURES[state.figure].y ?? { label: "false-positive rate", log: true, room: true, shown: percent }, series }));
  }
  function simulate() {
    dots = [];
    job(progress, () => post("simulate", { figure: state.figure, c: state.c, n: state.n, k: state.k, seed: Math.floor(Math.random() * 2 ** 32) }), (result, finished) => {
      dots = result.points;
      show();
      if (finished) body.dataset.done = "1";
    });
  }
  const change = (name) => (value) => { state[name] = value; dots = []; update(); };
  const straight = (low, high, step = 1) => [(at) => +(low + Math.round((at * (high - low)) / step) * step).toFixed(2), (value) => (value - low) / (high - low)];
  const log = (low, high) => [(at) => Math.round(10 ** (low + at * (high - low))), (value) => (Math.log10(value) - low) / (high - low)];
  const rows = () => [["series", "x", "theory", "measured", "low_95", "high_95"], ...lines.flatMap((line) => line.points.map(([x, y]) => { const dot = dots.find((dot) => dot.name === line.name && dot.x === x); return [line.name, x, y, dot?.y, dot?.low, dot?.high]; }))];
  const hashes = slider("k, hashes per key", state.k, ...straight(1, 24), short, change("k"));
  const box = figure("", "paper", plot, "", rows);
  body.append(h("div", { class: "grid side" },
    h("form", { class: "card", onsubmit: (event) => event.preventDefault() }, field("Figure", choose),
      slider("c, bits per key", state.c, ...straight(2, 32, 0.5), short, change("c")), slider("n, keys", state.n, ...log(2, 5), short, change("n")), hashes,
      h("button", { type: "button", class: "main", onclick: simulate, "data-simulate": "1" }, "Simulate"), progress, report),
    h("div", { class: "grid" }, message, box)));
  await update();
}
