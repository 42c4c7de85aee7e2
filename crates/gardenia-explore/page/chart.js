// A small chart: lines, dots and bars on linear or logarithmic axes, as one SVG.
import { h, short } from "./kit.js";

const [LEFT, BOTTOM, TOP] = [84, 48, 12];
let charts = 0;

function scale({ log, min, max }, low, high) {
  const turn = log ? Math.log10 : (value) => value;
  const [a, b] = [turn(min), turn(max)];
  return (value) => low + ((turn(value) - a) / (b - a || 1)) * (high - low);
}
// Where lines are drawn, and whether they have a number.
function ticks({ log, min, max, whole }, many = 6) {
  if (log) {
    const [from, to] = [Math.floor(Math.log10(min) - 1e-9), Math.ceil(Math.log10(max) + 1e-9)];
    const step = Math.max(1, Math.ceil((to - from) / 8));
    const factors = to - from <= 2 ? [1, 2, 5] : [1];
    const all = [];
    for (let power = from; power <= to; power++) {
      for (let factor = 1; factor < 10; factor++) all.push({ at: +(factor * 10 ** power).toPrecision(12), shown: factors.includes(factor) && (power - from) % step === 0 });
    }
    return all.filter(({ at, shown }) => at >= min * (1 - 1e-9) && at <= max * (1 + 1e-9) && (shown || to - from <= 4));
  }
  const rough = Math.max((max - min) / many || 1, whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough * 0.999);
  const first = Math.ceil(min / step - 1e-9) * step;
  return Array.from({ length: Math.floor((max - first) / step + 1e-9) + 1 }, (_, at) => ({ at: +(first + at * step).toPrecision(12), shown: true }));
}
// From the smallest to the largest value, unless the axis sets them.
function range(axis, values) {
  const usable = values.filter((value) => Number.isFinite(value) && (!axis.log || value > 0));
  let [min, max] = [axis.min ?? Math.min(...usable), axis.max ?? Math.max(...usable)];
  if (!usable.length && axis.min == null) [min, max] = [1, 10];
  if (axis.room) [min, max] = axis.log ? [min / 1.6, max * 1.6] : [min, max + (max - min) * 0.08];
  if (min === max) [min, max] = axis.log ? [min / 2, max * 2] : [min, max + 1];
  return { ...axis, min, max };
}

// How wide a drawing will be shown, beside the form that a view has; `parts` stand beside each other.
export function room(parts = 1, beside = true) {
  const screen = document.documentElement.clientWidth;
  const padding = screen <= 500 ? 66 : 90;
  if (screen < 900) return Math.max(280, screen - padding);
  const full = Math.min(1320, screen) - 48 - (beside ? 340 : 0);
  return Math.max(280, (full - 20 * (parts - 1)) / parts - 42);
}

