// A textarea of JSON, and a form of the same value before it: two views of one text, which is what is sent. Where the
// form is left alone, the text stays as it is written.
import { el, replaced, tell, whenReleased } from "./dom.js";
import { refusedIn } from "./entered.js";
import { read, write } from "./json.js";

/**
 * `formOf(value, set)` makes the form; the value is undefined where the text is empty. `set(value, reshape)` writes it.
 * The result has `host`, which holds both, and `tell(found)` for what is wrong; so have the area's events "told", and
 * "shown" where its text is to be seen.
 *
 * @param {HTMLTextAreaElement} area
 * @param {string} label
 * @param {(value: Json, set: Put) => Child} formOf
 */
export function beside(area, label, formOf) {
  const form = el("div", {
    class: area.readOnly ? "studio-form only-read" : "studio-form",
    role: "group",
    "aria-label": label,
  });
  const whyNot = el("p", { class: "engage-bad", role: "status" });
  const views = [
    ["form", "Form"],
    ["json", "JSON"],
  ].map(([name, words]) =>
    el("button", { type: "button", class: "studio-tab", "data-view": name, click: () => show(name) }, words),
  );
  const bar = el("div", { class: "studio-views", role: "group", "aria-label": `How ${label} is shown` }, views);
  const host = el("div", { class: "studio-beside", id: `${area.id}-form` }, bar, form, whyNot);
  area.before(host);
  host.append(area);
  /** @type {Found[]} */
  let found = [];
  /** @type {Json} */
  let now;

  /**
   * @param {Json} next
   * @param {boolean} [reshape]
   */
  function set(next, reshape) {
    now = next;
    area.value = next === undefined ? "" : write(next, 2);
    area.dispatchEvent(new Event("input", { bubbles: true }));
    if (reshape) whenReleased(fill);
  }

  function fill() {
    replaced(form, el("div", {}, formOf(now, set)));
    tell(form, found);
  }

  /** @param {string} view */
  function show(view) {
    const why = view === "form" ? filled() : "";
    whyNot.textContent = why;
    const isForm = view === "form" && !why;
    form.hidden = !isForm;
    area.hidden = isForm;
    for (const one of views) one.setAttribute("aria-pressed", String(one.dataset.view === (isForm ? "form" : "json")));
  }

  function filled() {
    try {
      now = area.value.trim() ? read(area.value) : undefined;
      fill();
      return "";
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return `This is no JSON, and so has no form: ${error.message}`;
    }
  }

  /** @param {Found[]} now */
  const told = (now) => tell(form, (found = now));
  area.addEventListener("shown", () => show("json"));
  area.addEventListener("told", (event) => told(/** @type {CustomEvent} */ (event).detail));
  const come = () => location.hash === `#${area.id}` && host.scrollIntoView();
  area.form?.addEventListener("submit", (event) => {
    const wrong = form.hidden ? null : refusedIn(form);
    if (!wrong || event.defaultPrevented) return;
    event.preventDefault();
    if (!host.checkVisibility()) location.hash = area.id;
    wrong.focus();
  });
  addEventListener("hashchange", come);
  show("form");
  come();
  return { host, tell: told };
}
