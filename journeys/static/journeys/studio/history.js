// What was, what is, and what was undone: values that are never changed.
const MOST = 50;

/** @typedef {{ past: Definition[], now: Definition, future: Definition[] }} History */

/**
 * @param {Definition} now
 * @returns {History}
 */
export const begun = (now) => ({ past: [], now, future: [] });

/**
 * @param {History} history
 * @param {Definition} next
 * @returns {History}
 */
export function done(history, next) {
  if (next === history.now) return history;
  return { past: [...history.past, history.now].slice(-MOST), now: next, future: [] };
}

/**
 * @param {History} history
 * @returns {History}
 */
export function undone({ past, now, future }) {
  if (!past.length) return { past, now, future };
  return { past: past.slice(0, -1), now: past[past.length - 1], future: [now, ...future] };
}

/**
 * @param {History} history
 * @returns {History}
 */
export function redone({ past, now, future }) {
  if (!future.length) return { past, now, future };
  return { past: [...past, now], now: future[0], future: future.slice(1) };
}
