// The form of the chosen step, and the rules that end an enrollment early.
import { button, el, icon, newId, said } from "../../customers/forms/dom.js";
import { entered } from "../../customers/forms/entered.js";
import { fieldsOf, put } from "./fields.js";
import { inShort } from "./list.js";
import { whyNotNamed } from "./model.js";

/**
 * The step's form. `acts` are those of the page.
 *
 * @param {Page} studio
 * @param {Step} step
 * @param {Acts} acts
 */
export function stepForm(studio, step, acts) {
  const number = studio.steps.indexOf(step);
  const place = `steps[${number}]`;
  const kind = studio.model.byType.get(step.type);
  const { disabled } = studio;
  const id = newId();
  const heading = el(
    "h2",
    { class: "engage-panel-title studio-heading", tabIndex: -1 },
    icon(kind?.icon ?? "help"),
    kind?.title ?? step.type,
  );
  /**
   * @param {string} words
   * @param {"up" | "down" | "duplicate" | "remove"} name
   * @param {string} keys
   */
  const act = (words, name, keys) => button(words, () => acts[name](step.id), { disabled, title: keys });
  const bar = el(
    "div",
    { class: "engage-inline studio-acts" },
    act("Up", "up", "Alt+↑"),
    act("Down", "down", "Alt+↓"),
    act("Duplicate", "duplicate", "Ctrl+D"),
    act("Delete", "remove", "Delete"),
  );
  const named = el(
    "div",
    { class: "studio-field" },
    el("label", { htmlFor: id }, "Name of the step"),
    entered(step.id, (to) => acts.rename(step.id, to), {
      whyNot: (to) => whyNotNamed(studio.steps, step.id, to),
      id,
      disabled,
    }),
    said(`${place}.id`),
  );
  /** @type {Around} */
  const context = {
    value: step,
    place,
    disabled,
    studio,
    reshape: acts.reshape,
    put: (name, next, reshape) => acts.set(step.id, (now) => put(now, name, next), reshape),
    replace: (next, reshape) => acts.set(step.id, next, reshape),
  };
  return el(
    "section",
    { class: "studio-form", "aria-label": `Step ${step.id}` },
    heading,
    kind ? el("p", { class: "studio-help" }, inShort(kind)) : null,
    bar,
    said(place),
    named,
    fieldsOf(kind?.fields ?? [], context),
  );
}

/**
 * Who may enter, and what ends an enrollment early: what the definition holds beside its steps.
 *
 * @param {Page} studio
 * @param {Acts} acts
 */
export function besideForm(studio, acts) {
  /** @type {Around} */
  const context = {
    value: studio.beside,
    place: "",
    disabled: studio.disabled,
    studio,
    reshape: acts.reshape,
    put: acts.setBeside,
  };
  return el(
    "section",
    { class: "studio-form", "aria-label": "Entry and exits" },
    fieldsOf(studio.besideFields, context),
  );
}
