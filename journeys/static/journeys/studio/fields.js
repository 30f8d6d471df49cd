// A form made from what a step's kind says of its fields: {name, type, label, help, required, …}.
import { conditionEditor } from "../../customers/forms/conditions.js";
import { button, el, holding, input, newId, said, select, suggesting } from "../../customers/forms/dom.js";
import { readInput } from "../../customers/forms/entered.js";
import { shownName } from "../../customers/forms/json.js";
import { durationEditor, offsetEditor } from "../../customers/forms/lengths.js";
import { wholeOf } from "../../customers/forms/numbers.js";
import { ofPercent, percentOf } from "../../customers/forms/percents.js";
import {
  bodyEditor,
  headersEditor,
  jsonEditor,
  membersEditor,
  numberInput,
  pathsEditor,
  textEditor,
} from "../../customers/forms/values.js";

/** @type {Record<string, string>} */
const DAYS = {
  mo: "Monday",
  tu: "Tuesday",
  we: "Wednesday",
  th: "Thursday",
  fr: "Friday",
  sa: "Saturday",
  su: "Sunday",
};
/**
 * @param {Json} value
 * @returns {boolean}
 */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/**
 * The fields of an object. The context has {value, place, put(name, value, reshape), disabled, studio}; each editor is
 * given {value, set(value, reshape), label, id, place, about, optional, disabled, studio, reshape}.
 *
 * @param {About[]} fields
 * @param {Around} context
 * @returns {Child}
 */
export function fieldsOf(fields, context) {
  return fields.map((about) => (about.type === "variants" ? variants(about, context) : fieldOf(about, context)));
}

/**
 * @param {About} about
 * @param {Around} context
 */
function fieldOf(about, context) {
  const id = newId();
  const { one, told } = editorOf(about, { ...context, id });
  const help = about.help ? el("p", { class: "studio-help" }, about.help) : null;
  if (GROUPS.has(about.type))
    return el("fieldset", { class: "studio-field" }, el("legend", {}, about.label), help, one, told);
  return el("div", { class: "studio-field" }, el("label", { htmlFor: id }, about.label), one, help, told);
}

/**
 * The field's editor without its label, and where it is told what is wrong.
 *
 * @param {About} about
 * @param {Around} context
 */
export function editorOf(about, { value, put, studio, disabled, reshape, place: within, id }) {
  const place = within ? `${within}.${about.name}` : about.name;
  const one = EDITORS[about.type]({
    about,
    id,
    place,
    disabled,
    studio,
    reshape,
    label: about.label,
    optional: !about.required && !("start" in about),
    value: value[about.name],
    set: (next, again) => put(about.name, next, again),
    owner: value,
  });
  return { one, told: said(place) };
}

/**
 * Which of several sets of fields stands there.
 *
 * @param {About} about
 * @param {Around} context
 */
function variants(about, context) {
  const { value, disabled } = context;
  const names = about.variants.map(({ name }) => name);
  const chosen = names.find((name) => value[name] !== undefined && value[name] !== null);
  /** @type {Choice[]} */
  const none = about.otherwise || !chosen ? [[undefined, about.otherwise || "…"]] : [];
  const all = about.variants.flatMap(({ fields }) => fields.map(({ name }) => name));
  /** @type {Choice[]} */
  const options = [...none, ...about.variants.map(({ name, label }) => /** @type {Choice} */ ([name, label]))];
  /** @param {string} name */
  const change = (name) => {
    const fields = about.variants.find((one) => one.name === name)?.fields ?? [];
    const start = fields.filter((field) => "start" in field).map((field) => [field.name, field.start]);
    context.replace?.(
      (now) => Object.fromEntries([...Object.entries(now).filter(([key]) => !all.includes(key)), ...start]),
      true,
    );
  };
  const id = newId();
  const fields = about.variants.find(({ name }) => name === chosen)?.fields ?? [];
  return el(
    "div",
    { class: "studio-variants" },
    el(
      "div",
      { class: "studio-field" },
      el("label", { htmlFor: id }, about.label),
      select(options, chosen, change, { id, disabled }),
    ),
    fieldsOf(fields, context),
  );
}

