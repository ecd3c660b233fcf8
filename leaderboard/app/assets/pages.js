// Additions to Gradio's components: alternative texts of figures, explanations of headings, sorting by a click on a
// heading, the menu on narrow screens, groups of radio buttons, the footer's link. FIGURES and METRICS are placeholders.
const figures = FIGURES, metrics = METRICS;

const describe = () => {
  for (const [name, text] of Object.entries(figures)) {
    const figure = document.getElementById(name);
    if (figure === null || figure.hasAttribute("aria-label")) continue;
    figure.setAttribute("role", "figure");
    figure.setAttribute("aria-label", text);
  }
};

// A list of choices scrolls, so Tab would stop at it between two controls, and the focus would be lost when it closes;
// code that scrolls needs to be reached. Names of what Gradio names by a hint, or otherwise than it is labelled.
const pass = () => {
  for (const list of document.querySelectorAll("ul[role=listbox]:not([tabindex])")) list.tabIndex = -1;
  for (const code of document.querySelectorAll(".cm-scroller[tabindex='-1']")) code.tabIndex = 0;
  for (const search of document.querySelectorAll(".search-input:not([aria-label])")) search.ariaLabel = "Search this table";
  for (const empty of document.querySelectorAll(".empty[aria-label]:not([role])")) empty.role = "img";
  for (const drop of document.querySelectorAll(".upload-container[aria-label]")) drop.removeAttribute("aria-label");
};

// A common name makes the radio buttons of a question one tab stop, with the arrow keys to choose.
const group = () => {
  for (const question of document.querySelectorAll(".block:has(input[type=radio])"))
    for (const button of question.querySelectorAll("input[type=radio]"))
      if (button.name !== question.id) button.name = question.id;
};

