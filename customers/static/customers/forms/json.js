// JSON that is written as it was read: numbers in their own spelling, and names in their own order.
//
// What JavaScript would change is kept behind a NUL, which no stored text can hold: 1.0 is read as "\0001.0", and a name
// such as "7", which would move to the front of its object, as "\0007".
const KEPT = "\u0000";
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WOULD_MOVE = /^"(?:0|[1-9]\d*)"$/;
const WRITTEN = /"\\u0000((?:[^"\\]|\\.)*)"(:)?/g;

/** The value of the text. Throws SyntaxError. */
export function read(text) {
  JSON.parse(text);
  if (/(?:^|[^\\])(?:\\\\)*\\u0000/.test(text)) throw new SyntaxError("It holds a NUL, which no text can hold.");
  return JSON.parse(text.replace(TOKEN, (token, colon) => {
    if (token[0] !== '"') return String(Number(token)) === token ? token : `"\\u0000${token}"`;
    const name = colon === undefined ? "" : token.slice(0, -colon.length);
    return WOULD_MOVE.test(name) ? `"\\u0000${name.slice(1)}${colon}` : token;
  }));
}

/** The text of what was read. */
export function write(value, indent = 0) {
  const text = JSON.stringify(value, null, indent);
  return text && text.replace(WRITTEN, (_, kept, colon) => (colon ? `"${kept}":` : kept));
}

/** The name as people know it, and back. */
export const shownName = (name) => (name.startsWith(KEPT) ? name.slice(1) : name);
export const keptName = (name) => (WOULD_MOVE.test(`"${name}"`) ? KEPT + name : name);
export const isNumber = (value) => typeof value === "number" || (typeof value === "string" && value.startsWith(KEPT));
