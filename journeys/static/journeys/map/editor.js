// Beside the JSON of a journey: its drawing and all its mistakes while it is typed, and a menu of steps.
import { draw } from "./drawing.js";

/**
 * @typedef {{ field: string, message: string, line: number, begin: number, end: number }} Mistake
 * @typedef {{ mistakes: Mistake[], more: number, warnings: Mistake[], drawing: Drawing | null }} Checked
 */

const PAUSE = 250; // milliseconds without a key before what is typed is sent

/**
 * @param {HTMLTextAreaElement} area
 * @param {{ url: string, examples: { type: string, text: string }[] }} given
 */
export function edit(area, { url, examples }) {
  const form = /** @type {HTMLFormElement} */ (area.form);
  const panel = made("div", { className: "engage-draft" });
  const told = made("p", { className: "engage-draft-told" });
  told.setAttribute("role", "status");
  const list = made("ol", { className: "engage-draft-mistakes" });
  const host = /** @type {Host} */ (made("div", { className: "engage-map" }));
  host.dataset.title = "Drawing of what is written";
  panel.append(menuOf(area, examples), told, list, host);
  area.after(panel);
  area.parentElement?.classList.add("engage-draft-beside");

  const fields = /** @type {HTMLInputElement[]} */ ([...form.elements]).filter((one) => one.name);
  /** @type {number | undefined} */
  let waiting;
  /** @type {AbortController | undefined} */
  let underWay;
  const check = async () => {
    underWay?.abort();
    const own = (underWay = new AbortController());
    try {
      const answer = await fetch(url, { method: "POST", body: new FormData(form), signal: own.signal });
      if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
      show(await answer.json());
    } catch (error) {
      if (!own.signal.aborted) told.textContent = "It could not be checked just now; it is checked when it is saved.";
    }
  };
  /** @param {Checked} answer */
  const show = ({ mistakes, more, warnings, drawing }) => {
    const number = mistakes.length + more;
    const found = [number && counted(number, "mistake"), warnings.length && counted(warnings.length, "warning")].filter(
      Boolean,
    );
    told.textContent = found.length ? `${found.join(", ")}:` : "No mistakes.";
    for (const one of fields)
      if (one.dataset.form) one.dispatchEvent(new CustomEvent("told", { detail: placed(mistakes, one.name) }));
    list.replaceChildren(...mistakes.map((one) => itemOf(one, "")), ...warnings.map((one) => itemOf(one, "warning")));
    host.hidden = !drawing && !host.viewport;
    host.classList.toggle("stale", !drawing);
    if (drawing) draw(host, drawing);
  };
  for (const field of fields) {
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(check, PAUSE);
    });
  }
  check();
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {object} properties
 * @returns {HTMLElementTagNameMap[K]}
 */
function made(name, properties) {
  return Object.assign(document.createElement(name), properties);
}

/**
 * @param {number} number
 * @param {string} what
 */
const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

/**
 * Those of the field, as {place, message}: each message begins with its place.
 *
 * @param {Mistake[]} mistakes
 * @param {string} name
 */
const placed = (mistakes, name) =>
  mistakes
    .filter(({ field }) => field === name)
    .map(({ message }) => {
      const [place] = message.split(" ", 1);
      return { place, message: message.slice(place.length).trim() };
    });

/**
 * @param {Mistake} mistake
 * @param {string} kind
 */
function itemOf({ field, message, line, begin, end }, kind) {
  const area = /** @type {HTMLTextAreaElement} */ (document.getElementById(`id_${field}`));
  const button = made("button", { type: "button", textContent: `${kind && "⚠ "}Line ${line}: ${message}` });
  button.addEventListener("click", () => {
    const whole = area.value.slice(begin, end).includes("\n") ? begin : end;
    area.dispatchEvent(new Event("shown"));
    area.focus();
    area.setSelectionRange(begin, whole);
    const height = parseFloat(getComputedStyle(area).lineHeight) || 18;
    area.scrollTop = Math.max(0, (line - 3) * height);
    area.scrollIntoView({ block: "nearest" });
  });
  const item = made("li", { className: kind });
  item.append(button);
  return item;
}

/**
 * @param {HTMLTextAreaElement} area
 * @param {{ type: string, text: string }[]} examples
 */
function menuOf(area, examples) {
  const menu = made("select", {});
  menu.setAttribute("aria-label", "A step to insert");
  menu.append(
    ...examples.map(({ type, text }, at) =>
      made("option", { value: `${at}`, textContent: `${type}: ${JSON.parse(text).id}` }),
    ),
  );
  const button = made("button", { type: "button", textContent: "Insert", className: "engage-button" });
  button.addEventListener("click", () => insert(area, JSON.parse(examples[menu.selectedIndex].text)));
  const bar = made("div", { className: "engage-map-choice" });
  bar.append(menu, button);
  return bar;
}

/**
 * Puts the step after the one in which the cursor is, with an id of its own and without ways to where nothing is.
 *
 * @param {HTMLTextAreaElement} area
 * @param {Step} example
 */
function insert(area, example) {
  const text = area.value;
  const known = new Set([...text.matchAll(/"id"\s*:\s*"([^"]*)"/g)].map((found) => found[1]));
  const step = fitting({ ...example, id: free(example.id, known) }, known);
  const written = JSON.stringify(step, null, 2).replace(/^/gm, "  ");
  const empty = !text.replace(/[[\]\s]/g, "");
  const at = empty ? 0 : afterStep(text, area.selectionStart);
  const before = text.slice(0, at).trimEnd();
  const after = text.slice(at).trimStart();
  const begin = before.endsWith("}") ? ",\n" : "\n";
  const end = after.startsWith("{") ? ",\n  " : "";
  area.focus();
  if (empty) {
    area.select();
    put(area, `[\n${written}\n]`);
  } else {
    area.setSelectionRange(before.length, text.length - after.length);
    put(area, `${begin}${written}${end || (after.startsWith("]") ? "\n" : "")}`);
  }
}

/**
 * As if it were typed, so that it can be undone; where browsers cannot do that, at once.
 *
 * @param {HTMLTextAreaElement} area
 * @param {string} text
 */
function put(area, text) {
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/**
 * @param {string} id
 * @param {Set<string>} known
 */
function free(id, known) {
  let name = id;
  for (let number = 2; known.has(name); number += 1) name = `${id}-${number}`;
  return name;
}

const WAYS = new Set(["next", "onEvent", "onTimeout", "else"]);
/**
 * @param {Json} value
 * @param {Set<string>} known
 * @returns {Json}
 */
function fitting(value, known) {
  if (Array.isArray(value)) return value.map((item) => fitting(item, known));
  if (value === null || typeof value !== "object") return value;
  const kept = Object.entries(value).filter(
    ([name, to]) => (name !== "onEvent" && name !== "onTimeout" && name !== "else") || known.has(to),
  );
  return Object.fromEntries(
    kept.map(([name, to]) => [name, WAYS.has(name) && !known.has(to) ? null : fitting(to, known)]),
  );
}

/**
 * The first position from here on that is in no step.
 *
 * @param {string} text
 * @param {number} from
 */
function afterStep(text, from) {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    if (at >= from && depth === 1 && !inText) return at;
    const letter = text[at];
    if (inText) {
      if (letter === "\\") at += 1;
      else if (letter === '"') inText = false;
    } else if (letter === '"') inText = true;
    else if (letter === "{" || letter === "[") depth += 1;
    else if (letter === "}" || letter === "]") depth -= 1;
  }
  const closing = text.lastIndexOf("]");
  return closing < 0 ? text.length : closing;
}
