// JSON that is written as it was read: numbers in their own spelling, and names in their own order.
//
// What JavaScript would change is kept behind a NUL, which no stored text can hold: 1.0 is read as "\0001.0", and a
// name such as "7", which would move to the front of its object, as "\0007".
//
// What was typed where a number should stand, and is none, is kept behind two, so that it stays there: "\0\0ten" is
// written as the text "ten".
const KEPT = "\u0000";
const UNREAD = KEPT + KEPT;
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WOULD_MOVE = /^"(?:0|[1-9]\d*)"$/;
const WRITTEN = /"\\u0000((?:[^"\\]|\\.)*)"(:)?/g;

/**
 * The value of the text. Throws SyntaxError.
 *
 * @param {string} text
 * @returns {Json}
 */
export function read(text) {
  JSON.parse(text);
  if (/(?:^|[^\\])(?:\\\\)*\\u0000/.test(text)) throw new SyntaxError("It holds a NUL, which no text can hold.");
  return JSON.parse(
    text.replace(TOKEN, (token, colon) => {
      if (token[0] !== '"') return String(Number(token)) === token ? token : `"\\u0000${token}"`;
      const name = colon === undefined ? "" : token.slice(0, -colon.length);
      return WOULD_MOVE.test(name) ? `"\\u0000${name.slice(1)}${colon}` : token;
    }),
  );
}

/**
 * The text of what was read.
 *
 * @param {Json} value
 * @param {number} [indent]
 * @returns {string}
 */
export function write(value, indent = 0) {
  const text = JSON.stringify(value, null, indent);
  return (
    text &&
    text.replace(WRITTEN, (_, kept, colon) => {
      if (colon) return `"${kept}":`;
      return kept.startsWith("\\u0000") ? `"${kept.slice(6)}"` : kept;
    })
  );
}

/**
 * The name as people know it, and back.
 *
 * @param {string} name
 */
export const shownName = (name) => name.replace(/^\0{1,2}/, "");
/** @param {string} name */
export const keptName = (name) => (WOULD_MOVE.test(`"${name}"`) ? KEPT + name : name);
/**
 * @param {Json} value
 * @returns {boolean}
 */
export const isNumber = (value) => typeof value === "number" || (typeof value === "string" && value.startsWith(KEPT));
/** @param {string} text */
export const unread = (text) => UNREAD + text;
/** @param {Json} value */
export const isUnread = (value) => typeof value === "string" && value.startsWith(UNREAD);
/** @param {Json} value */
export const holdsUnread = (value) => (JSON.stringify(value) ?? "").includes('"\\u0000\\u0000');