/** @param {Context} context */
function zone({ value, set, disabled, id, label, optional, studio }) {
  const zones = Intl.supportedValuesOf ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : ["UTC"];
  const own = isObject(value);
  const held = holding(value, set);
  /** @type {Choice[]} */
  const options = [
    [false, "Of a place"],
    [true, "Of the customer"],
  ];
  const how = select(
    options,
    own,
    (by) => set(by ? { from: "customer.timezone", else: value || "UTC" } : (value.else ?? "UTC"), true),
    { disabled, "aria-label": `${label}: whose` },
  );
  const place = suggesting(
    zones,
    own ? value.else : value,
    (name) => held.set(own ? { ...held.now, else: name } : name || (optional ? undefined : "")),
    { disabled, id },
  );
  if (!own) return el("div", { class: "studio-with" }, how, place);
  const names = studio.suggestions.attributes.map(({ name }) => `customer.${name}`);
  return el(
    "div",
    { class: "studio-with" },
    how,
    suggesting(names, value.from, (from) => held.set({ ...held.now, from }), {
      disabled,
      "aria-label": `${label}: field`,
    }),
    el("span", {}, "else"),
    place,
  );
}

/** @param {Context} context */
function days({ value, set, disabled, about }) {
  const chosen = Array.isArray(value) ? value : [];
  const boxes = about.choices.map((day) =>
    el(
      "label",
      { class: "studio-day" },
      el("input", {
        type: "checkbox",
        checked: chosen.includes(day),
        disabled,
        change: ({ target }) => {
          const at = chosen.indexOf(day);
          if (target.checked) chosen.push(day);
          else if (at >= 0) chosen.splice(at, 1);
          set(chosen.length ? about.choices.filter((one) => chosen.includes(one)) : undefined);
        },
      }),
      DAYS[day] ?? day,
    ),
  );
  return el("div", { class: "studio-days" }, boxes);
}

/** @param {Context} context */
function step({ value, set, disabled, id, studio, owner, optional }) {
  const steps = studio.steps.filter((one) => one !== owner && one.id !== studio.chosen);
  /** @type {Choice[]} */
  const next = optional ? [[undefined, "The step after it"]] : [];
  /** @type {Choice[]} */
  const named = steps.map((one) => [one.id, `${one.id}: ${studio.wordsOf?.(one)}`.slice(0, 60)]);
  /** @type {Choice[]} */
  const own = value === studio.chosen ? [[value, `${value} (itself)`]] : [];
  return select([...next, [null, "The end"], ...named, ...own], value, (to) => set(to, false), { id, disabled });
}

/** @param {Context} context */
function inAppStep({ value, set, disabled, id, studio }) {
  /** @type {Choice[]} */
  const shown = studio.steps.filter(({ type }) => type === "in_app").map((one) => [one.id, one.id]);
  return select([[undefined, "Any message"], ...shown], value ?? undefined, (to) => set(to), { id, disabled });
}

/** @param {Context} context */
function list(context) {
  const { value, set, about, disabled } = context;
  if (!Array.isArray(value)) return jsonEditor(context);
  const total = about.fields.some(({ type }) => type === "weight")
    ? value.reduce((sum, { weight }) => sum + (Number(weight) || 0), 0)
    : 0;
  const held = holding(value, set);
  const start = () =>
    about.begins ??
    Object.fromEntries(about.fields.map((field) => [field.name, field.type === "step" ? null : field.start]));
  const items = value.map((item, at) =>
    el(
      "fieldset",
      { class: "studio-item" },
      el(
        "legend",
        {},
        `${about.item} ${at + 1}`,
        total ? ` (${((100 * Number(item.weight)) / total).toPrecision(3)} %)` : "",
      ),
      objectEditor({
        ...context,
        id: undefined,
        about,
        value: item,
        place: `${context.place}[${at}]`,
        label: `${about.item} ${at + 1}`,
        set: (next, again) => held.set(held.now.with(at, next ?? {}), again),
      }),
      said(`${context.place}[${at}]`),
      button(`Take out ${about.item} ${at + 1}`, () => held.set(held.now.toSpliced(at, 1), true), {
        disabled: disabled || value.length <= about.least,
      }),
    ),
  );
  const add = button(`Add a ${about.item}`, () => held.set([...held.now, start()], true), {
    disabled: disabled || value.length >= about.most,
  });
  return el("div", {}, items, add);
}

