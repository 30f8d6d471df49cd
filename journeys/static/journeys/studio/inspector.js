// The form of the chosen step, and the rules that end an enrollment early.
import { button, el, icon, input, newId } from "./dom.js";
import { fieldsOf, put } from "./fields.js";
import { inShort } from "./list.js";

/** The step's form. `acts` are those of the page. */
export function stepForm(studio, step, acts) {
  const number = studio.steps.indexOf(step);
  const place = `steps[${number}]`;
  const kind = studio.model.byType.get(step.type);
  const { disabled } = studio;
  const id = newId();
  const heading = el("h2", { class: "engage-panel-title studio-heading", tabIndex: -1 }, icon(kind?.icon ?? "help"), kind?.title ?? step.type);
  const act = (words, name, keys) => button(words, () => acts[name](step.id), { disabled, title: keys });
  const bar = el("div", { class: "engage-inline studio-acts" },
    act("Up", "up", "Alt+↑"), act("Down", "down", "Alt+↓"), act("Duplicate", "duplicate", "Ctrl+D"), act("Delete", "remove", "Delete"));
  const named = el("div", { class: "studio-field" }, el("label", { htmlFor: id }, "Name of the step"),
    input(step.id, (to) => acts.rename(step.id, to), { id, disabled }), el("p", { class: "studio-said engage-bad", "data-place": `${place}.id` }));
  const context = {
    value: step, place, disabled, studio, reshape: acts.reshape,
    put: (name, next, reshape) => acts.set(step.id, (now) => put(now, name, next), reshape),
    replace: (next, reshape) => acts.set(step.id, next, reshape),
  };
  return el("section", { class: "studio-form", "aria-label": `Step ${step.id}` },
    heading, kind ? el("p", { class: "studio-help" }, inShort(kind)) : null, bar,
    el("p", { class: "studio-said engage-bad", "data-place": place }), named, fieldsOf(kind?.fields ?? [], context));
}


/** The rules that end an enrollment early. */
export function exitForm(studio, acts) {
  const { disabled } = studio;
  const rules = studio.exitOn.map((rule, number) => {
    const place = `exitOn[${number}]`;
    const context = {
      value: rule, place, disabled, studio, reshape: acts.reshape,
      put: (name, next, reshape) => acts.setExit(number, (now) => put(now, name, next), reshape),
      replace: (next, reshape) => acts.setExit(number, next, reshape),
    };
    return el("fieldset", { class: "studio-item" }, el("legend", {}, `Rule ${number + 1}`),
      el("p", { class: "studio-said engage-bad", "data-place": place }), fieldsOf([studio.exitRule], context),
      button(`Take out rule ${number + 1}`, () => acts.setExit(number, () => undefined, true), { disabled }));
  });
  const entry = fieldsOf([{ name: "entryConditions", type: "condition", label: "Who may enter", help: "Customers who do not meet it are refused.", roots: ["customer", "api", "event"] }],
    { value: { entryConditions: studio.entryConditions }, place: "", disabled, studio, reshape: acts.reshape, put: (_, next, reshape) => acts.setEntry(next, reshape) });
  return el("section", { class: "studio-form", "aria-label": "Entry and exits" },
    entry, el("h2", { class: "engage-panel-title" }, "What ends it early"),
    el("p", { class: "studio-help" }, "Whichever step a customer is at: an event ends it as soon as it is recorded, a condition if it holds before a step."),
    rules, button("Add a rule", () => acts.setExit(studio.exitOn.length, () => ({ event: "" }), true), { disabled }));
}

/** Puts each mistake and warning below the innermost field that it is about. */
export function tell(form, found) {
  const fields = [...form.querySelectorAll("[data-place]")];
  const by = new Map(fields.map((field) => [field, []]));
  for (const { place, message, kind } of found) {
    const within = fields.filter(({ dataset }) => place === dataset.place || (place.startsWith(dataset.place) && ".[".includes(place[dataset.place.length])));
    const innermost = within.reduce((best, field) => (!best || field.dataset.place.length > best.dataset.place.length ? field : best), null);
    const rest = innermost ? place.slice(innermost.dataset.place.length).replace(/^\./, "") : "";
    by.get(innermost)?.push(`${kind === "warning" ? "⚠ " : ""}${rest ? `${rest} ` : ""}${message}`);
  }
  for (const [field, messages] of by) field.textContent = messages.join(" ");
}
