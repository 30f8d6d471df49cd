// Editors of written values: JSON whose texts are templates, and which may hold {"$value": "name"}.
import { button, el, holding, input, select, suggesting } from "./dom.js";
import { entered, readInput, refused } from "./entered.js";
import { isNumber, keptName, read, shownName, write } from "./json.js";
import { valuesOf } from "./names.js";
import { numberOf } from "./numbers.js";

/** @type {Choice[]} */
const KINDS = [
  ["text", "Text"],
  ["value", "Value of"],
  ["number", "Number"],
  ["flag", "Yes or no"],
  ["null", "Nothing"],
  ["json", "JSON"],
];
/** @type {Record<string, Json>} */
const START = { text: "", value: { $value: "" }, number: 0, flag: true, null: null, json: {} };
/**
 * @param {Json} value
 * @returns {boolean}
 */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * @param {Json} value
 * @returns {string}
 */
function kindOf(value) {
  if (value === null) return "null";
  if (isNumber(value)) return "number";
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "flag";
  return isObject(value) &&
    typeof value.$value === "string" &&
    Object.keys(value).every((name) => name === "$value" || name === "default")
    ? "value"
    : "json";
}

/**
 * A text with the names that it may put in.
 *
 * @param {Context} context
 */
export function textEditor(context) {
  const { value, set, disabled, label, id } = context;
  const area = el("textarea", {
    id,
    class: "engage-input studio-text",
    rows: 1,
    disabled,
    "aria-label": id ? null : label,
    spellcheck: false,
  });
  area.value = typeof value === "string" ? value : value === undefined ? "" : write(value);
  area.addEventListener("change", () => set(area.value === "" && context.optional ? undefined : area.value));
  /** @type {Choice[]} */
  const names = [["", "Put in…"], ...valuesOf(context.studio).map((name) => /** @type {Choice} */ ([name, name]))];
  const picker = select(
    names,
    "",
    (name) => {
      area.setRangeText(`{{ ${name} }}`, area.selectionStart, area.selectionEnd, "end");
      picker.value = "0";
      area.focus();
      set(area.value);
    },
    { disabled, "aria-label": `Put a value into ${label}`, class: "engage-input studio-pick" },
  );
  return el("div", { class: "studio-with" }, area, picker, previewOf(area, context.studio));
}

/**
 * What the text comes to for the customer whom the page names, if one is named.
 *
 * @param {HTMLTextAreaElement} area
 * @param {Studio} studio
 */
