// Draws the figure of a plain page, opens the menu on a narrow screen, and copies the page's address.
"use strict";

// The page's policy forbids style attributes, which plotly sets; style properties are allowed.
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value; else setAttribute.call(this, name, value);
};

document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".figure")) {
    const figure = JSON.parse(document.getElementById(place.id + "-data").textContent);
    place.style.minHeight = place.dataset.height + "px";
    Plotly.newPlot(place, figure.data, figure.layout, {displayModeBar: false, responsive: true});
  }
});

document.addEventListener("click", (event) => {
  const menu = event.target.closest(".menu"), copy = event.target.closest(".copy-link");
  if (menu) menu.setAttribute("aria-expanded", String(menu.getAttribute("aria-expanded") !== "true"));
  if (copy) {
    const say = (text) => { copy.textContent = text; };  // browsers offer no clipboard to pages over plain HTTP
    const copying = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    copying.then(() => say("Link copied"), () => say("Copy failed: the link is in the address bar"));
  }
});
