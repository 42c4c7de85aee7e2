// Chooses the view by the address.
import { get, h, place } from "./kit.js";
import * as plan from "./plan.js";
import * as inside from "./inside.js";
import * as inspect from "./inspect.js";
import * as streams from "./streams.js";
import * as papers from "./papers.js";

const views = { plan, inside, inspect, streams, papers };
const main = document.getElementById("main");
const nav = document.getElementById("views");
let kinds;

for (const [name, view] of Object.entries(views)) nav.append(h("a", { href: "#" + name, "data-view": name }, view.title));

async function show() {
  const { view, values } = place();
  if (view === "main") return;
  const name = view in views ? view : "plan";
  for (const link of nav.children) link.dataset.view === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  document.title = views[name].title + " – Gardenia explorer";
  try {
    kinds ??= await get("kinds");
    const body = h("div", {});
    delete main.dataset.ready;
    main.replaceChildren(h("h1", {}, views[name].heading), h("p", { class: "lead" }, views[name].sentence), body);
    await views[name].draw(body, values, kinds);
    main.dataset.ready = name;
  } catch (error) {
    main.replaceChildren(h("h1", {}, "This did not work"), h("p", { class: "error", role: "alert" }, error.message));
  }
}

const button = document.getElementById("theme");
const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  button.textContent = dark() ? "Light" : "Dark";
  button.setAttribute("aria-label", "Switch to the " + (dark() ? "light" : "dark") + " theme");
}
button.addEventListener("click", () => {
  theme(dark() ? "light" : "dark");
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  window.dispatchEvent(new Event("theme"));
});
theme(localStorage.getItem("theme"));

addEventListener("hashchange", show);
show();
