// Streams: approximate answers beside the exact ones.
import { bytes, field, figure, h, job, keep, percent, post, short, table } from "./kit.js";
import { chart, room } from "./chart.js";

export const title = "Streams";
export const heading = "Send a stream through";
export const sentence = "One stream runs through a filter that drops duplicates, a sketch that counts, and a list of the most frequent keys. The exact answer runs beside them, so the plots show how far off each one is, while it happens.";

export async function draw(body, values, { kinds }) {
  const start = { length: "300000", keys: "50000", skew: "1", seed: "1", top: "10", dedup: "blocked items=20k fpp=0.01", counts: "count-min epsilon=0.001 delta=0.01", ...values };
  const input = (name, label, hint) => field(label, h("input", { type: "text", value: start[name], name, spellcheck: "false", autocomplete: "off" }), hint);
  const able = (ability) => kinds.filter((kind) => kind.abilities.includes(ability)).map((kind) => kind.name).join(", ");
  const file = h("input", { type: "file" });
  const [progress, plots] = [h("div", { class: "progress", "aria-live": "polite" }), h("div", { class: "grid" })];
  const form = h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); run(); } },
    input("length", "Length of the stream"), input("keys", "Distinct keys to draw from"), input("skew", "Skew", "0: all keys are equally frequent. 1: Zipf's law."), input("seed", "Seed"),
    field("Or a text file of your own", file, "One key per line. It replaces the generated stream, and stays on this machine."),
    input("dedup", "Filter for duplicates", `Kind and options. Any of: ${able("insert")}.`), input("counts", "Sketch for counts", `Any of: ${able("count")}.`), input("top", "Most frequent keys to find"),
    h("button", { type: "submit", class: "main" }, "Run"), progress);
  let points = [];

  async function run() {
    delete body.dataset.done;
    const given = Object.fromEntries([...new FormData(form)].filter(([name]) => name));
    keep("streams", given);
    const number = (name, whole = true) => {
      const [text, label] = [given[name].replace(/[,\s]/g, ""), form.querySelector(`[name=${name}]`).labels[0].textContent];
      const right = text !== "" && (whole ? Number.isSafeInteger(+text) && +text >= 0 : Number.isFinite(+text));
      if (!right) throw new Error(`${label}: ${text === "" ? "a number is needed" : `${given[name]} is not a ${whole ? "whole " : ""}number`}`);
      return +text;
    };
    job(progress, async () => {
      const setting = { length: number("length"), keys: number("keys"), skew: number("skew", false), seed: number("seed"), top: number("top"), dedup: given.dedup, counts: given.counts };
      return post("streams", { ...setting, lines: file.files[0] ? await file.files[0].text() : null });
    }, show);
  }

  const rows = () => [Object.keys(points[0] ?? {}), ...points.map((point) => Object.values(point))];
  function show(result, finished) {
    points = result.points;
    const line = (name, of, colour) => ({ name, colour, points: points.map((point) => [point.seen, of(point)]) });
    const end = points.at(-1);
    const plot = (title, y, series, say) => figure(title, title.toLowerCase().replaceAll(" ", "-"), chart({ title, width: room(2), x: { label: "keys seen", min: 0, max: result.length }, y: { min: 0, room: true, ...y }, series }), say, rows);
    plots.replaceChildren(
      h("div", { class: "grid two" },
        plot("Duplicates", { label: "keys" }, [line("new keys dropped", (point) => point.dropped, 2), line("keys passed again", (point) => point.repeated, 1)], `${short(end.dropped)} of ${short(end.distinct)} new keys (${percent(end.dropped / end.distinct)}) were dropped as duplicates, and ${short(end.repeated)} known keys passed again. The filter uses ${bytes(result.dedup_bytes)}; the exact set holds ${short(end.distinct)} keys.`),
        plot("Error of counts", { label: "count above the truth" }, [line("largest", (point) => point.most, 2), line("mean", (point) => point.mean, 1)], `Of the ${short(end.compared)} keys that occurred first, the counts are ${short(end.mean)} too large on average and ${short(end.most)} at most, of ${short(end.seen)} in all. The sketch uses ${bytes(result.counts_bytes)}.`)),
      h("div", { class: "grid two" },
        plot("Top keys found", { label: "share found", max: 1.05, room: false, shown: percent }, [line("share of the most frequent keys", (point) => point.found, 1)], `${percent(end.found)} of the most frequent keys are in the list, whatever their order.`),
        h("div", { class: "card" }, h("h2", {}, "Most frequent keys"), table("Most frequent keys", ["Key", "#At least", "#At most", "#Exact"], (result.top ?? []).map((one) => [h("td", { class: "mono" }, one.key), short(one.low), short(one.high), one.exact == null ? "not among them" : short(one.exact)])), h("p", { class: "say" }, "The list holds an interval for each key; the exact count lies in it."))));
    if (finished) body.dataset.done = "1";
  }
  body.append(h("div", { class: "grid side" }, form, plots));
  plots.append(h("p", { class: "note" }, "The stream is being sent through…"));
  run();
}
