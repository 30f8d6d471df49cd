// What a condition is as rows, and what becomes of it when a row is changed. All of it is pure.
import { isNumber, isUnread, shownName, unread } from "./json.js";
import { numberOf } from "./numbers.js";

const ALONE = new Set(["exists", "not_exists"]);
const LISTS = new Set(["in", "not_in"]);
/** @type {Record<string, Json>} */
export const START = { text: "", number: 0, flag: true, list: [], numbers: [0], now: { now: "-P7D" } };
/**
 * @param {Json} value
 * @returns {boolean}
 */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
/**
 * @param {Json} value
 * @param {string} name
 */
const only = (value, name) => Object.keys(value).length === 1 && name in value;

/**
 * "test", "all", "any" or "not"; "json" for what rows cannot show.
 *
 * @param {Json} value
 * @returns {string}
 */
export function shapeOf(value) {
  if (!isObject(value)) return "json";
  for (const name of ["all", "any"]) if (only(value, name)) return Array.isArray(value[name]) ? name : "json";
  if (only(value, "not")) return "not";
  const texts = ["field", "op", "to"].every((name) => value[name] === undefined || typeof value[name] === "string");
  return texts && Object.keys(value).every((name) => ["field", "op", "value", "to"].includes(name)) ? "test" : "json";
}

/**
 * @param {Json} value
 * @param {string} shape
 * @returns {Json[]}
 */
const within = (value, shape) => (shape === "not" ? [value.not] : shape === "test" ? [value] : value[shape]);

/**
 * Whether it can be of the shape without losing anything: one test is not several.
 *
 * @param {Json} value
 * @param {string} from
 * @param {string} to
 */
export const mayBecome = (value, from, to) => to !== "test" || within(value, from).length < 2;

/**
 * @param {Json} value
 * @param {string} from
 * @param {string} to
 */
export function reshaped(value, from, to) {
  const inner = within(value, from);
  if (to === "test") return inner[0] ?? {};
  return to === "not" ? { not: inner.length === 1 ? inner[0] : value } : { [to]: inner };
}

/**
 * The kind of what a test compares with; "json" for what a row cannot show whole. `known` is that of the field's
 * values, if it is known: an empty list has no kind of its own.
 *
 * @param {Json} value
 * @param {string} [known]
 * @returns {string}
 */
export function kindOf(value, known = "") {
  if ("to" in value) return "field";
  const operand = value.value;
  if (isNumber(operand)) return isUnread(operand) && LISTS.has(value.op) ? "numbers" : "number";
  if (operand === undefined || typeof operand === "string") return /[\r\n]/.test(operand ?? "") ? "json" : "text";
  if (typeof operand === "boolean") return "flag";
  if (Array.isArray(operand)) return kindOfList(operand, known);
  return isObject(operand) && only(operand, "now") && typeof operand.now === "string" ? "now" : "json";
}

/**
 * @param {Json[]} list
 * @param {string} known
 */
function kindOfList(list, known) {
  if (list.length ? list.every(isNumber) : known === "number") return "numbers";
  const again = listed(wordsOf(list), "list");
  return again.length === list.length && list.every((one, at) => one === again[at]) ? "list" : "json";
}

/**
 * @param {Json} list
 * @returns {string}
 */
export const wordsOf = (list) =>
  Array.isArray(list) ? list.map((one) => shownName(String(one))).join(", ") : shownName(String(list));

/**
 * The words between commas, as texts or as numbers; what is no list of numbers stays as it was typed.
 *
 * @param {string} words
 * @param {string} kind
 * @returns {Json}
 */
export function listed(words, kind) {
  const found = words
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
  if (kind === "list") return found;
  const numbers = found.map(numberOf);
  return found.length && !numbers.includes(undefined) ? numbers : unread(words);
}

/**
 * The test with another operation, and as much of its value as that can have.
 *
 * @param {Json} value
 * @param {string} op
 * @returns {Json}
 */
export function operated(value, op) {
  const { field, to, value: operand } = value;
  if (ALONE.has(op)) return { field, op };
  if (to !== undefined) return { field, op, to };
  const wantsList = LISTS.has(op);
  if (wantsList === Array.isArray(operand)) return { field, op, value: operand ?? "" };
  if (wantsList) return { field, op, value: operand === undefined || operand === "" ? [] : [operand] };
  return { field, op, value: operand.length ? operand[0] : "" };
}

/** @param {string} op */
export const isAlone = (op) => ALONE.has(op);
