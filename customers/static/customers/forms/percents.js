// Shares as people write them: in percent.
import { isNumber, shownName } from "./json.js";

/**
 * @param {string} number
 * @param {number} by
 */
const times = (number, by) => Number((Number(number) * by).toPrecision(12));

/**
 * "12.5" for 0.125; "" for what is no number.
 *
 * @param {Json} share
 */
export const percentOf = (share) => (isNumber(share) ? String(times(shownName(String(share)), 100)) : "");

/**
 * 0.125 for "12.5", "12,5" or "12.5 %"; null for what is no percentage.
 *
 * @param {string} text
 */
export function ofPercent(text) {
  const number = /^(\d+(?:[.,]\d+)?)\s*%?$/.exec(text.trim())?.[1];
  return number === undefined ? null : times(number.replace(",", "."), 0.01);
}
