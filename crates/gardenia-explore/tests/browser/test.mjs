// The explorer in a real browser: each view by keyboard, its numbers, its looks, its accessibility.
//
//     node test.mjs PROGRAM PICTURES GARDENIA_FILE...
//
// Keys are written as they are pressed, so that each test is a list of what a person without a mouse does. Screenshots of every view at
// 400 and 1400 pixels in light and dark, and those of docs/explorer.md, are written to the directory PICTURES.
import { chromium } from "playwright-core";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import assert from "node:assert/strict";

const [command, pictures, ...files] = process.argv.slice(2);
const program = resolve(command);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const home = mkdtempSync(join(tmpdir(), "explore-browser-"));
mkdirSync(pictures, { recursive: true });

let server, address;
async function serve(files) {
  server?.kill();
  const own = (server = spawn(program, ["--no-open", "--port", "0", ...files], { stdio: ["ignore", "pipe", "inherit"] }));
  address = await new Promise((found, fail) => {
    own.stdout.once("data", (line) => found(String(line).trim().replace(/\/$/, "")));
    own.once("exit", () => fail(new Error("the explorer ended")));
  });
}
await serve(files);
const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launchPersistentContext(home, { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args, viewport: { width: 1400, height: 900 }, acceptDownloads: true, reducedMotion: "reduce" });
const page = browser.pages()[0] ?? (await browser.newPage());
// A loaded machine is slow, and nothing here is about speed.
page.setDefaultTimeout(120000);
const wrong = [];
// The browser itself reports refused requests; the page shows those, and tests look there.
page.on("console", (message) => message.type() === "error" && !/status of 4\d\d/.test(message.text()) && wrong.push(message.text()));
page.on("pageerror", (error) => wrong.push(String(error)));
page.on("request", (request) => request.url().startsWith(address) || /^(data|blob|about):/.test(request.url()) || wrong.push("asked " + request.url()));

