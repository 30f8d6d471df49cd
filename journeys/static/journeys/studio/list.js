// The steps as a list, each with its ways: all that the drawing can do, for keyboards and screen readers.
import { button, el, icon } from "../../customers/forms/dom.js";
import { ENTRY } from "./model.js";

/** @type {WeakMap<Element, Listed>} */
const kept = new WeakMap(); // by the place: the list in it, and by step its item and what that shows

/**
 * Brings the list in the place up to date: of many steps only those that look otherwise now are made anew.
 *
 * @param {Element} place
 * @param {Page} studio
 * @param {Acts} acts
 */
export function listInto(place, studio, acts) {
  const { steps } = studio;
  const slots = studio.model.slotsOf(studio);
  const own = kept.get(place) ?? begun(place, studio, acts);
  own.items = new Map(
    steps.map((step) => {
      const chosen = step.id === studio.chosen;
      const shown = JSON.stringify([
        step.type,
        studio.wordsOf(step),
        studio.waysOf(step),
        studio.foundAt(step.id),
        slots.get(step.id),
        chosen,
      ]);
      const before = own.items.get(step.id);
      return [
        step.id,
        before?.shown === shown
          ? before
          : { shown, item: itemFor(step, slots.get(step.id) ?? [], chosen, studio, acts) },
      ];
    }),
  );
  const items = new Set([...own.items.values()].map(({ item }) => item));
  for (const one of [...own.list.children]) if (!items.has(one)) one.remove();
  [...items].forEach(
    (item, at) => own.list.children[at] === item || own.list.insertBefore(item, own.list.children[at] ?? null),
  );
  own.empty.hidden = steps.length > 0;
}

/**
 * @param {Element} place
 * @param {Page} studio
 * @param {Acts} acts
 */
function begun(place, studio, acts) {
  const entry = el(
    "div",
    { class: "studio-way" },
    el("span", {}, "Customers enter"),
    plus({ from: ENTRY, path: null }, "at the beginning", studio, acts),
  );
  const list = el("ol", { class: "studio-list" });
  const empty = el(
    "p",
    { class: "text-subtle" },
    studio.disabled ? "It has no steps." : "It has no steps yet. Add one, or begin with a template.",
  );
  place.replaceChildren(entry, list, empty);
  const own = { list, empty, items: new Map() };
  kept.set(place, own);
  return own;
}

/**
 * @param {Step} step
 * @param {Slot[]} slots
 * @param {boolean} chosen
 * @param {Page} studio
 * @param {Acts} acts
 */
function itemFor(step, slots, chosen, studio, acts) {
  return el(
    "li",
    { class: chosen ? "chosen" : "" },
    itemOf(step, studio, acts),
    slots.map((slot, at) => wayOf(step, slot, at, slots.length, studio, acts)),
  );
}

/**
 * @param {Step} step
 * @param {Page} studio
 * @param {Acts} acts
 */
function itemOf(step, studio, acts) {
  const kind = studio.model.byType.get(step.type);
  const found = studio.foundAt(step.id);
  const mistakes = found.filter((one) => one.kind !== "warning").length;
  const warnings = found.length - mistakes;
  const badges = [
    mistakes > 0 && el("span", { class: "engage-bad" }, counted(mistakes, "mistake")),
    warnings > 0 && el("span", { class: "studio-warning" }, `⚠ ${counted(warnings, "warning")}`),
  ];
  const made = el(
    "button",
    {
      type: "button",
      class: "studio-step",
      "data-step": step.id,
      "aria-current": step.id === studio.chosen ? "true" : null,
      draggable: !studio.disabled,
      click: () => acts.choose(step.id, true),
      keydown: (event) => keys(event, step.id, acts, studio.disabled),
      dragstart: (event) => event.dataTransfer.setData("text/x-step", step.id),
      dragover: (event) => studio.disabled || event.preventDefault(),
      drop: (event) => acts.dropped(event.dataTransfer.getData("text/x-step"), step.id),
    },
    icon(kind?.icon ?? "help"),
    el("span", { class: "studio-words" }, el("strong", {}, step.id), el("span", {}, studio.wordsOf(step)), badges),
  );
  return made;
}

/**
 * @param {number} number
 * @param {string} what
 */
export const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

/**
 * @param {Step} step
 * @param {Slot} slot
 * @param {number} at
 * @param {number} number
 * @param {Page} studio
 * @param {Acts} acts
 */
function wayOf(step, slot, at, number, studio, acts) {
  const label = number > 1 ? studio.waysOf(step)[at] || slot.label : "";
  const to = slot.target === null ? "the end" : (slot.target ?? "nowhere");
  const way = { from: step.id, path: slot.path };
  return el(
    "div",
    { class: "studio-way" },
    el("span", {}, `${label ? `${label} ` : ""}→ ${to}`),
    plus(way, `after ${step.id}${label ? `, ${slot.label}` : ""}`, studio, acts),
  );
}

/**
 * @param {Way} way
 * @param {string} where
 * @param {Page} studio
 * @param {Acts} acts
 */
function plus(way, where, studio, acts) {
  if (studio.disabled) return null;
  return button("+", () => acts.add(way), {
    class: "studio-plus",
    "aria-label": `Add a step ${where}`,
    "data-way": `${way.from} ${way.path ?? ""}`.trim(),
    dragover: (event) => event.preventDefault(),
    drop: (event) => acts.movedTo(event.dataTransfer.getData("text/x-step"), way),
  });
}

/** @type {Record<string, "up" | "down" | "remove" | "duplicate">} */
const BY_KEY = { "Alt+ArrowUp": "up", "Alt+ArrowDown": "down", Delete: "remove", "Control+d": "duplicate" };

/**
 * @param {KeyboardEvent} event
 * @param {string} id
 * @param {Acts} acts
 * @param {boolean} disabled
 */
function keys(event, id, acts, disabled) {
  const act = BY_KEY[`${event.altKey ? "Alt+" : ""}${event.ctrlKey || event.metaKey ? "Control+" : ""}${event.key}`];
  if (!act || disabled) return;
  event.preventDefault();
  acts[act](id);
}

/**
 * Its first sentence: the others tell how it is written.
 *
 * @param {Kind} kind
 */
export const inShort = ({ does }) => does.split(/(?<=\.) /)[0];

/**
 * Asks for the kind of a new step.
 *
 * @param {Kind[]} kinds
 * @param {(type: string) => void} choose
 */
export function menuOf(kinds, choose) {
  const dialog = el("dialog", { class: "studio-menu", "aria-label": "What kind of step?" });
  const close = () => dialog.close();
  dialog.append(
    el("h2", { class: "engage-panel-title" }, "What kind of step?"),
    el(
      "ul",
      {},
      kinds.map((kind) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "studio-kind-choice",
              click: () => {
                close();
                choose(kind.type);
              },
            },
            icon(kind.icon),
            el("span", { class: "studio-words" }, el("strong", {}, kind.title), el("span", {}, inShort(kind))),
          ),
        ),
      ),
    ),
    button("Cancel", close),
  );
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}