/**
 * An object by its fields; other names are left in it, and told.
 *
 * @param {Context} context
 */
function objectEditor(context) {
  const { about, set } = context;
  const value = context.value ?? {};
  if (!isObject(value)) return jsonEditor(context);
  const held = holding(value, set);
  const asked = about.fields.flatMap((field) =>
    field.type === "variants" ? field.variants.flatMap(({ fields }) => fields) : [field],
  );
  const others = Object.keys(value).filter((name) => !asked.some((field) => field.name === name));
  return el(
    "div",
    { class: "studio-object" },
    fieldsOf(about.fields, {
      ...context,
      value,
      put: (name, next, again) => held.set(put(held.now, name, next), again),
      replace: (change, again) => held.set(change(held.now), again),
    }),
    others.length
      ? el("p", { class: "studio-help" }, `It also holds ${others.map(shownName).join(", ")}, which JSON shows.`)
      : null,
  );
}

/**
 * As objectEditor; an empty one that may be left out is none.
 *
 * @param {Context} context
 */
const object = (context) =>
  objectEditor({
    ...context,
    set: (next, again) =>
      context.set(context.optional && isObject(next) && !Object.keys(next).length ? undefined : next, again),
  });

/**
 * The object with this in it; undefined takes it out.
 *
 * @param {Json} value
 * @param {string} name
 * @param {Json} inner
 */
export function put(value, name, inner) {
  if (inner !== undefined) return { ...value, [name]: inner };
  const { [name]: _, ...others } = value;
  return others;
}

/** @param {Written} context */
function auth({ value, set, disabled, label }) {
  const kind = isObject(value) ? ["bearer", "basic"].find((name) => name in value) : undefined;
  /** @type {Record<string, Json>} */
  const start = { bearer: { bearer: "" }, basic: { basic: { user: "", password: "" } } };
  const how = select(
    [
      [undefined, "Without"],
      ["bearer", "A token"],
      ["basic", "User and password"],
    ],
    kind,
    (next) => set(start[next], true),
    { disabled, "aria-label": label },
  );
  if (kind === "bearer")
    return el(
      "div",
      { class: "studio-with" },
      how,
      input(value.bearer, (bearer) => set({ bearer }), { disabled, "aria-label": "Token" }),
    );
  if (kind !== "basic") return how;
  const held = holding(value, set);
  /**
   * @param {string} name
   * @param {string} words
   */
  const inner = (name, words) =>
    input(value.basic[name], (next) => held.set({ basic: { ...held.now.basic, [name]: next } }), {
      disabled,
      "aria-label": words,
    });
  return el("div", { class: "studio-with" }, how, inner("user", "User"), inner("password", "Password"));
}

/**
 * What a connection wants to be given, each with the name and title of its schema.
 *
 * @param {Context} context
 */
