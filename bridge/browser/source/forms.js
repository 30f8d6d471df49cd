/* What a page and a frame in it do alike with buttons and forms. */

/* A form's fields hide what the form itself has: a field called "elements", say, its elements. */
export const of = (element, name) =>
  Reflect.get(element instanceof HTMLFormElement ? HTMLFormElement.prototype : element, name, element);
export const ask = (element, name, ...given) => of(element, name)?.apply(element, given);

export const listen = (target, handlers, capture) => {
  for (const name in handlers) ask(target, "addEventListener", name, handlers[name], capture);
  return () => {
    for (const name in handlers) ask(target, "removeEventListener", name, handlers[name], capture);
  };
};

export const buttonOf = ({ target }) => ask(target, "closest", "[data-engage-action]");

/* A form's fields, as a frame can post them: all values, and the names that stand for lists. */
export const held = (form, button) =>
  form && [
    [...new FormData(form, button)],
    [...of(form, "elements")].flatMap(({ name, multiple, type }) =>
      multiple ? [name, name] : type === "checkbox" ? name : [],
    ),
  ];
export const heldAround = (button) => held(of(button, "form") ?? ask(button, "closest", "form"));

/* Twice within 400 ms is once, whichever message the element is in meanwhile. */
const last = new WeakMap();
export const isFirst = (element) => {
  const now = Date.now(),
    before = last.get(element) ?? 0;
  last.set(element, now);
  return now - before >= 400;
};
