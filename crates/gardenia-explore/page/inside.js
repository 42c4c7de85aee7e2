// Look inside: a small filter, cell by cell.
import { room } from "./chart.js";
import { field, figure, h, keep, latest, percent, post, short, table } from "./kit.js";

export const title = "Inside";
export const heading = "Look inside a filter";
export const sentence = "A small filter of any kind, drawn cell by cell. Type a key: its bytes become a digest, the digest chooses cells, and the cells give the answer.";

const GARDEN = ["rose", "tulip", "iris", "lily", "daisy", "poppy", "aster", "lotus"];
const list = (names) => (names.length < 2 ? names.join("") : names.slice(0, -1).join(", ") + " and " + names.at(-1));

export async function draw(body, values, { kinds }) {
  let [spec, steps, scene, before] = [values.spec ?? kinds[0].example, GARDEN.slice(0, 5).map((key) => ["insert", key]), null, null];
  const last = latest();
  const kind = h("select", {}, kinds.map((one) => h("option", { value: one.name, selected: spec.split(" ")[0] === one.name }, one.name)));
  const shape = h("input", { type: "text", value: spec, spellcheck: "false", autocomplete: "off" });
  const key = h("input", { type: "text", value: "", placeholder: "Type a key, such as rose", autocomplete: "off", spellcheck: "false", "aria-label": "Key" });
  const [told, story, drawing, held] = [h("p", { "aria-live": "polite" }), h("div", { "aria-live": "polite" }), h("div", {}), h("div", {})];
  const buttons = { insert: "Insert", query: "Query", remove: "Remove" };

  async function update(doing) {
    keep("inside", { spec });
    const next = doing ? [...steps, doing] : steps;
    try {
      const found = await last((signal) => post("inside", { spec, steps: next, key: key.value || null }, signal));
      if (!found) return;
      before = doing && scene?.kind === found.kind ? scene.cells : null;
      [scene, steps] = [found, next];
      const done = doing && scene.steps.at(-1);
      told.className = done && !done.ok ? "error" : "say";
      told.textContent = done ? `“${done.key}”: ${done.told}.` : "";
      show();
    } catch (error) {
      told.className = "error";
      told.textContent = error.message;
    }
  }

  function act(verb) {
    if (!key.value) return key.focus();
    update([verb, key.value]);
  }

  function show() {
    body.querySelector('[data-verb="remove"]').disabled = !(scene.abilities.includes("remove") || scene.abilities.includes("fixed"));
    held.replaceChildren(h("h2", {}, "Keys in the filter"), scene.held.length ? h("ul", { class: "chips" }, scene.held.map((one) => h("li", {}, h("button", { type: "button", "aria-pressed": String(one.key === key.value), onclick: () => { key.value = one.key; update(); } }, one.key + (one.copies > 1 ? " ×" + one.copies : ""))))) : h("p", { class: "say" }, "None yet."));
    tell();
    drawing.replaceChildren(picture());
    const box = drawing.closest("figure");
    box.querySelector("h2").textContent = "Cells of the " + scene.kind + " filter";
    box.querySelector("figcaption").textContent = caption();
  }

  function caption() {
    const marks = { bits: "A filled square is a bit that is set.", counters: "A number is a counter, and an empty square is zero.", fingerprints: "A number is a fingerprint; cells that touch are one bucket.", sums: "Each cell is a part of sums; only all cells of a key together mean something.", code: "The bits are a code of sorted numbers, one for each key." }[scene.tables[0].holds];
    const plain = scene.plain_fill == null ? "" : ` A plain Bloom filter with the same bits and keys has ${percent(scene.plain_fill)} in use.`;
    return `${scene.summary} ${marks} ${percent(scene.fill)} of the cells are in use${scene.items == null ? "" : `, by about ${short(scene.items)} keys`}; ${percent(scene.fpp)} of absent keys are reported as present.${plain} It uses ${scene.bytes} bytes.` + (scene.explained ? " Framed cells are those of the key you typed." : "");
  }

  function tell() {
    const asked = scene.explained;
    if (!asked) return story.replaceChildren(h("p", { class: "note" }, "Type a key above, choose one of the keys in the filter, or search for a false positive."));
    const named = new Set(asked.probes.map((probe) => probe.table)).size > 1;
    // Two hashes of a key may choose one cell.
    const cells = new Map();
    for (const probe of asked.probes) {
      const place = [probe.table, probe.at, probe.group].join();
      cells.set(place, { probe, times: (cells.get(place)?.times ?? 0) + 1 });
    }
    const where = [...cells.values()].slice(0, 24).map(({ probe, times }) => (named ? scene.tables[probe.table].name + ": " : "") + probe.at + " = " + probe.value + (probe.after != null && probe.after !== probe.value ? " → " + probe.after : "") + (times > 1 ? ` (chosen ${times === 2 ? "twice" : times + " times"})` : ""));
    const holds = scene.tables[asked.probes[0]?.table ?? 0].holds;
    // A fingerprint is found in one cell; the other kinds need all of them.
    const telling = asked.keys.filter((_, at) => holds !== "fingerprints" || asked.probes[at].agrees);
    const helpers = [...new Set(telling.flat())].filter((one) => one !== asked.key);
    const sum = asked.probes.length > 12 ? "Its cells add up to its fingerprint" : `Exclusive or, its cells (${asked.probes.map((probe) => probe.value).join(" ⊕ ")}) give its fingerprint, ${asked.fingerprint}`;
    const why = { bits: "All its bits are set", counters: "None of its counters is zero", fingerprints: "One of its cells holds its fingerprint", sums: sum, code: `Its number, ${asked.fingerprint}, is in the code` }[holds];
    const count = asked.count == null ? "" : ` Its count is ${asked.count}.`;
    let answer;
    if (!asked.present) answer = h("p", {}, h("strong", {}, `“${asked.key}” is certainly absent. `), asked.inserted ? "It was inserted, and the filter has forgotten it." : reason(asked, holds) + count);
    else if (asked.inserted) answer = h("p", {}, h("strong", { class: "good" }, `“${asked.key}” is present. `), why + "." + count);
    else answer = h("p", {}, h("strong", { class: "error" }, `“${asked.key}” is a false positive: it was never inserted. `), why + (helpers.length ? `: ${{ bits: "these bits were set", fingerprints: "that cell is in use" }[holds] ?? "these cells are in use"} by ${list(helpers)}.` : " by chance.") + count);
    story.replaceChildren(h("ol", { class: "steps" },
      part("1 Bytes", asked.bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ")),
      part("2 Digest", asked.digest),
      part("3 Cells" + (asked.fingerprint == null ? "" : `, fingerprint ${asked.fingerprint}`), holds === "code" && where.length > 1 ? `bits ${asked.probes[0].at} to ${asked.probes.at(-1).at} of the code` : where.length ? where.join(", ") + (cells.size > 24 ? ", …" : "") : "none"),
      h("li", {}, h("h3", {}, "4 Answer"), answer)),
      ...chosen(asked), users(asked));
  }
  const part = (name, text) => h("li", {}, h("h3", {}, name), h("code", {}, text));
  function reason(asked, holds) {
    const empty = asked.probes.find((probe) => !probe.agrees);
    if (!empty) return "";
    if (holds === "bits" || holds === "counters") return `Cell ${empty.at} is empty, and a key that is present has no empty cell${asked.probes.some((probe) => probe.group > 0) ? " in one of its groups" : ""}.`;
    return { fingerprints: "None of its cells holds its fingerprint.", sums: "Its cells do not give its fingerprint.", code: `Its number, ${asked.fingerprint}, is not among those that these bits encode: ${asked.decoded.slice(0, 12).join(", ") || "none"}.` }[holds];
  }
  // Groups to choose from: what each would cost.
  function chosen(asked) {
    if (scene.kind !== "choice") return [];
    const groups = [...new Set(asked.probes.map((probe) => probe.group))].map((group) => {
      const own = asked.probes.filter((probe) => probe.group === group);
      const fresh = new Set(own.filter((probe) => probe.value === 0).map((probe) => probe.at)).size;
      return { name: "group " + (group + 1), fresh, taken: own.every((probe) => probe.after > 0) };
    });
    const words = groups.map(({ name, fresh }) => `${name} would set ${fresh === 0 ? "no new bit" : fresh === 1 ? "1 new bit" : fresh + " new bits"}`);
    const taken = groups.find((group) => group.taken);
    return [h("p", { class: "note" }, `The key may use any of ${groups.length} groups of cells: ${list(words)}. ` + (taken ? `${asked.present ? "Its bits are set in" : "An insertion would choose"} ${taken.name}: the fewest new bits keep the filter emptier.` : ""))];
  }
  function users(asked) {
    const rows = asked.probes.slice(0, 64).map((probe, at) => [scene.tables[probe.table].name, String(probe.at), String(probe.value), probe.after == null ? "–" : String(probe.after), asked.keys[at].join(", ") || "none"]);
    return h("details", {}, h("summary", {}, "Which keys use these cells?"), table("Keys that use the cells", ["Table", "#Cell", "#Now", "#After inserting", "Keys in the filter that use it"], rows));
  }

  // All tables, one below the other, and lines from the digest to the cells of the key.
  function picture() {
    const wide = room();
    const asked = scene.explained;
    const hits = new Map((asked?.probes ?? []).map((probe) => [probe.table + ":" + probe.at, probe]));
    const svg = h("svg", { class: "chart", role: "img", "aria-label": `The cells of a ${scene.kind} filter` });
    const arrows = [];
    let y = asked ? (hits.size <= 24 ? 78 : 50) : 4;
    scene.tables.forEach((one, number) => {
      const values = scene.cells[number];
      const plain = one.width === 1;
      const box = plain ? (values.length > 600 ? 12 : 20) : Math.max(26, 10 + 7 * Math.max(...values.map((value) => String(value).length)));
      const tall = plain ? box : 26;
      const together = one.together > 1 && one.together <= 16 ? Number(one.together) : 1;
      const [gap, extra] = [3, together > 1 ? 9 : 0];
      let fit = Math.max(1, Math.floor((wide - 44) / (box + gap + extra / together)));
      if (together > 1) fit = Math.max(together, fit - (fit % together));
      else if (plain) fit = 2 ** Math.floor(Math.log2(fit));
      svg.append(h("text", { class: "label", x: 0, y: y + 14 }, (one.name === "bits" ? "" : one.name + ": ") + `${one.cells} ${plain ? "bits" : "cells of " + one.width + " bits"}`));
      y += 24;
      values.forEach((value, at) => {
        const [column, row] = [at % fit, Math.floor(at / fit)];
        const left = 40 + column * (box + gap) + Math.floor(column / together) * extra;
        const top = y + row * (tall + gap);
        if (column === 0) svg.append(h("text", { class: "soft", x: 34, y: top + tall / 2 + 4, "text-anchor": "end" }, String(at)));
        const probe = hits.get(number + ":" + at);
        const on = value > 0;
        const changed = before?.[number] && before[number][at] !== value;
        svg.append(h("rect", { class: "cell" + (on ? " on" : "") + (probe ? ` hit g${probe.group % 4}` : "") + (changed ? " changed" : ""), x: left, y: top, width: box, height: tall, rx: 3 }, h("title", {}, `${one.name} ${at}: ${value}` + (probe?.after != null ? `, ${probe.after} after inserting ${asked.key}` : ""))));
        if (!plain && on) svg.append(h("text", { class: "cell-text on", x: left + box / 2, y: top + 17 }, String(value)));
        if (probe) arrows.push([left + box / 2, top, probe.group % 4]);
      });
      y += Math.ceil(values.length / fit) * (tall + gap) + 16;
    });
    if (asked) {
      const half = Math.min(wide / 2 - 4, 150);
      const middle = Math.max(half + 2, Math.min(wide / 2, 420));
      if (arrows.length <= 24) arrows.forEach(([x, top, group]) => svg.append(h("path", { class: "arrow g" + group, d: `M${middle},36C${middle},${36 + (top - 36) * 0.55} ${x},${top - Math.min(60, (top - 36) * 0.5)} ${x},${top}` })));
      svg.append(h("rect", { class: "pill", x: middle - half, y: 4, width: 2 * half, height: 32, rx: 16 }), h("text", { x: middle, y: 25, "text-anchor": "middle" }, `digest ${asked.digest}`));
    }
    svg.setAttribute("viewBox", `0 0 ${Math.round(wide)} ${y}`);
    return svg;
  }

  kind.addEventListener("change", () => { spec = shape.value = kinds.find((one) => one.name === kind.value).example; update(); });
  shape.addEventListener("change", () => { spec = shape.value; kind.value = spec.split(" ")[0]; update(); });
  key.addEventListener("input", () => update());
  key.addEventListener("keydown", (event) => { if (event.key === "Enter") act(event.shiftKey ? "remove" : "insert"); });
  const rows = () => [["table", "cell", "value"], ...scene.cells.flatMap((cells, at) => cells.map((value, cell) => [scene.tables[at].name, cell, value]))];
  async function search() {
    for (let at = 1; at <= 300; at++) {
      key.value = "weed" + at;
      const found = await post("inside", { spec, steps, key: key.value }).catch(() => null);
      if (!found) break;
      if (found.explained?.present && !found.explained.inserted) break;
      if (at === 300) key.value = "";
    }
    await update();
    if (!key.value) told.textContent = "300 absent keys were asked, and none is reported as present.";
  }
  const more = () => update(["insert", GARDEN.find((one) => !scene.held.some((other) => other.key === one)) ?? "plant" + steps.length]);
  body.append(h("div", { class: "grid side" },
    h("div", { class: "card" }, field("Kind", kind), field("Spec", shape, "Kind and options, as for the command."), held, h("div", { class: "row" }, h("button", { type: "button", onclick: more }, "Insert another"), h("button", { type: "button", onclick: () => { steps = []; update(); } }, "Empty it"))),
    h("div", { class: "grid" },
      h("div", { class: "card" }, h("div", { class: "row" }, key, Object.entries(buttons).map(([verb, name]) => h("button", { type: "button", class: verb === "insert" ? "main" : "", "data-verb": verb, onclick: () => act(verb) }, name)), h("button", { type: "button", "data-search": "1", onclick: search }, "Find a false positive")), told, story),
      figure("", "filter", drawing, "", rows))));
  await update();
}
