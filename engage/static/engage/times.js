// Times as people say them, in the browser's zone. Without this script they stand there in UTC.

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const STEPS = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 7],
];
const EVERY_MS = 15_000;
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" });

/**
 * @param {Date} instant
 * @param {number} now
 */
function said(instant, now) {
  let amount = (instant.getTime() - now) / 1000;
  if (Math.abs(amount) < 5) return "just now";
  for (const [unit, many] of STEPS) {
    if (Math.round(Math.abs(amount)) < many) return words.format(Math.round(amount), unit);
    amount /= many;
  }
  return date.format(instant);
}

/** @param {Element | Document} [root] */
function say(root = document) {
  const now = Date.now();
  /** @type {NodeListOf<HTMLTimeElement>} */
  const elements = root.querySelectorAll("time[datetime]");
  for (const element of elements) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    const text = said(instant, now);
    if (element.textContent !== text) element.textContent = text;
    element.title ||= exact.format(instant);
  }
}

// In names, choices and running text a time stands in UTC as well; in quotes it is a value.
const IN_UTC = /(?<!")(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d)?)(?: UTC|(?:\.\d+)?Z)/g;
const AS_IT_IS = "pre, code, textarea, script, style, time";
const zone = new Intl.DateTimeFormat("en", { timeZoneName: "short" });

/**
 * @param {string} text
 * @param {string} day
 * @param {string} time
 */
function inZone(text, day, time) {
  const at = new Date(`${day}T${time}Z`);
  if (Number.isNaN(at.getTime())) return text;
  const name = zone.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value;
  return `${local(at).replace("T", " ")}${time.slice(5)} ${name}`;
}

/** @param {Node} root */
function sayInTexts(root) {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = /** @type {Text} */ (texts.currentNode);
    const here = text.data.replace(IN_UTC, inZone);
    if (here !== text.data && !text.parentElement?.closest(AS_IT_IS)) text.data = here;
  }
}

// An input for a time holds UTC on the wire, and local time on the page.
/** @param {number} number */
const padded = (number) => String(number).padStart(2, "0");
/** @param {Date} at */
const local = (at) =>
  `${at.getFullYear()}-${padded(at.getMonth() + 1)}-${padded(at.getDate())}` +
  `T${padded(at.getHours())}:${padded(at.getMinutes())}`;

/**
 * @param {Element | Document} root
 * @returns {NodeListOf<HTMLInputElement>}
 */
const inputsOf = (root) => root.querySelectorAll("input[data-utc]");

function localInputs() {
  for (const input of inputsOf(document)) {
    if (input.value) input.value = local(new Date(`${input.value}Z`));
    const form = input.form;
    if (!form || form.dataset.local) continue;
    form.dataset.local = "yes";
    form.addEventListener("formdata", ({ formData }) => {
      for (const { name, value } of inputsOf(form)) {
        if (value) formData.set(name, new Date(value).toISOString());
      }
    });
  }
  for (const zone of document.querySelectorAll("[data-zone]")) zone.textContent = "(your time)";
}

// Links that begin at a time of the day: at this hour, today or yesterday, by the reader's clock.
function localLinks() {
  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = document.querySelectorAll("a[data-since-hour]");
  for (const link of links) {
    const at = new Date();
    at.setHours(Number(link.dataset.sinceHour), 0, 0, 0);
    if (at > new Date()) at.setDate(at.getDate() - 1);
    const url = new URL(link.href);
    url.searchParams.set("since", at.toISOString());
    link.href = url.href;
  }
}

say();
sayInTexts(document.body);
localInputs();
localLinks();
setInterval(() => say(), EVERY_MS);
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (!(node instanceof Element)) continue;
      say(node.parentElement ?? node);
      sayInTexts(node);
    }
  }
}).observe(document.body, { childList: true, subtree: true });
