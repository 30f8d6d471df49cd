// ISO 8601 durations as people write them: a number and a unit.
/** @type {Choice[]} */
export const UNITS = [
  ["S", "seconds"],
  ["M", "minutes"],
  ["H", "hours"],
  ["D", "days"],
  ["W", "weeks"],
];

/**
 * {number, unit}; null where it takes several units, or none.
 *
 * @param {string} text
 */
export function parsed(text) {
  const found = /^P(?:(\d+(?:[.,]\d+)?)([DW])|T(\d+(?:[.,]\d+)?)([HMS]))$/.exec(text ?? "");
  if (!found) return null;
  const [, days, of, times, unit] = found;
  return { number: days ?? times, unit: of ?? unit };
}

/** @param {{ number: string, unit: string }} length */
export const written = ({ number, unit }) => ("DW".includes(unit) ? `P${number}${unit}` : `PT${number}${unit}`);