const api = async (path, body) => (await fetch(address + "/api/" + path, body ? { method: "POST", body: JSON.stringify(body) } : {})).json();
// The result of a job of the server.
async function jobOf(path, body = {}) {
  const started = await api(path, body);
  for (;;) {
    const state = await api("job?id=" + started.job);
    if (state.finished) return state.result;
  }
}
const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
const type = async (text) => { await press("ControlOrMeta+a"); await page.keyboard.type(text); };
const view = async (hash) => { await page.goto("about:blank"); await page.goto(address + "/#" + hash); await page.waitForSelector(`main[data-ready="${hash.split("?")[0]}"]`); };
// Waits until a function in the page says yes. The page's policy forbids what the library of the same purpose does.
async function until(work, argument) {
  for (let at = 0; at < 4800; at++) {
    if (await page.evaluate(work, argument)) return;
    await new Promise((done) => setTimeout(done, 25));
  }
  assert.fail("never true: " + work);
}
const text = (selector) => page.locator(selector).innerText();
const done = () => page.waitForSelector("[data-done]", { state: "attached" });
// Presses a key that starts a job, and waits for its end: the mark of the last one is taken away first, because a short job may end before
// anyone looks.
async function doneBy(key) {
  await page.evaluate(() => delete document.querySelector("[data-done]")?.dataset.done);
  await press(key);
  await done();
}
// What the page shows once it does not change any more.
async function settled(shown) {
  for (let [last, now] = [null, await page.evaluate(shown)]; ; now = await page.evaluate(shown)) {
    if (JSON.stringify(now) === JSON.stringify(last)) return now;
    last = now;
    await new Promise((done) => setTimeout(done, 1000));
  }
}
// Opens the address of the page anew, as somebody does whom it was sent to: what the page shows is the same.
async function shared(shown) {
  const before = await settled(shown);
  const { hash } = new URL(page.url());
  await view(hash.slice(1));
  assert.deepEqual(await settled(shown), before, hash);
  assert.equal(new URL(page.url()).hash, hash);
}
// Goes on with Tab, or back with Shift+Tab, until the focus is on something that matches.
async function tab(selector, key = "Tab") {
  for (let at = 0; at < 150; at++) {
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector)) return;
    await page.keyboard.press(key);
  }
  assert.fail(key + " never reaches " + selector);
}
async function accessible(name) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")));
  assert.deepEqual(found, [], "accessibility of " + name);
}
// Reaches a button of the exports with Tab and presses it: the bytes of the file that is saved.
async function saved(name, kind) {
  await tab(`[aria-label="Save ${name} as ${kind}"]`);
  const [download] = await Promise.all([page.waitForEvent("download"), press("Enter")]);
  assert.equal(download.suggestedFilename(), name + "." + kind.toLowerCase());
  const bytes = readFileSync(await download.path());
  assert.ok(bytes.length > 60, name + " is empty");
  const begins = { SVG: /^<svg /, PNG: /^.PNG/s, CSV: /^[a-z_]+,/ }[kind];
  assert.match(bytes.subarray(0, 40).toString("latin1"), begins, name + " as " + kind);
  if (kind === "SVG") assert.match(String(bytes), /xmlns="http:\/\/www.w3.org\/2000\/svg"[^]*fill="rgb/, name + " stands alone");
  return String(bytes);
}
const all = async (name) => { for (const kind of ["SVG", "PNG", "CSV"]) await saved(name, kind); };

const tests = {
  async "views are reached from each other by keyboard, and the theme is switched"() {
    await view("plan");
    for (const name of ["inside", "inspect", "streams", "papers", "plan"]) {
      await tab(`[data-view="${name}"]`, name === "plan" ? "Shift+Tab" : "Tab");
      await press("Enter");
      await page.waitForSelector(`main[data-ready="${name}"]`);
      assert.equal(await page.locator("nav [aria-current]").count(), 1);
      assert.ok((await text(".lead")).length > 60, "a sentence says what " + name + " shows");
    }
    await tab("#theme");
    await press("Enter");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await press("Enter");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    await page.evaluate(() => localStorage.clear());
  },
  async "plan: sliders, a need and a design by keyboard, with the planner's numbers"() {
    await view("plan");
    await tab("#field-keys");
    await type("2M");
    await press("Tab"); // to the slider, which now has the value
    await until(() => location.hash.includes("items=2000000"));
    await press("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft");
    await until(() => location.hash.includes("items=2"));
    await tab('[aria-label="Memory at most, slider"]');
    await press("ArrowLeft", "ArrowLeft");
    await until(() => /memory=\d/.test(location.hash));
    await press("End");
    await until(() => !location.hash.includes("memory"));
    await tab('[data-need="remove"]');
    await press("Space");
    await until(() => location.hash.includes("needs=remove"));
    await until(() => document.querySelector("tbody tr button")?.textContent === "cuckoo");
    const values = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.split("?")[1]));
    const plan = await api("plan?" + new URLSearchParams(values));
    const shown = await page.locator("tbody tr").allInnerTexts();
    assert.equal(shown.length, plan.designs.length);
    plan.designs.forEach((design, at) => {
      const cells = shown[at].split("\t").map((cell) => cell.trim());
      assert.equal(cells[0], design.kind);
      assert.equal(cells[1], String(+design.bits_per_key.toPrecision(3)));
    });
    await tab(`[data-kind="${plan.designs[1].kind}"]`);
    await press("Enter");
    const lines = await page.locator("pre").allInnerTexts();
    assert.deepEqual(lines, plan.designs[1].code.map((one) => one.text));
    // The curves come a moment later.
    await page.waitForSelector("[data-curves]", { state: "attached" });
    assert.ok(await page.locator("path.limit").count(), "the information limit is drawn");
    await all("plan");
    // The address alone brings the same view back.
    const before = await page.locator("tbody tr").allInnerTexts();
    await view(new URL(page.url()).hash.slice(1));
    assert.deepEqual(await page.locator("tbody tr").allInnerTexts(), before);
  },
  async "plan: the shell lines of every design build a filter that finds its keys"() {
    const words = { cwd: home, env: { PATH: dirname(program) + ":" + process.env.PATH, HOME: home }, encoding: "utf8" };
    writeFileSync(join(home, "keys.txt"), Array.from({ length: 500 }, (_, at) => `key${at}\n`).join("") + "rose\n");
    const built = new Set();
    for (const needs of ["", "remove", "count", "forget", "grow", "fixed", "merge", "share", "send"]) {
      const plan = await api(`plan?fpp=0.01&needs=${needs}${needs === "grow" ? "" : "&items=2000"}`);
      for (const design of plan.designs) {
        const shell = design.code.find((one) => one.language === "Shell").text;
        if (built.has(shell)) continue;
        rmSync(join(home, "filter.gdn"), { force: true });
        const ran = spawnSync("sh", ["-e", "-c", shell], words);
        assert.equal(ran.status, 0, shell + "\n" + ran.stderr);
        built.add(shell);
      }
    }
    assert.ok(built.size > 15, `${built.size} designs`);
  },
  async "plan: what is impossible is said"() {
    await view("plan?items=1000000&fpp=0.01&memory=1000");
    assert.match(await text("p.error"), /1000|1,000|bytes/);
  },
  async "inside: a key typed, inserted and removed, its cells those of the library, and never in the address"() {
    await view("inside?spec=" + encodeURIComponent("counting items=12 fpp=0.1"));
    await tab('[aria-label="Key"]');
    await page.keyboard.type("thistle");
    await until(() => document.querySelector(".steps")?.innerText.includes("thistle"));
    const scene = await api("inside", { spec: "counting items=12 fpp=0.1", steps: ["rose", "tulip", "iris", "lily", "daisy"].map((key) => ["insert", key]), key: "thistle" });
    assert.equal(await page.locator("rect.hit").count(), new Set(scene.explained.probes.map((probe) => probe.at)).size);
    assert.equal(await text(".steps li:nth-child(1) code"), "74 68 69 73 74 6c 65");
    assert.equal(await text(".steps li:nth-child(2) code"), scene.explained.digest);
    await press("Enter"); // inserts
    await until(() => document.querySelector(".chips")?.innerText.includes("thistle"));
    assert.match(await text(".steps"), /is present/);
    await tab('[data-verb="query"]');
    await press("Enter");
    await until(() => document.body.innerText.includes("may be present"));
    await tab('[data-verb="remove"]');
    await press("Enter");
    await until(() => !document.querySelector(".chips")?.innerText.includes("thistle"));
    assert.ok(!page.url().includes("thistle"), page.url());
    await all("filter");
    // The address brings kind and spec back, and the filter that they describe, without what was done to it.
    await tab("#field-spec", "Shift+Tab");
    await type("counting items=9 fpp=0.2");
    await press("Tab");
    await until(() => location.hash.includes("items%3D9"));
    await tab('[aria-label="Key"]');
    await type("x");
    await press("Backspace");
    await until(() => document.body.innerText.includes("Type a key above"));
    await shared(() => ["#field-kind", "#field-spec"].map((one) => document.querySelector(one).value).concat(document.querySelector("svg.chart").innerHTML));
  },
  async "inside: a false positive is found and explained by the keys that set its bits"() {
    await view("inside?spec=" + encodeURIComponent("bloom bits=32 hashes=2"));
    await tab("[data-search]");
    await press("Enter");
    await until(() => document.querySelector(".steps")?.innerText.includes("false positive"));
    const said = await text(".steps");
    const [, weed] = /“(\w+)” is a false positive/.exec(said);
    const scene = await api("inside", { spec: "bloom bits=32 hashes=2", steps: ["rose", "tulip", "iris", "lily", "daisy"].map((key) => ["insert", key]), key: weed });
    assert.match(said, /these bits were set by /);
    for (const key of scene.explained.keys.flat()) assert.ok(said.includes(key), key + " in " + said);
  },
  async "inside: every kind is drawn, chosen by keyboard, and the groups of a choice are told"() {
    const { kinds } = await api("kinds");
    await view("inside");
    await tab("#field-kind");
    await press("Home");
    for (const kind of kinds) {
      await until((name) => document.querySelector(`svg[aria-label="The cells of a ${name} filter"]`), kind.name);
      assert.ok((await page.locator("rect.cell").count()) > 3, kind.name);
      assert.ok(!(await page.locator("p.error").count()), kind.name);
      assert.match(await text("figcaption"), /in use/, kind.name);
      await press("ArrowDown");
    }
    await view("inside?spec=" + encodeURIComponent("choice items=12 fpp=0.1 choices=2"));
    await tab('[aria-label="Key"]');
    await page.keyboard.type("thistle");
    await until(() => /may use any of 2 groups/.test(document.body.innerText));
    assert.match(await text("figcaption"), /A plain Bloom filter with the same bits and keys/);
  },
  async "inspect: facts, fill, zoom, query, verify and comparison by keyboard"() {
    await view("inspect");
    await page.waitForSelector("[data-verify]");
    const { facts } = await jobOf("file?id=1");
    const shown = await text("dl");
    assert.ok(shown.includes(facts.kind) && shown.includes(facts.spec), shown);
    assert.ok(shown.includes(facts.measured.queries.toLocaleString("en") + " queries (95 %"), shown);
    assert.ok(shown.includes(Math.round(facts.items).toLocaleString("en") + " ± "), shown);
    await tab("[data-verify]");
    await press("Enter");
    await until(() => document.body.innerText.includes("Every checksum is right"));
    await tab("textarea");
    await page.keyboard.type("rose\nno such key");
    await tab("[data-ask]");
    await press("Enter");
    await until(() => document.querySelectorAll(".card tbody tr").length === 2);
    const answers = await api("query", { id: 1, keys: ["rose", "no such key"] });
    const rows = await page.locator(".card tbody tr").allInnerTexts();
    answers.answers.forEach((one, at) => assert.match(rows[at], one.present ? /may be present/ : /certainly absent/));
    assert.ok(!page.url().includes("rose"), page.url());
    await tab("canvas");
    await press("+");
    await until(() => !/Cells 0 to/.test(document.querySelector("figcaption").innerText));
    await press("ArrowRight", "ArrowLeft", "-", "-");
    await until(() => /Cells 0 to/.test(document.querySelector("figcaption").innerText));
    await all("fill");
    assert.match(await saved("load", "CSV"), /^cells_in_use,blocks,theory/);
    await tab("[data-compare]");
    await press("Enter");
    await until(() => document.body.innerText.includes("Jaccard"));
    const both = await jobOf("compare?a=1&b=2");
    assert.ok((await text("body")).includes("About " + Math.round(both.common.items).toLocaleString("en")));
    await all("overlap");
  },
  async "inspect: files are dropped, hostile ones refused in the library's words, foreign ones drawn"() {
    await view("inspect");
    const choose = (name, buffer) => page.setInputFiles("#file-input", { name, mimeType: "application/octet-stream", buffer });
    await choose("bad.gdn", readFileSync(files[0]).subarray(0, 90));
    await until(() => document.querySelector("p.error")?.innerText.includes("bad.gdn"));
    // Dropped, as a mouse does.
    const bytes = [...readFileSync(files[0])];
    await page.evaluate((bytes) => {
      const moved = new DataTransfer();
      moved.items.add(new File([new Uint8Array(bytes)], "dropped.gdn"));
      document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: moved, bubbles: true, cancelable: true }));
    }, bytes);
    await until(() => [...document.querySelectorAll("h2")].some((one) => one.innerText === "dropped.gdn"));
    await choose("guava.bin", readFileSync(files[2]));
    await until(() => [...document.querySelectorAll("h2")].some((one) => one.innerText === "guava.bin"));
    assert.match(await text("dl"), /Guava/);
    await until(() => /are in use/.test(document.querySelector("canvas ~ figcaption")?.innerText));
  },
  async "streams: run, stop and export by keyboard, with the numbers of the server"() {
    await view("streams?length=20000");
    await done();
    await tab("[name=length]");
    await type("60000");
    await tab("button[type=submit]");
    await doneBy("Enter");
    assert.equal(await page.locator("svg.chart").count(), 3);
    const result = await jobOf("streams", { length: 60000, keys: 50000, skew: 1, seed: 1, top: 10, dedup: "blocked items=20k fpp=0.01", counts: "count-min epsilon=0.001 delta=0.01" });
    const end = result.points.at(-1);
    assert.ok((await text("main")).includes(`${end.dropped.toLocaleString("en")} of ${end.distinct.toLocaleString("en")} new keys`), await text("main"));
    for (const name of ["duplicates", "error-of-counts", "top-keys-found"]) await all(name);
    // What is no number is said by the name of its field.
    for (const [field, typed, said] of [["length", "", "Length of the stream: a number is needed"], ["keys", "1.5", "Distinct keys to draw from: 1.5 is not a whole number"], ["skew", "abc", "Skew: abc is not a number"]]) {
      const before = await page.locator(`[name=${field}]`).inputValue();
      await tab(`[name=${field}]`, field === "length" ? "Shift+Tab" : "Tab");
      await type(typed);
      if (!typed) await press("Backspace");
      await press("Enter");
      await until((said) => document.querySelector("p.error")?.innerText === said, said);
      await type(before);
    }
    // The address brings every setting back.
    await tab("[name=skew]");
    await type("0.9");
    await tab("[name=dedup]");
    await type("bloom items=10k fpp=0.02");
    await doneBy("Enter");
    await shared(() => [...document.querySelectorAll("form input[name]")].map((input) => [input.name, input.value]));
    await done();
    await tab("[name=length]");
    await type("5000000");
    await press("Enter");
    await page.waitForSelector("[data-stop]");
    // The server does nothing until Stop was pressed: otherwise a fast one could be done before.
    server.kill("SIGSTOP");
    try {
      await tab("[data-stop]");
      await press("Enter");
    } finally {
      server.kill("SIGCONT");
    }
    await until(() => document.body.innerText.includes("Stopped."));
    // A stream of one's own.
    await page.setInputFiles("input[type=file]", { name: "lines.txt", mimeType: "text/plain", buffer: Buffer.from("rose\niris\nrose\nrose\n") });
    await tab("button[type=submit]", "Shift+Tab");
    await press("Enter");
    await until(() => document.querySelector("[data-done]") && document.querySelector("td.mono")?.innerText === "rose");
    assert.ok(!page.url().includes("rose"), page.url());
    // A file without lines is refused.
    await page.setInputFiles("input[type=file]", { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.from("") });
    await tab("button[type=submit]", "Shift+Tab");
    await press("Enter");
    await until(() => document.querySelector("p.error")?.innerText === "the file has no lines");
  },
  async "papers: curves move with c, and a simulation lies on them"() {
    await view("papers?figure=choices&c=8&n=1000");
    const before = await page.locator("path.line").first().getAttribute("d");
    await tab('[aria-label="c, bits per key, slider"]');
    for (let at = 0; at < 10; at++) await press("ArrowRight");
    await until((before) => document.querySelector("path.line").getAttribute("d") !== before, before);
    await tab("[data-simulate]");
    await press("Enter");
    await done();
    assert.ok((await page.locator("svg.chart circle").count()) > 20);
    await all("paper");
    for (const figure of ["hashes", "schemes"]) {
      await tab("#field-figure", "Shift+Tab");
      await press(figure === "hashes" ? "End" : "Home");
      await until((figure) => location.hash.includes("figure=" + figure), figure);
    }
    // The address brings figure, c, n and k back, and their curves.
    await tab('[aria-label="k, hashes per key, slider"]');
    for (let at = 0; at < 30; at++) await press("ArrowRight");
    await until(() => !location.hash.includes("k=8"));
    const drawn = () => [...document.querySelectorAll("#field-figure, form input[type=text]")].map((input) => input.value).concat([...document.querySelectorAll("path.line")].map((line) => line.getAttribute("d")));
    await shared(drawn);
    // Points where nothing was found are drawn, too, and all of them inside the axes.
    await view("papers?figure=choices&c=30&n=1000");
    await tab("[data-simulate]");
    await press("Enter");
    await done();
    const dots = await page.locator("svg.chart :is(circle, text.mark)").all();
    assert.equal(dots.length, 64);
    assert.ok(await page.locator("svg.chart text.mark", { hasText: "<" }).count());
    const bottom = await page.evaluate(() => +/V([\d.]+)H/.exec(document.querySelector("path.axis").getAttribute("d"))[1]);
    for (const dot of dots) assert.ok(+((await dot.getAttribute("cy")) ?? (await dot.getAttribute("y")) - 5) < bottom, "a dot at the edge");
    // The full report is one link away, and is the lab's.
    await tab('a[href^="lab.html"]');
    const [report] = await Promise.all([browser.waitForEvent("page"), press("Enter")]);
    await report.waitForSelector("section#km-figure-1");
    assert.equal(await report.title(), "The lab of Gardenia");
    await report.close();
  },
};

