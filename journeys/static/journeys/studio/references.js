// Where what a step kept is read: in templates, in $values and in the fields of conditions. All else is text.
const TEMPLATE = /\{%-?\s*raw\s*-?%\}[\s\S]*?\{%-?\s*endraw\s*-?%\}|\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
const RAW = /^\{%-?\s*raw\b/;
/**
 * @param {Json} value
 * @returns {boolean}
 */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * The value, in which what the step kept is read by another id of it.
 *
 * @param {Json} value
 * @param {string} id
 * @param {string} to
 * @returns {Json}
 */
export function renamedIn(value, id, to) {
  const own = id.replaceAll("-", "\\-"); // ids have letters, digits, - and _
  const word = `"[^"]*"|'[^']*'`;
  const path = new RegExp(
    `((?<![\\w\\]-]|\\.\\s*)steps\\s*(?:\\.\\s*(?=${own}(?![\\w-]))|\\[\\s*["'](?=${own}["']\\s*\\])))${own}|${word}`,
    "g",
  );
  /** @param {string} text */
  const inExpression = (text) => text.replace(path, (whole, before) => (before === undefined ? whole : before + to));
  /** @param {Json} text */
  const inField = (text) =>
    typeof text === "string" && text.startsWith(`steps.${id}.`)
      ? `steps.${to}${text.slice(`steps.${id}`.length)}`
      : text;
  /**
   * @param {Json} inner
   * @param {string} name
   * @param {Json} owner
   * @returns {Json}
   */
  const within = (inner, name, owner) => {
    if (name === "$value" && typeof inner === "string") return inExpression(inner);
    return (name === "field" || name === "to") && owner.op !== undefined ? inField(inner) : changed(inner);
  };
  /**
   * @param {Json} inner
   * @returns {Json}
   */
  const changed = (inner) => {
    if (typeof inner === "string")
      return inner.replace(TEMPLATE, (part) => (RAW.test(part) ? part : inExpression(part)));
    if (Array.isArray(inner)) return inner.map(changed);
    return isObject(inner)
      ? Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, within(one, name, inner)]))
      : inner;
  };
  return changed(value);
}
