// Conditions as rows: a field, an operation, a value; grouped two deep. What is deeper, or of another form, is JSON.
import { button, el, holding, input, select, suggesting } from "./dom.js";
import { UNITS, parsed, written } from "./durations.js";
import { isNumber, shownName, write } from "./json.js";
import { fieldsOf, frequent } from "./names.js";
import { jsonEditor, numberInput } from "./values.js";

const DEEPEST = 2;
const OPERATIONS = [
  ["eq", "is"], ["ne", "is not"], ["gt", "is more than"], ["gte", "is at least"], ["lt", "is less than"], ["lte", "is at most"],
  ["in", "is one of"], ["not_in", "is none of"], ["contains", "contains"], ["starts_with", "begins with"], ["ends_with", "ends with"],
  ["exists", "is there"], ["not_exists", "is not there"], ["before", "is before"], ["after", "is after"],
];
const ALONE = new Set(["exists", "not_exists"]);
const SHAPES = [["test", "One test"], ["all", "All of"], ["any", "Any of"], ["not", "Not"]];
const KINDS = [["text", "text"], ["number", "number"], ["flag", "yes or no"], ["list", "list"], ["now", "from now"], ["field", "field"], ["json", "JSON"]];
const START = { text: "", number: 0, flag: true, list: [], now: { now: "-P7D" } };
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const only = (value, name) => Object.keys(value).length === 1 && name in value;

function shapeOf(value) {
  if (!isObject(value)) return "json";
  for (const name of ["all", "any"]) if (only(value, name)) return Array.isArray(value[name]) ? name : "json";
  if (only(value, "not")) return "not";
  return Object.keys(value).every((name) => ["field", "op", "value", "to"].includes(name)) ? "test" : "json";
}

/** One condition that may be missing where it is optional. */
export function conditionEditor(context) {
  const { value, set, disabled, label, optional } = context;
  if (value === undefined || value === null) {
    return disabled ? el("p", { class: "text-subtle" }, "None") : button("Add a condition", () => set({}, true), { "aria-label": `Add a condition: ${label}` });
  }
  const leave = optional ? button("No condition", () => set(undefined, true), { disabled, "aria-label": `No condition: ${label}` }) : null;
  return el("div", { class: "studio-condition" }, part({ ...context, depth: 0 }), leave);
}

function part(context) {
  const { value, disabled, label, depth } = context;
  const held = holding(value, context.set);
  const { set } = held;
  const shape = shapeOf(value);
  if (shape === "json" || depth > DEEPEST) return jsonEditor({ ...context, id: undefined });
  const shapes = depth < DEEPEST ? SHAPES : SHAPES.slice(0, 1);
  const chosen = select(shapes, shape, (next) => set(reshaped(held.now, shape, next), true), { disabled, "aria-label": `Form of ${label}`, class: "engage-input studio-shape" });
  if (shape === "test") return el("div", { class: "studio-test" }, depth < DEEPEST ? chosen : null, test(context, held));
  if (shape === "not") return el("div", { class: "studio-group" }, chosen, part({ ...context, depth: depth + 1, value: value.not, label: `not, in ${label}`, set: (inner, reshape) => set({ not: inner }, reshape) }));
  const list = value[shape];
  const put = (next, reshape) => set({ [shape]: next(held.now[shape]) }, reshape);
  const rows = list.map((inner, at) => el("div", { class: "studio-row" },
    part({ ...context, depth: depth + 1, value: inner, label: `condition ${at + 1} of ${label}`, set: (next, reshape) => put((now) => now.with(at, next), reshape) }),
    button("×", () => put((now) => now.toSpliced(at, 1), true), { disabled: disabled || list.length < 2, "aria-label": `Take out condition ${at + 1} of ${label}` })));
  return el("div", { class: "studio-group" }, chosen, rows, button("Add a condition", () => put((now) => [...now, {}], true), { disabled, "aria-label": `Add a condition to ${label}` }));
}

function reshaped(value, from, to) {
  const inner = from === "not" ? [value.not] : from === "test" ? [value] : value[from];
  if (to === "test") return inner[0] ?? {};
  return to === "not" ? { not: inner.length === 1 ? inner[0] : value } : { [to]: inner };
}