let failed = 0;
async function run(name, test) {
  const start = performance.now();
  try {
    await test();
    console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${error.stack}`);
    await page.screenshot({ path: join(pictures, "failed.png") }).catch(() => {});
  }
}
for (const [name, test] of Object.entries(tests)) await run(name, test);

// What each view shows before a picture is made of it.
async function prepare(name, hash) {
  await view(hash);
  if (name === "plan") await page.waitForSelector("[data-curves]", { state: "attached" });
  if (name === "inside") {
    await page.locator("[data-search]").press("Enter");
    await until(() => document.querySelector(".steps")?.innerText.includes("false positive"));
  }
  if (name === "papers") await page.locator("[data-simulate]").press("Enter");
  if (name === "streams" || name === "papers") await done();
  if (name === "inspect") {
    await page.locator("textarea").fill("rose\nno such key");
    await page.locator("[data-ask]").press("Enter");
    await page.locator("[data-compare]").press("Enter");
    await until(() => document.body.innerText.includes("Jaccard") && document.body.innerText.includes("certainly absent"));
  }
  await page.evaluate(() => { document.activeElement?.blur(); document.getElementById("status").textContent = ""; });
}
const scenes = { plan: "plan", inside: "inside?spec=" + encodeURIComponent("bloom items=12 fpp=0.1"), inspect: "inspect", streams: "streams?length=60000", papers: "papers?figure=choices&c=16&n=1000" };
for (const scheme of ["light", "dark"]) {
  for (const width of [400, 1400]) {
    for (const [name, hash] of Object.entries(scenes)) {
      await run(`${name} at ${width} pixels, ${scheme}: no serious finding of axe, nothing wider than the screen`, async () => {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        await prepare(name, hash);
        await accessible(name);
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `${wider} pixels too wide`);
        await page.screenshot({ path: join(pictures, `${name}-${width}-${scheme}.png`), fullPage: true });
      });
    }
  }
}

// Measured and printed, for docs/explorer.md: nothing is asserted about time.
await run("first paint and slider moves are measured", async () => {
  await page.setViewportSize({ width: 1400, height: 900 });
  const paints = [];
  for (let at = 0; at < 9; at++) {
    await view("plan");
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()));
  }
  const moves = [];
  await page.getByLabel("False-positive rate, slider").focus();
  for (let at = 0; at < 40; at++) {
    moves.push(await page.evaluate(async () => {
      const body = document.querySelector("[data-ms]");
      delete body.dataset.ms;
      const slider = document.activeElement;
      slider.value = +slider.value + 0.01;
      const start = performance.now();
      slider.dispatchEvent(new Event("input"));
      while (!body.dataset.ms) await new Promise((done) => setTimeout(done, 1));
      return performance.now() - start;
    }));
  }
  const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  console.log(`      first contentful paint: median ${middle(paints).toFixed(0)} ms, largest ${Math.max(...paints).toFixed(0)} ms`);
  console.log(`      slider move to new table: median ${middle(moves).toFixed(1)} ms, largest ${Math.max(...moves).toFixed(1)} ms`);
});

// The pictures of docs/explorer.md: each view from its heading to the end of a part, one of them on a phone; small enough for a
// repository. The explorer is started again: nothing that the tests dropped is in them. What the page still asks of the old one is given
// up first.
await page.goto("about:blank");
await serve(files);
const [figure, load] = ["main figure", "main figure:has([aria-label='Load of blocks'])"];
const shown = { plan: [scenes.plan, "light", 1280, figure], inside: [scenes.inside, "light", 1280, figure], inspect: [scenes.inspect, "dark", 1280, load], streams: ["streams?length=300000", "light", 1280, "main > div"], papers: [scenes.papers, "dark", 1280, figure], phone: [scenes.inside, "light", 400, figure] };
for (const [name, [hash, scheme, width, last]] of Object.entries(shown)) {
  await run(`picture of ${name}`, async () => {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await prepare(hash.split("?")[0], hash);
    await page.evaluate(() => scrollTo(0, 0));
    const { y, height } = await page.locator(last).first().boundingBox();
    const path = join(pictures, `docs-${name}.png`);
    await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height: Math.round(y + height + 10) } });
    assert.ok(statSync(path).size < 250000, `${statSync(path).size} bytes`);
  });
}
await run("no error in the console, and no request to anywhere else", async () => assert.deepEqual(wrong, []));

await browser.close();
server.kill();
rmSync(home, { recursive: true, force: true });
console.log(failed ? `${failed} failed` : "all passed");
process.exit(failed ? 1 : 0);
