// A page in parts: nav.engage-tabs has their names, data-tab says to which a section belongs; one is shown at a time.
// Without this file, all parts stand below each other. An address with # opens the part in which its place is.

const nav = /** @type {HTMLElement} */ (document.querySelector("nav.engage-tabs"));
/** @type {HTMLElement | null} */
const form = document.querySelector(`form[id$="_form"]`);
/** @type {HTMLElement | null} */
const buttons = document.querySelector("#submit-row");
for (const part of [form, buttons]) if (part) part.dataset.tab ??= nav.dataset.form;
/** @type {NodeListOf<HTMLAnchorElement>} */
const links = nav.querySelectorAll(`a[href^="#"]`);
const names = [...links].map((link) => link.hash.slice(1));

function wanted() {
  const name = decodeURIComponent(location.hash.slice(1));
  if (names.includes(name)) return name;
  const place = name && document.getElementById(name);
  if (place) return /** @type {HTMLElement | null} */ (place.closest("[data-tab]"))?.dataset.tab;
  return document.querySelector(".engage-refused") ? nav.dataset.form : names[0];
}

function show() {
  const open = wanted() ?? names[0];
  /** @type {NodeListOf<HTMLElement>} */
  const parts = document.querySelectorAll("[data-tab]");
  for (const part of parts) part.hidden = part.dataset.tab !== open;
  for (const link of links) link.setAttribute("aria-current", link.hash === `#${open}` ? "page" : "false");
  dispatchEvent(new Event("resize")); // what was drawn while it was hidden fits itself
}

nav.hidden = false;
show();
addEventListener("hashchange", show);
