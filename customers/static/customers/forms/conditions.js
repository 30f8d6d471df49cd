// Conditions as rows: a field, an operation, a value; grouped two deep. What is deeper, or of another form, is JSON.
import { button, el, holding, input, said, select, suggesting } from "./dom.js";
import { entered } from "./entered.js";
import { holdsUnread, isUnread, write } from "./json.js";
import { offsetEditor } from "./lengths.js";
import { fieldsOf, frequent, kindHad } from "./names.js";
import { START, isAlone, kindOf, listed, mayBecome, operated, reshaped, shapeOf, wordsOf } from "./shapes.js";
import { jsonEditor, numberInput } from "./values.js";

const DEEPEST = 2;
/** @type {Choice[]} */
const OPERATIONS = [
  ["eq", "is"],
  ["ne", "is not"],
  ["gt", "is more than"],
  ["gte", "is at least"],
  ["lt", "is less than"],
  ["lte", "is at most"],
  ["in", "is one of"],
  ["not_in", "is none of"],
  ["contains", "contains"],
  ["starts_with", "begins with"],
  ["ends_with", "ends with"],
  ["exists", "is there"],
  ["not_exists", "is not there"],
  ["before", "is before"],
  ["after", "is after"],
];
/** @type {Choice[]} */
const SHAPES = [
  ["test", "One test"],
  ["all", "All of"],
  ["any", "Any of"],
  ["not", "Not"],
];
/** @type {Choice[]} */
const KINDS = [
  ["text", "text"],
  ["number", "number"],
  ["flag", "yes or no"],
  ["list", "list of texts"],
  ["numbers", "list of numbers"],
  ["now", "from now"],
  ["field", "field"],
  ["json", "JSON"],
];

/**
 * One condition that may be missing where it is optional.
 *
 * @param {Context} context
 */
export function conditionEditor(context) {
  const { value, set, disabled, label, optional } = context;
  if (value === undefined || value === null) {
    return disabled
      ? el("p", { class: "text-subtle" }, "None")
      : button("Add a condition", () => set({}, true), { "aria-label": `Add a condition: ${label}` });
  }
  const leave = optional
    ? button("No condition", () => set(undefined, true), { disabled, "aria-label": `No condition: ${label}` })
    : null;
  return el("div", { class: "studio-condition" }, part({ ...context, depth: 0 }), leave);
}

/**
 * @param {Context & { depth: number }} context
 * @returns {Child}
 */
function part(context) {
  const { value, disabled, label, depth, place } = context;
  const held = holding(value, context.set);
  const { set } = held;
  const shape = shapeOf(value);
  if (shape === "json" || (shape !== "test" && depth >= DEEPEST)) return jsonEditor({ ...context, id: undefined });
  const shapes = depth < DEEPEST ? SHAPES.filter(([to]) => mayBecome(value, shape, to)) : SHAPES.slice(0, 1);
  const chosen = select(shapes, shape, (next) => set(reshaped(held.now, shape, next), true), {
    disabled,
    "aria-label": `Form of ${label}`,
    class: "engage-input studio-shape",
  });
  if (shape === "test")
    return el(
      "div",
      { class: "studio-test" },
      depth < DEEPEST ? chosen : null,
      test(context, held),
      depth ? said(place) : null,
    );
  if (shape === "not")
    return el(
      "div",
      { class: "studio-group" },
      chosen,
      part({
        ...context,
        depth: depth + 1,
        value: value.not,
        place: `${place}.not`,
        label: `not, in ${label}`,
        set: (inner, reshape) => set({ not: inner }, reshape),
      }),
    );
  /** @type {Json[]} */
  const list = value[shape];
  /**
   * @param {(now: Json[]) => Json[]} next
   * @param {boolean} [reshape]
   */
  const put = (next, reshape) => set({ [shape]: next(held.now[shape]) }, reshape);
  const rows = list.map((inner, at) =>
    el(
      "div",
      { class: "studio-row" },
      part({
        ...context,
        depth: depth + 1,
        value: inner,
        place: `${place}.${shape}[${at}]`,
        label: `condition ${at + 1} of ${label}`,
        set: (next, reshape) => put((now) => now.with(at, next), reshape),
      }),
      button("×", () => put((now) => now.toSpliced(at, 1), true), {
        disabled: disabled || list.length < 2,
        "aria-label": `Take out condition ${at + 1} of ${label}`,
      }),
    ),
  );
  return el(
    "div",
    { class: "studio-group" },
    chosen,
    rows,
    button("Add a condition", () => put((now) => [...now, {}], true), {
      disabled,
      "aria-label": `Add a condition to ${label}`,
    }),
  );
}