function kindOf(value) {
  if ("to" in value) return "field";
  const operand = value.value;
  if (isNumber(operand)) return "number";
  if (operand === undefined || typeof operand === "string") return "text";
  if (typeof operand === "boolean") return "flag";
  if (Array.isArray(operand)) return operand.every((one) => typeof one === "string" || isNumber(one)) ? "list" : "json";
  return isObject(operand) && only(operand, "now") ? "now" : "json";
}

function test(context, held) {
  const { value, disabled, label, about, studio } = context;
  const { set } = held;
  const fields = fieldsOf(studio, about.roots);
  const field = suggesting(fields, value.field, (name) => set({ ...held.now, field: name, ...(value.op ? {} : { op: "eq", value: "" }) }, !value.op), { disabled, "aria-label": `Field of ${label}`, placeholder: "customer.plan" });
  const op = select([...(value.op ? [] : [[undefined, "…"]]), ...OPERATIONS], value.op, (next) => set(operated(held.now, next), true), { disabled, "aria-label": `Operation of ${label}` });
  if (!value.op || ALONE.has(value.op)) return [field, op];
  const kind = kindOf(value);
  const changed = (next) => {
    const { field, op } = held.now;
    set(next === "field" ? { field, op, to: "" } : { field, op, value: next === "json" ? held.now.value ?? "" : START[next] }, true);
  };
  const kinds = select(KINDS, kind, changed, { disabled, "aria-label": `Kind of the value of ${label}`, class: "engage-input studio-kind" });
  return [field, op, kinds, operand(kind, context, held, fields)];
}

function operated(value, op) {
  const { field, to, value: operand } = value;
  if (ALONE.has(op)) return { field, op };
  if (to !== undefined) return { field, op, to };
  const wantsList = op === "in" || op === "not_in";
  if (wantsList !== Array.isArray(operand)) return { field, op, value: wantsList ? (operand ? [operand] : []) : operand?.[0] ?? "" };
  return { field, op, value: operand };
}

function operand(kind, context, held, fields) {
  const { value, disabled, label, studio } = context;
  const put = (next) => held.set({ ...held.now, value: next });
  const named = { disabled, "aria-label": `Value of ${label}` };
  if (kind === "field") return suggesting(fields, value.to, (to) => held.set({ ...held.now, to }), named);
  if (kind === "number") return numberInput(value.value, put, named);
  if (kind === "flag") return select([[true, "yes"], [false, "no"]], value.value, put, named);
  if (kind === "now") return offsetEditor({ value: value.value.now, set: (now) => put({ now: now ?? "PT0S" }), disabled, label: `Value of ${label}` });
  if (kind === "list") {
    const types = value.value.some((one) => typeof one === "string" && !isNumber(one)) || !value.value.length ? String : Number;
    const words = value.value.map((one) => shownName(String(one))).join(", ");
    return input(words, (text) => put(text.split(",").map((word) => word.trim()).filter(Boolean).map(types)), { ...named, placeholder: "one, another" });
  }
  if (kind === "json") return jsonEditor({ value: value.value, set: put, disabled, label: `Value of ${label}` });
  return suggesting(frequent(studio, value.field).map((one) => (typeof one === "string" ? one : write(one))), value.value, put, named);
}

/** A duration before or after something: a number, a unit and a side. */
export function offsetEditor({ value, set, disabled, label, id }) {
  const before = (value ?? "").startsWith("-");
  const length = parsed(before ? value.slice(1) : value);
  if (value !== undefined && !length) return input(value, (text) => set(text || undefined), { disabled, id, "aria-label": label });
  const now = { number: length?.number ?? "", unit: length?.unit ?? "D", side: before ? "-" : "" };
  const put = (more) => {
    Object.assign(now, more);
    set(/^\d+$/.test(now.number) ? now.side + written(now) : undefined);
  };
  return el("div", { class: "studio-with" },
    input(now.number, (number) => put({ number }), { disabled, id, "aria-label": `${label}: number`, inputMode: "numeric", class: "engage-input studio-number" }),
    select(UNITS, now.unit, (unit) => put({ unit }), { disabled, "aria-label": `${label}: unit` }),
    select([["-", "before"], ["", "after"]], now.side, (side) => put({ side }), { disabled, "aria-label": `${label}: before or after` }));
}
