// The exported board: sorting, searching, choosing columns, drawing figures, showing responses. Untrusted text is set
// only as text. Data files loaded after this one put their data into `divbench`.
"use strict";
const divbench = {figures: {}, texts: null};
globalThis.divbench = divbench;

// The page's policy forbids style attributes, which plotly sets; style properties are allowed.
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value; else setAttribute.call(this, name, value);
};

document.addEventListener("DOMContentLoaded", () => {
  for (const controls of document.querySelectorAll(".controls")) controls.hidden = false;
  for (const table of document.querySelectorAll("table.sortable")) sortable(table);
  for (const select of document.querySelectorAll("select[data-columns-of]")) columns(select);
  for (const search of document.querySelectorAll("input[data-rows-of]")) rows(search);
  for (const place of document.querySelectorAll(".figure")) draw(place);
  if (divbench.texts) explore(divbench.texts);
});

// The application's navigation on a narrow screen, and the link in its footer.
document.addEventListener("click", (event) => {
  const menu = event.target.closest(".menu"), copy = event.target.closest(".copy-link");
  if (menu) menu.setAttribute("aria-expanded", String(menu.getAttribute("aria-expanded") !== "true"));
  if (copy) {
    const say = (text) => { copy.textContent = text; };  // browsers offer no clipboard to pages over plain HTTP
    const copying = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    copying.then(() => say("Link copied"), () => say("Copy failed: the link is in the address bar"));
  }
});

// The fragment of the URL holds the choices, so that the URL is a permalink.
function chosen() {
  return new URLSearchParams(location.hash.slice(1));
}

function remember(name, value) {
  const all = chosen();
  if (value) all.set(name, value); else all.delete(name);
  history.replaceState(null, "", "#" + all);
}

// Tables: a click on a header sorts, a second one reverses the order; rows without a value stay last.
function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending" ||
        (!head.hasAttribute("aria-sort") && head.classList.contains("number"));
      sort(table, body, heads, place, down);
      remember("sort-" + table.id, (down ? "-" : "") + place);
    });
  });
  const wanted = /^(-?)(\d{1,4})$/.exec(chosen().get("sort-" + table.id) ?? "");
  if (wanted && heads[Number(wanted[2])]) sort(table, body, heads, Number(wanted[2]), wanted[1] === "-");
}

function sort(table, body, heads, place, down) {
  const numbers = heads[place].classList.contains("number");
  const key = (row) => {
    const cell = row.cells[place];
    if (!numbers) return cell.textContent;
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const keyed = [...body.rows].map((row) => ({row, key: key(row)}));
  keyed.sort((one, other) => {
    const gone = (one.key === null || one.key === "") - (other.key === null || other.key === "");
    if (gone) return gone;
    const order = numbers ? one.key - other.key : one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
    return down ? -order : order;
  });
  body.append(...keyed.map((each) => each.row));
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[place].setAttribute("aria-sort", down ? "descending" : "ascending");
}

// Column presets: indices of the columns that each one shows.
function columns(select) {
  const table = document.getElementById(select.dataset.columnsOf);
  const presets = JSON.parse(document.getElementById(table.id + "-presets").textContent);
  const show = () => {
    const shown = new Set(presets[select.value]);
    for (const row of table.rows) [...row.cells].forEach((cell, place) => { cell.hidden = !shown.has(place); });
  };
  const wanted = chosen().get("show");
  if (Object.hasOwn(presets, wanted ?? "")) select.value = wanted;
  show();
  select.addEventListener("change", () => { show(); remember("show", select.value); });
}

// Search: only rows that contain all words are shown.
function rows(search) {
  const body = document.getElementById(search.dataset.rowsOf).tBodies[0];
  const found = document.getElementById("found");
  const texts = new Map([...body.rows].map((row) => [row, row.textContent.toLowerCase()]));
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const [row, text] of texts) {
      row.hidden = !words.every((word) => text.includes(word));
      count += !row.hidden;
    }
    found.textContent = words.length ? `${count} of ${texts.size} shown` : "";
  };
  search.value = (chosen().get("q") ?? "").slice(0, 200);
  show();
  search.addEventListener("input", () => { show(); remember("q", search.value); });
}