/**
 * @param {Context} context
 * @param {Held} held
 * @returns {Child}
 */
function test(context, held) {
  const { value, disabled, label, about, studio } = context;
  const { set } = held;
  const fields = fieldsOf(studio, about.roots);
  const isBegun = value.op && value.value !== "";
  /** @param {string} name */
  const begun = (name) => (isBegun ? {} : { op: value.op ?? "eq", value: START[kindHad(studio, name) || "text"] });
  const field = suggesting(fields, value.field, (name) => set({ ...held.now, field: name, ...begun(name) }, !isBegun), {
    disabled,
    "aria-label": `Field of ${label}`,
    placeholder: "customer.plan",
  });
  /** @type {Choice[]} */
  const none = value.op ? [] : [[undefined, "…"]];
  const op = select([...none, ...OPERATIONS], value.op, (next) => set(operated(held.now, next), true), {
    disabled,
    "aria-label": `Operation of ${label}`,
  });
  if (!value.op || isAlone(value.op)) return [field, op];
  const kind = kindOf(value, kindHad(studio, value.field));
  /** @param {string} next */
  const changed = (next) => {
    const { field, op } = held.now;
    if (isList(kind) && isList(next)) return set({ field, op, value: listed(wordsOf(held.now.value), next) }, true);
    return set(
      next === "field"
        ? { field, op, to: "" }
        : { field, op, value: next === "json" ? (held.now.value ?? "") : START[next] },
      true,
    );
  };
  const kinds = select(KINDS, kind, changed, {
    disabled,
    "aria-label": `Kind of the value of ${label}`,
    class: "engage-input studio-kind",
  });
  return [field, op, kinds, operand(kind, context, held, fields)];
}

/**
 * @param {string} kind
 * @param {Context} context
 * @param {Held} held
 * @param {string[]} fields
 * @returns {Child}
 */
function operand(kind, context, held, fields) {
  const { value, disabled, label, studio } = context;
  /** @param {Json} next */
  const put = (next) => held.set({ ...held.now, value: next });
  const named = { disabled, "aria-label": `Value of ${label}` };
  if (kind === "field") return suggesting(fields, value.to, (to) => held.set({ ...held.now, to }), named);
  if (kind === "number") return numberInput(value.value, put, named);
  if (kind === "flag")
    return select(
      [
        [true, "yes"],
        [false, "no"],
      ],
      value.value,
      put,
      named,
    );
  if (kind === "now")
    return offsetEditor({ value: value.value.now, set: (now) => put({ now }), disabled, label: `Value of ${label}` });
  if (kind === "list")
    return input(wordsOf(value.value), (words) => put(listed(words, "list")), {
      ...named,
      placeholder: "one, another",
    });
  if (kind === "numbers") return numbersInput(value.value, put, named);
  if (kind === "json") return jsonEditor({ value: value.value, set: put, disabled, label: `Value of ${label}` });
  return suggesting(
    frequent(studio, value.field).map((one) => (typeof one === "string" ? one : write(one))),
    value.value,
    put,
    named,
  );
}

/** @param {string} kind */
const isList = (kind) => kind === "list" || kind === "numbers";

/**
 * @param {Json} value
 * @param {Put} set
 * @param {Properties} more
 */
const numbersInput = (value, set, more) =>
  entered(wordsOf(value), (words) => set(listed(words, "numbers")), {
    whyNot: (words) => (isUnread(listed(words, "numbers")) ? "This is no list of numbers. One is 200, 201." : ""),
    told: holdsUnread(value),
    placeholder: "200, 201",
    ...more,
  });