// The metric that a text begins with: more text may follow, to distinguish two columns of one metric.
const metricOf = (text) => metrics[text.replace(/^rank by /, "").split(/[\s[:]/)[0]];

const explain = () => {
  for (const head of document.querySelectorAll("th.header-cell")) {
    const sorted = head.querySelector(".sort-indicator")?.getAttribute("aria-label") ?? "";
    head.setAttribute("aria-sort", sorted.includes("desc") ? "descending" : sorted ? "ascending" : "none");
    const text = (head.querySelector(".header-content") ?? head).innerText.trim(), told = metricOf(text);
    if (head.dataset.told === text) continue;
    head.dataset.told = text;
    head.title = `${told ? `${text}: ${told}` : text}\nClick to sort.`;
  }
  for (const cell of document.querySelectorAll("[role=gridcell][data-col='0']")) {
    const text = cell.innerText.trim(), told = metricOf(text);
    if (told && cell.dataset.told !== text) [cell.dataset.told, cell.title] = [text, `${text}: ${told}`];
    else if (!told && cell.dataset.told) { delete cell.dataset.told; cell.removeAttribute("title"); }
  }
};

// Plotly draws a figure in a closed section 700 pixels wide, and measures its place only when the window is resized.
const places = new ResizeObserver((seen) => {
  const width = (e) => e?.getBoundingClientRect().width ?? 0;
  const other = ({ target }) => width(target) && Math.abs(width(target) - width(target.querySelector(".main-svg"))) > 3;
  if (seen.some(other)) window.dispatchEvent(new Event("resize"));
});
const fit = () => { for (const plot of document.querySelectorAll(".js-plotly-plot")) places.observe(plot); };

let due = false;
const look = () => {
  due = false;
  document.title = document.querySelector("#content h1")?.innerText.trim() ?? document.title;
  describe(); pass(); group(); explain(); fit(); listen();
};
new MutationObserver(() => {
  if (!due) requestAnimationFrame(look);  // once per frame: a new table makes thousands of changes
  due = true;
}).observe(document, { childList: true, subtree: true });

// Screen readers do not notice new values of text boxes. After each step that the page counts in its body's data, the
// sentences that are new since the last one go into a live region.
const SAID = "#headline textarea, .note textarea, #verdict textarea, #receipt textarea, .answer";
let known = null;
const speak = () => {
  const texts = [...document.querySelectorAll(SAID)].filter((e) => e.checkVisibility()).map((e) => e.value ?? e.innerText);
  if (known) document.querySelector(".spoken").textContent = texts.filter((text) => !known.includes(text)).join(" ");
  known = texts;
};
const listen = () => {
  if (!document.body || document.querySelector(".spoken")) return;
  const region = Object.assign(document.createElement("div"), { className: "spoken" });
  region.style.cssText = "position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)";
  region.setAttribute("role", "status");
  document.body.append(region);
  const names = ["shown", "asked", "voted", "checked", "submitted"].map((name) => `data-${name}`);
  new MutationObserver(() => setTimeout(speak, 100)).observe(document.body, { attributeFilter: names });
};

// Choose an order in Gradio's hidden menu of a heading.
const choose = async (head, order) => {
  head.querySelector(".cell-menu-button")?.click();
  await Promise.resolve();
  document.querySelectorAll("[role=menuitem]")[{ ascending: 0, descending: 1, none: 2 }[order]]?.click();
  await Promise.resolve();
};

// Sort a table by a heading and no other: numbers start with the highest.
const sortBy = async (head) => {
  const column = head.dataset.heading, table = head.closest("[role=grid]");
  const cells = [...(table?.querySelectorAll(`[role=gridcell][data-col='${column}']`) ?? [])];
  const first = cells.map((cell) => cell.innerText.trim()).find(Boolean) ?? "";  // the first rows may lack a value
  const order = /^[-−+.\d]/.test(first) ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
  const now = head.querySelector(".sort-indicator")?.getAttribute("aria-label") ?? "";
  const at = order.indexOf(now.includes("desc") ? "descending" : now ? "ascending" : "none");
  const next = order[(at + 1) % order.length];
  for (const other of table?.querySelectorAll("th.header-cell:has(.sort-indicator)") ?? [])
    if (other !== head) await choose(other, "none");  // or Gradio would sort by that column first
  await choose(head, next);
};

document.addEventListener("click", (event) => {
  const head = event.target.closest("th.header-cell");
  if (head && !event.target.closest("button, input")) sortBy(head);
  if (event.target.closest(".jump")) {
    event.preventDefault();  // or the permalink would end in the fragment
    const content = document.getElementById("content");
    content.tabIndex = -1;
    content.focus();
  }
  const menu = event.target.closest("#nav .menu");
  if (menu) menu.setAttribute("aria-expanded", String(menu.getAttribute("aria-expanded") !== "true"));
  const copy = event.target.closest(".copy-link");
  if (copy) {
    const say = (text) => { copy.textContent = text; };  // browsers offer no clipboard to pages over plain HTTP
    const copying = navigator.clipboard?.writeText(window.location.href) ?? Promise.reject();
    copying.then(() => say("Link copied"), () => say("Copy failed: the link is in the address bar"));
  }
}, true);

// Two ticked systems of a table are compared.
document.addEventListener("change", ({ target }) => {
  if (!target.closest?.(".pick")) return;
  const table = target.dataset.table;
  const ticked = [...document.querySelectorAll(".pick input:checked")].filter((box) => box.dataset.table === table);
  if (ticked.length < 2) return;
  const systems = ticked.slice(0, 2).map((box) => box.value).join(",");
  for (const box of ticked) box.checked = false;  // or they would be ticked when the visitor comes back
  window.location.assign(`compare?${new URLSearchParams({ table, systems })}`);
});

document.addEventListener("keydown", (event) => {
  if (event.target.type === "radio") group();  // after each choice, Gradio gives each button a different name
  const head = event.target.closest?.("th.header-cell");
  if (head && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); sortBy(head); }
}, true);