// series: { name, points: [[x, y]], dots: [[x, y, low, high]], bars: [[x, y]] that are `step` wide, colour: 1..8, dash, limit, faint, large, select }
// A dot beyond the axes is an arrow at their edge, and one at zero of a logarithmic axis a "<" at the upper end of its interval: none
// vanishes. Letters keep their size, whatever the width.
export function chart({ title, x, y, series, width = room() }) {
  const HEIGHT = Math.round(Math.min(430, Math.max(270, width * 0.5)));
  const dots = series.flatMap((line) => line.dots ?? []);
  const all = series.flatMap((line) => [...(line.points ?? []), ...(line.bars ?? [])]).concat(dots);
  x = range(x, all.map((point) => point[0]));
  y = range(y, all.map((point) => point[1]).concat(dots.flatMap((dot) => dot.slice(2))));
  const named = series.filter((line) => line.name);
  const longest = Math.max(0, ...named.map((line) => line.name.length));
  const columns = Math.max(1, Math.min(5, Math.floor(width / (44 + 6.7 * longest))));
  const space = (width - 10) / columns;
  const legend = Math.ceil(named.length / columns) * 22 + (named.length ? 6 : 0);
  const [right, base, clip] = [width - 28, HEIGHT - BOTTOM, "clip" + charts++];
  const [across, up] = [scale(x, LEFT, right), scale(y, base, TOP)];
  const fixed = (value) => value.toFixed(1);
  const svg = h("svg", { class: "chart", viewBox: `0 0 ${Math.round(width)} ${HEIGHT + legend}`, role: "img", "aria-label": title }, h("title", {}, title), h("clipPath", { id: clip }, h("rect", { x: LEFT, y: TOP - 6, width: right - LEFT, height: base - TOP + 6 })));
  const drawn = h("g", { "clip-path": `url(#${clip})` });
  const look = (line) => (line.limit ? "limit" : `line c${line.colour}${line.dash ? " dash" : ""}${line.faint ? " faint" : ""}`);
  for (const line of series.filter((line) => line.limit)) {
    const edge = line.points.filter(([, b]) => b > 0).map(([a, b]) => `L${fixed(across(a))},${fixed(up(b))}`).join("");
    drawn.append(h("path", { class: "limit-area", d: `M${LEFT},${base}L${LEFT},${TOP}${edge}L${fixed(across(line.points.at(-1)[0]))},${base}Z` }));
  }
  for (const { at, shown } of ticks(x, width < 500 ? 4 : 8)) {
    drawn.append(h("line", { class: shown ? "gridline" : "minor", x1: across(at), x2: across(at), y1: TOP, y2: base }));
    if (shown) svg.append(h("text", { class: "soft", x: across(at), y: base + 19, "text-anchor": "middle" }, x.shown ? x.shown(at) : short(at)));
  }
  for (const { at, shown } of ticks(y)) {
    drawn.append(h("line", { class: shown ? "gridline" : "minor", x1: LEFT, x2: right, y1: up(at), y2: up(at) }));
    if (shown) svg.append(h("text", { class: "soft", x: LEFT - 9, y: up(at) + 4, "text-anchor": "end" }, y.shown ? y.shown(at) : short(at)));
  }
  svg.append(drawn, h("path", { class: "axis", d: `M${LEFT},${TOP}V${base}H${right}` }));
  svg.append(h("text", { class: "label", x: (LEFT + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, x.label));
  svg.append(h("text", { class: "label", x: 13, y: (TOP + base) / 2, "text-anchor": "middle", transform: `rotate(-90 13 ${(TOP + base) / 2})` }, y.label));
  named.forEach((line, at) => {
    const [left, top] = [8 + (at % columns) * space, HEIGHT + 18 + Math.floor(at / columns) * 22];
    const key = line.bars ? h("rect", { class: `bar f${line.colour}`, x: left, y: top - 11, width: 22, height: 12, rx: 2 }) : h("line", { class: look({ ...line, faint: false }), x1: left, x2: left + 22, y1: top - 4, y2: top - 4 });
    const word = h("text", { x: left + 30, y: top }, line.name);
    if (line.select) [key, word].forEach((part) => { part.classList.add("pick"); part.addEventListener("click", line.select); });
    svg.append(key, word);
  });
  const usable = ([a, b]) => Number.isFinite(b) && (!y.log || b > 0) && Number.isFinite(a) && (!x.log || a > 0);
  for (const line of series) {
    for (const [a, b] of (line.bars ?? []).filter(usable)) {
      const wide = Math.max(1, Math.min(46, (across(line.step ?? 1) - across(0)) * 0.8));
      drawn.append(h("rect", { class: `bar f${line.colour}`, x: fixed(across(a) - wide / 2), y: fixed(up(b)), width: fixed(wide), height: fixed(base - up(b)) }, h("title", {}, `${line.name}: ${x.label} ${short(a)}, ${y.label} ${short(b)}`)));
    }
    const d = (line.points ?? []).filter(usable).map(([a, b], at) => `${at ? "L" : "M"}${fixed(across(a))},${fixed(up(b))}`).join("");
    if (d) drawn.append(h("path", { class: look(line), d }));
  }
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
  // Dots with intervals stand side by side: those of one place would hide each other.
  const beside = series.filter((line) => line.dots?.some((dot) => dot.length > 2));
  for (const line of series) {
    const aside = beside.includes(line) ? 2.5 * (beside.indexOf(line) - (beside.length - 1) / 2) : 0;
    for (const [a, b, low, high] of (line.dots ?? []).filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b))) {
      const none = y.log && b <= 0;
      const shown = none ? high : b;
      const [left, top] = [clamp(across(a), LEFT, right) + aside, clamp(up(shown), TOP, base)];
      const mark = none ? "<" : a > x.max ? "▸" : a < x.min ? "◂" : b > y.max ? "▴" : b < y.min ? "▾" : "";
      const says = (value) => (y.shown ? y.shown(value) : short(value));
      const told = h("title", {}, `${line.name ?? ""}: ${x.label} ${short(a)}, ${y.label} ${says(b)}` + (high == null ? "" : `, 95 %: ${says(low)} to ${says(high)}`));
      if (high != null && !none) svg.append(h("line", { class: `line fine c${line.colour}`, x1: fixed(left), x2: fixed(left), y1: fixed(clamp(up(y.log ? Math.max(low, y.min) : low), TOP, base)), y2: fixed(clamp(up(high), TOP, base)) }));
      const dot = mark ? h("text", { class: `mark f${line.colour}`, x: fixed(left), y: fixed(top + 5), "text-anchor": "middle" }, mark, told)
        : h("circle", { class: `dot f${line.colour}`, cx: fixed(left), cy: fixed(top), r: line.large ? 8 : high == null ? 5 : 3.5 }, told);
      if (line.select) { dot.classList.add("pick"); dot.addEventListener("click", line.select); }
      svg.append(dot);
    }
  }
  return svg;
}
