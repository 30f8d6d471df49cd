// Lengths of time, as a number and a unit, and those before or after something. What takes several units is a text.
import { el, input, select } from "./dom.js";
import { UNITS, parsed, written } from "./durations.js";
import { entered } from "./entered.js";
import { write } from "./json.js";

const NUMBER = /^\d+([.,]\d+)?$/;
const ISO_OR_TEMPLATE = /^-?P|\{/;
/** @type {Choice[]} */
const SIDES = [
  ["-", "before"],
  ["", "after"],
];

/** @param {Written} context */
export const durationEditor = (context) => lengthEditor(context);

/**
 * A duration before or after something: a number, a unit and a side.
 *
 * @param {Written} context
 */
export const offsetEditor = (context) => lengthEditor(context, SIDES);

/**
 * @param {Written} context
 * @param {Choice[]} [sides]
 */
function lengthEditor({ value, set, disabled, label, id, optional }, sides) {
  const text = typeof value === "string" ? value : value ? write(value) : "";
  const isBefore = sides && text.startsWith("-");
  const length = parsed(isBefore ? text.slice(1) : text);
  if (!length && ISO_OR_TEMPLATE.test(text))
    return input(text, (next) => set(next || !optional ? next : undefined), {
      disabled,
      id,
      "aria-label": sides ? label : null,
    });
  const now = { number: length?.number ?? text, unit: length?.unit ?? "D", side: length && isBefore ? "-" : "" };
  /** @param {{ number?: string, unit?: string, side?: string }} more */
  const put = (more) => {
    Object.assign(now, more);
    const number = now.number.trim();
    if (NUMBER.test(number)) set(now.side + written({ ...now, number: number.replace(",", ".") }));
    else set(number || !optional ? number : undefined);
  };
  /** @param {string} number */
  const whyNot = (number) =>
    NUMBER.test(number.trim()) || (optional && !number.trim())
      ? ""
      : "This is no number such as 3. Its unit stands beside it.";
  return el(
    "div",
    { class: "studio-with" },
    entered(now.number, (number) => put({ number }), {
      whyNot,
      told: !length && value !== undefined,
      disabled,
      id,
      "aria-label": sides ? `${label}: number` : null,
      inputMode: "numeric",
      class: "engage-input studio-number",
    }),
    select(UNITS, now.unit, (unit) => put({ unit }), { disabled, "aria-label": `${label}: unit` }),
    sides
      ? select(sides, now.side, (side) => put({ side }), { disabled, "aria-label": `${label}: before or after` })
      : null,
  );
}
