// Numbers as people write them.
import { isNumber, read, shownName } from "./json.js";

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const COMMA = /^(-?\d+),(\d+)$/;
const UNCLEAR = /^-?[1-9]\d{0,2},\d{3}$/; // 1,000 may be 1 or 1000

/**
 * The number, in its own spelling but for a decimal comma; undefined for what is none.
 *
 * @param {string} text
 * @returns {Json}
 */
export function numberOf(text) {
  const typed = text.trim();
  const written = typed.replace(COMMA, "$1.$2").replace(/^(-?)0+(?=\d)/, "$1");
  return NUMBER.test(written) && !UNCLEAR.test(typed) ? read(written) : undefined;
}

/** @param {string} text */
export const wholeOf = (text) => (/^-?\d+$/.test(text.trim()) ? numberOf(text) : undefined);

/**
 * What stands in the input of a number: also what is none.
 *
 * @param {Json} value
 */
export const shownNumber = (value) => (isNumber(value) || typeof value === "string" ? shownName(String(value)) : "");
