"use strict";
// One screen at a time: instructions, items, the end. Texts are untrusted and only become text nodes.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.querySelector("main");
const key = `divbench-rating-${data.study}-${data.form}`;
const last = data.items.length;
// Only localStorage survives the end of the tab. It must not be the first that is read: in Chromium, one reload of a local
// file in eight then finds it empty, and what is written to it is lost.
const storages = ["sessionStorage", "localStorage"];
const state = load() || { rater: token(), at: -1, saves: 0, answers: {}, seconds: {} };
let since = performance.now();
let changed = false; // by this page; another tab may know more

function token() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function load() {
  const found = storages.map((name) => {
    try {
      return JSON.parse(window[name].getItem(key));
    } catch {
      return null; // no storage here: the form works, but does not survive a reload
    }
  });
  return found.filter(Boolean).sort((a, b) => b.saves - a.saves)[0];
}

function save() {
  changed = true;
  state.saves += 1;
  for (const name of storages) {
    try {
      window[name].setItem(key, JSON.stringify(state));
    } catch {
      continue;
    }
  }
}

// Another window with this form, seen beside this one, may know more: its answers are kept, too.
function catchUp() {
  const known = load();
  if (known && known.saves > state.saves) Object.assign(state, known, { at: state.at });
}

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function button(text, action, main = false) {
  return make("button", { type: "button", textContent: text, onclick: action, className: main ? "main" : "" });
}

function count() {
  const item = data.items[state.at];
  if (item && !document.hidden) {
    const passed = (performance.now() - since) / 1000;
    state.seconds[item.item] = Math.round(10 * ((state.seconds[item.item] || 0) + passed)) / 10;
  }
  since = performance.now();
}

function go(to) {
  catchUp();
  count();
  state.at = to;
  save();
  show();
}

function show() {
  page.replaceChildren(...(state.at < 0 ? start() : state.at < last ? screen(data.items[state.at]) : end()));
  page.querySelector("h1").focus();
  window.scrollTo(0, 0);
}

function heading(text) {
  return make("h1", { textContent: text, tabIndex: -1 });
}

function start() {
  const notes = [
    ...data.instructions,
    "The first items are training: they show which answer is expected, and why.",
    "Keys: a number chooses an answer, Enter continues. Your answers stay on this device until you send the file at the end.",
  ];
  return [
    heading("Rating responses"),
    ...notes.map((text) => make("p", { textContent: text })),
    make("div", { className: "buttons" }, button("Begin", () => go(0), true)),
  ];
}

function screen(item) {
  const training = Boolean(item.expected);
  const parts = [
    heading(`${training ? "Training" : "Item"} ${state.at + 1} of ${last}`),
    make("progress", { max: last, value: state.at, ariaLabel: "Progress" }),
    make("h2", { textContent: "Prompt" }),
    make("p", { className: "context", dir: "auto", lang: "", textContent: item.context }),
  ];
  item.panels.forEach((panel, i) => {
    parts.push(make("h2", { textContent: data.headings[i] }));
    parts.push(make("ol", {}, ...panel.map((text) => make("li", { dir: "auto", lang: "", textContent: text }))));
  });
  const note = make("p", { className: "note", role: "status" });
  parts.push(...data.questions.map((question) => asked(item, question)), note);
  const on = button(training ? "Check" : "Next", () => next(item, note, on), true);
  on.id = "next";
  parts.push(make("div", { className: "buttons" }, button("Back", () => go(state.at - 1)), on));
  return parts;
}

function asked(item, question) {
  const given = (state.answers[item.item] || {})[question.name];
  const field = make("fieldset", {}, make("legend", { textContent: question.text }));
  question.answers.forEach((text, i) => {
    const input = make("input", { type: "radio", name: question.name, value: i + 1, checked: given === i + 1 });
    input.onchange = () => {
      catchUp();
      state.answers[item.item] = { ...state.answers[item.item], [question.name]: i + 1 };
      save();
    };
    field.append(make("label", {}, input, make("span", { textContent: `${i + 1}: ${text}` })));
  });
  return field;
}

function next(item, note, on) {
  const given = state.answers[item.item] || {};
  const open = data.questions.find((question) => !given[question.name]);
  if (open) {
    tell(note, "Please choose an answer to each question.", true);
    page.querySelector(`input[name="${open.name}"]`).focus();
  } else if (item.expected && on.textContent === "Check") {
    const right = Object.entries(item.expected).every(([name, [low, high]]) => low <= given[name] && given[name] <= high);
    const wanted = Object.entries(item.expected).map(([, [low, high]]) => (low === high ? `${low}` : `${low} or ${high}`));
    tell(note, `${right ? "Right." : `Expected: ${wanted.join(", ")}.`} ${item.why}`, !right);
    on.textContent = "Next";
  } else {
    go(state.at + 1);
  }
}

function tell(note, text, bad) {
  note.className = bad ? "note bad" : "note";
  note.textContent = text;
}

function rows() {
  return data.items.flatMap((item) =>
    data.questions
      .filter((question) => (state.answers[item.item] || {})[question.name])
      .map((question) => ({
        item: item.item,
        question: question.name,
        answer: state.answers[item.item][question.name],
        seconds: state.seconds[item.item] ?? null,
      })),
  );
}

function asJson() {
  return JSON.stringify({ study: data.study, form: data.form, rater: state.rater, answers: rows() });
}

function download() {
  const link = make("a", { href: URL.createObjectURL(new Blob([asJson()], { type: "application/json" })) });
  link.download = `ratings-${data.study}-${data.form}-${state.rater}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function end() {
  return [
    heading("Thank you"),
    make("p", { textContent: "Download your answers and send the file to the person who asked you." }),
    make("div", { className: "buttons" }, button("Download", download, true), button("Back", () => go(last - 1))),
    make("textarea", { readOnly: true, value: asJson(), ariaLabel: "Your answers as text" }),
  ];
}

document.addEventListener("visibilitychange", () => {
  // Time while the page is hidden does not count. A tab in which nothing was answered must not overwrite the answers of
  // another, and one that is seen again goes on from the newest.
  const known = load();
  if (document.hidden) {
    const item = data.items[state.at];
    if (item) state.seconds[item.item] = (state.seconds[item.item] || 0) + (performance.now() - since) / 1000;
    if (changed && !(known && known.saves > state.saves)) save();
  } else if (known && known.saves > state.saves) {
    Object.assign(state, known);
    show();
  }
  since = performance.now();
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "TEXTAREA") return;
  if (/^[1-9]$/.test(event.key)) {
    // A number answers the question that has the focus, or else the first unanswered one.
    const fields = [...page.querySelectorAll("fieldset")];
    const field = fields.find((each) => each.contains(document.activeElement)) || fields.find((each) => !each.querySelector(":checked"));
    const input = (field || fields[0])?.querySelectorAll("input")[Number(event.key) - 1];
    if (input) input.click();
    const open = fields.find((each) => !each.querySelector(":checked"));
    (open ? open.querySelector("input") : page.querySelector("#next"))?.focus();
  } else if (event.key === "Enter" && event.target.tagName !== "BUTTON") {
    (page.querySelector("#next") || page.querySelector("button.main"))?.click();
  }
});

show();