function previewOf(area, studio) {
  const shown = el("output", { class: "studio-preview", hidden: true });
  const show = async () => {
    if (!studio.previewFor || !studio.preview || !/\{[{%]/.test(area.value)) return;
    shown.textContent = await studio.preview(area.value);
    shown.hidden = false;
  };
  area.addEventListener("change", show);
  show();
  return shown;
}

/** @param {Written} context */
export function jsonEditor({ value, set, disabled, label, id }) {
  const area = el("textarea", {
    id,
    class: "engage-input engage-json studio-json",
    disabled,
    "aria-label": id ? null : `${label} as JSON`,
    spellcheck: false,
  });
  area.value = value === undefined ? "" : write(value, 2);
  const said = el("p", { class: "engage-bad", role: "status" });
  area.addEventListener("change", () => {
    try {
      set(area.value.trim() ? read(area.value) : undefined);
      refused(area, said, "");
    } catch (error) {
      refused(area, said, `This is no JSON: ${/** @type {Error} */ (error).message}`);
    }
  });
  return el("div", {}, area, said);
}

/**
 * A number as it is written, such as 1.0.
 *
 * @param {Json} value
 * @param {Put} set
 * @param {Properties & { optional?: boolean }} more
 */
export const numberInput = (value, set, more) =>
  readInput(value, set, {
    of: numberOf,
    why: "This is no number. One is 99.5, or 1000.",
    inputMode: "decimal",
    ...more,
  });

/**
 * One value of any kind.
 *
 * @param {Context} context
 */
export function valueEditor(context) {
  const { value, set, disabled, label } = context;
  const kind = kindOf(value);
  const chosen = select(KINDS, kind, (next) => set(START[next], true), {
    disabled,
    "aria-label": `Kind of ${label}`,
    class: "engage-input studio-kind",
  });
  return el("div", { class: "studio-value" }, chosen, ofKind(kind, context));
}

/**
 * @param {string} kind
 * @param {Context} context
 */
function ofKind(kind, context) {
  const { value, set, disabled, label } = context;
  const named = { disabled, "aria-label": label };
  if (kind === "number") return numberInput(value, set, named);
  if (kind === "flag")
    return select(
      [
        [true, "yes"],
        [false, "no"],
      ],
      value,
      set,
      named,
    );
  if (kind === "value")
    return suggesting(valuesOf(context.studio), value.$value, (name) => set({ ...value, $value: name }), named);
  if (kind === "json") return jsonEditor({ ...context, id: undefined });
  return kind === "text" ? textEditor({ ...context, id: undefined, optional: false }) : null;
}

/**
 * Names and values. `editor` is that of a value, `start` what a new one is.
 *
 * @param {Context} context
 * @param {(context: Context) => Child} [editor]
 * @param {Json} [start]
 */
export function membersEditor(context, editor = valueEditor, start = "") {
  const { set, disabled, label } = context;
  const value = context.value ?? {};
  if (!isObject(value)) return jsonEditor(context);
  const entries = Object.entries(value);
  const held = holding(entries, (next, reshape) =>
    set(next.length || !context.optional ? Object.fromEntries(next) : undefined, reshape),
  );
  /**
   * @param {string} name
   * @param {string} to
   */
  const whyNot = (name, to) => {
    if (to && (to === shownName(name) || !Object.hasOwn(value, keptName(to)))) return "";
    return `${to ? "There is one of this name already" : "It needs a name"}. It stays ${shownName(name)}.`;
  };
  const rows = entries.map(([name, inner], at) =>
    el(
      "div",
      { class: "studio-member" },
      el(
        "div",
        {},
        entered(
          shownName(name),
          (to) => !whyNot(name, to) && held.set(held.now.with(at, [keptName(to), held.now[at][1]]), true),
          { whyNot: (to) => whyNot(name, to), disabled, "aria-label": `Name ${at + 1} in ${label}` },
        ),
      ),
      editor({
        ...context,
        id: undefined,
        value: inner,
        label: `${label} ${shownName(name)}`,
        set: (next, reshape) => held.set(held.now.with(at, [name, next === undefined ? start : next]), reshape),
      }),
      button("×", () => held.set(held.now.toSpliced(at, 1), true), {
        disabled,
        "aria-label": `Take ${shownName(name)} out of ${label}`,
      }),
    ),
  );
  const add = button("Add", () => held.set([...held.now, [free(value), start]], true), {
    disabled,
    "aria-label": `Add to ${label}`,
  });
  return el("div", { class: "studio-members" }, rows, add);
}

/** @param {object} value */
function free(value) {
  let number = 1;
  while (Object.hasOwn(value, `name${number}`)) number += 1;
  return `name${number}`;
}

/**
 * A body: names and values, or any other JSON.
 *
 * @param {Context} context
 */
export function bodyEditor(context) {
  const { value, disabled, label } = context;
  const plain = isObject(value) && !("$value" in value);
  const asJson = context.studio.asJson.has(context.place) || !plain;
  const shown = select(
    [
      [false, "Names and values"],
      [true, "JSON"],
    ],
    asJson,
    (json) => {
      context.studio.asJson[json ? "add" : "delete"](context.place);
      context.reshape?.();
    },
    { disabled: disabled || !plain, "aria-label": `How ${label} is shown` },
  );
  return el("div", {}, shown, asJson ? jsonEditor(context) : membersEditor({ ...context, optional: false }));
}

/**
 * Secrets by name: texts, of which *** is what is stored.
 *
 * @param {Context} context
 */
export const headersEditor = (context) =>
  membersEditor(context, ({ value, set, disabled, label }) =>
    input(typeof value === "string" ? value : write(value), set, { disabled, "aria-label": label }),
  );

/** Paths by name. */
export const pathsEditor = headersEditor;