function inputs(context) {
  const { owner, studio } = context;
  const schema = studio.suggestions.connections.find(({ key }) => key === owner.connection)?.inputs;
  const wanted = Object.entries(schema?.properties ?? {});
  const value = isObject(context.value) ? context.value : {};
  if (!wanted.length || Object.keys(value).some((name) => !wanted.some(([known]) => known === name)))
    return membersEditor(context);
  /** @param {string} name */
  const simple = (name) => value[name] === undefined || typeof value[name] === "string";
  if (!wanted.every(([name]) => simple(name))) return membersEditor(context);
  const held = holding(value, context.set);
  const needed = new Set(schema.required ?? []);
  return el(
    "div",
    {},
    wanted.map(([name, { title, description }]) => {
      const id = newId();
      const label = `${title ?? name}${needed.has(name) ? " *" : ""}`;
      return el(
        "div",
        { class: "studio-field" },
        el("label", { htmlFor: id }, label),
        textEditor({
          ...context,
          id,
          label,
          optional: true,
          value: value[name],
          set: (next) => held.set(put(held.now, name, next)),
        }),
        description ? el("p", { class: "studio-help" }, description) : null,
        said(`${context.place}.${name}`),
      );
    }),
  );
}

/** @param {(studio: Studio) => string[]} words */
const named =
  (words) =>
  (/** @type {Context} */ { value, set, disabled, id, studio, optional }) =>
    suggesting(words(studio), value, (text) => set(text || (optional ? undefined : "")), { id, disabled });
/** @type {Record<string, (context: Context) => Child>} */
const EDITORS = {
  words: ({ value, set, disabled, id }) => input(value, set, { id, disabled }),
  text: textEditor,
  time: ({ value, set, disabled, id }) =>
    input(value, set, { id, disabled, placeholder: "09:00", class: "engage-input studio-number" }),
  event: named(({ suggestions }) => suggestions.events),
  message: named(({ suggestions }) => suggestions.messages),
  connection: ({ value, set, disabled, id, studio }) =>
    select(
      [["", "…"], ...studio.suggestions.connections.map(({ key, name }) => /** @type {Choice} */ ([key, name || key]))],
      value ?? "",
      (key) => set(key, true),
      { id, disabled },
    ),
  choice: ({ value, set, disabled, id, about }) => {
    const first = about.default ?? about.choices[0][0];
    return select(
      about.choices,
      value ?? first,
      (next) => set(next === first && value === undefined ? undefined : next),
      { id, disabled },
    );
  },
  flag: ({ value, set, disabled, id, about }) =>
    el("input", {
      type: "checkbox",
      id,
      disabled,
      checked: value ?? about.default ?? false,
      change: ({ target }) => set(target.checked === (about.default ?? false) ? undefined : target.checked),
    }),
  whole: ({ value, set, disabled, id, optional }) =>
    readInput(value, set, {
      of: wholeOf,
      why: "This is no whole number. One is 1000.",
      id,
      disabled,
      optional,
      inputMode: "numeric",
      class: "engage-input studio-number",
    }),
  plain: ({ value, set, disabled, id, about }) =>
    input(value, (text) => set(text || undefined), { id, disabled, placeholder: about.hint }),
  number: ({ value, set, disabled, id, optional }) =>
    numberInput(value, set, { id, disabled, class: "engage-input studio-number", optional }),
  percent: ({ value, set, disabled, id }) =>
    readInput(value, set, {
      of: (text) => ofPercent(text) ?? undefined,
      show: percentOf,
      why: "This is no percentage. One is 12.5.",
      id,
      disabled,
      inputMode: "decimal",
      class: "engage-input studio-number",
    }),
  pick: ({ value, set, disabled, id, about }) =>
    select([[undefined, "…"], ...about.choices], value, (next) => set(next), { id, disabled }),
  any: jsonEditor,
  object,
  weight: ({ value, set, disabled, id }) =>
    numberInput(value, set, { id, disabled, class: "engage-input studio-number" }),
  offset: offsetEditor,
  condition: conditionEditor,
  members: membersEditor,
  headers: headersEditor,
  paths: pathsEditor,
  json: bodyEditor,
  duration: durationEditor,
  zone,
  days,
  step,
  in_app_step: inAppStep,
  list,
  auth,
  inputs,
};
const GROUPS = new Set([
  "condition",
  "members",
  "headers",
  "paths",
  "json",
  "days",
  "list",
  "auth",
  "inputs",
  "offset",
  "object",
]);