function draw(place) {
  const own = document.getElementById(place.id + "-data");
  const figure = own ? JSON.parse(own.textContent) : divbench.figures[place.id];
  if (!figure || !globalThis.Plotly) return;
  place.style.minHeight = place.dataset.height + "px";
  Plotly.newPlot(place, figure.data, figure.layout, {displayModeBar: false, responsive: true});
}

// Explore: one system's prompts, one at a time.
function explore(texts) {
  const [find, select] = ["find", "prompt"].map((id) => document.getElementById(id));
  const [found, place] = ["found", "explored"].map((id) => document.getElementById(id));
  const labels = texts.prompts.map((each) => `${each.id} · ${each.text.replace(/\s+/g, " ").slice(0, 80)}`);
  const offer = (keep) => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const held = texts.prompts.map((each) => `${each.id} ${each.category} ${each.text}`.toLowerCase());
    const kept = held.flatMap((text, index) => words.every((word) => text.includes(word)) ? [index] : []);
    select.replaceChildren(...kept.map((index) => new Option(labels[index], String(index))));
    if (kept.includes(keep)) select.value = String(keep);
  };
  const show = () => {
    const each = select.value === "" ? undefined : texts.prompts[Number(select.value)];
    // Only this line is read aloud, not all responses at each letter of a search.
    found.textContent = each ? `${each.id} · ${each.category}` : "No prompt matches.";
    if (!each) {
      place.replaceChildren();
      return;
    }
    place.replaceChildren(...explored(each, texts));
    remember("prompt", each.id);
  };
  const step = (by) => {
    if (!select.options.length) return;
    select.selectedIndex = (select.selectedIndex + by + select.options.length) % select.options.length;
    show();
  };
  const wanted = () => texts.prompts.findIndex((each) => each.id === chosen().get("prompt"));
  offer(Math.max(0, wanted()));
  show();
  find.addEventListener("input", () => { offer(Number(select.value)); show(); });
  select.addEventListener("change", show);
  document.getElementById("previous").addEventListener("click", () => step(-1));
  document.getElementById("next").addEventListener("click", () => step(1));
  addEventListener("hashchange", () => { find.value = ""; offer(Math.max(0, wanted())); show(); });
}

function explored(each, texts) {
  const prompt = made("pre", each.text, "prompt");
  const heads = ["#", "class", "response", "note", "bits/byte alone", "quality of class"];
  const responses = grid("responses", "Responses, coloured by class", heads, each.responses.map((response) => [
    String(response.number), response.class, response.text, response.note, response.rate, response.quality,
  ]));
  [...responses.querySelectorAll("tbody tr")].forEach((row, place) => {
    const colour = each.responses[place].colour;
    row.className = colour === null ? "" : `class-${colour % 8}`;
    row.cells[2].className = "response";
  });
  const scores = grid("scores", "Scores of this prompt", ["metric", "this prompt", "system mean"],
    each.scores.map(([label, value, mean]) => [label, value, mean]));
  return [prompt, responses, scores];
}

function made(name, text, kind) {
  const element = document.createElement(name);
  const own = document.createElement("bdi");
  own.textContent = text;
  element.append(own);
  if (kind) element.className = kind;
  return element;
}

function grid(id, caption, heads, cells) {
  const table = document.createElement("table");
  table.id = id;
  table.createCaption().textContent = caption;
  const row = table.createTHead().insertRow();
  for (const head of heads) {
    const cell = made("th", head);
    cell.scope = "col";
    row.append(cell);
  }
  const body = table.createTBody();
  for (const each of cells) {
    const line = body.insertRow();
    each.forEach((text, place) => {
      const cell = made(place ? "td" : "th", text);
      if (!place) cell.scope = "row";
      line.append(cell);
    });
  }
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", caption);
  scroll.append(table);
  return scroll;
}
