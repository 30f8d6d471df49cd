// A definition, {steps, exitOn}, and what can be done to it. All of it is pure: what is given is left as it is.
//
// A slot is a place where a step says what comes after it: {path, label, target}, such as ["cases", 0, "next"]. Its
// target is the id of a step, null for the end, or undefined where what is written leads nowhere. The slot of the entry
// has no path: customers enter at the first step.
import { renamedIn } from "./references.js";

export const ENTRY = "@entry";

/**
 * @param {Json} value
 * @param {Path} path
 * @returns {Json}
 */
export const at = (value, path) => path.reduce((inner, name) => inner?.[name], value);

/**
 * The value with another one at the path; undefined takes it away.
 *
 * @param {Json} value
 * @param {Path} path
 * @param {Json} inner
 * @returns {Json}
 */
export function put(value, [name, ...rest], inner) {
  if (name === undefined) return inner;
  const next = rest.length ? put(value?.[name] ?? (typeof rest[0] === "number" ? [] : {}), rest, inner) : inner;
  if (Array.isArray(value) && typeof name === "number") {
    return next === undefined ? value.toSpliced(name, 1) : value.with(name, next);
  }
  if (next !== undefined) return { ...value, [name]: next };
  const { [name]: _, ...others } = value ?? {};
  return others;
}

/**
 * Why it cannot be edited step by step; "" if it can.
 *
 * @param {Json} definition
 * @returns {string}
 */
export function whyNot(definition) {
  const { steps, exitOn } = definition ?? {};
  if (!Array.isArray(steps)) return "steps is no list.";
  if (exitOn !== undefined && !Array.isArray(exitOn)) return "exitOn is no list.";
  if ([...steps, ...(exitOn ?? [])].some((one) => one === null || typeof one !== "object" || Array.isArray(one))) {
    return "Not every step is an object.";
  }
  if (steps.some(({ id }) => typeof id !== "string" || !id)) return "Not every step has an id.";
  return new Set(steps.map(({ id }) => id)).size === steps.length ? "" : "Two steps have the same id.";
}

/**
 * Why the step cannot have this name; "" if it can.
 *
 * @param {Step[]} steps
 * @param {string} id
 * @param {string} to
 */
export function whyNotNamed(steps, id, to) {
  const name = to.trim();
  const isTaken = name !== id && steps.some((step) => step.id === name);
  if (/^[\w-]{1,100}$/.test(name) && !isTaken) return "";
  const why = isTaken
    ? "There is a step of this name already"
    : "A name has up to 100 letters from a to z, digits, - and _";
  return `${why}. It stays ${id}.`;
}

/**
 * @param {Step[]} steps
 * @param {string} wanted
 */
export function freeId(steps, wanted) {
  const taken = new Set(steps.map(({ id }) => id));
  const name = wanted.replace(/-\d+$/, "");
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name}-${number}`)) number += 1;
  return `${name}-${number}`;
}

/**
 * The operations, for these kinds of steps as they are described.
 *
 * @param {Kind[]} kinds
 */
export function modelOf(kinds) {
  const byType = new Map(kinds.map((kind) => [kind.type, kind]));
  /**
   * @param {Step} step
   * @returns {{ name: string, type: string, label: string, [more: string]: Json }[]}
   */
  const fieldsOf = (step) => byType.get(step.type)?.fields ?? [{ name: "next", type: "step", label: "Next step" }];

  /**
   * @param {Step} step
   * @returns {{ path: Path, label: string }[]}
   */
  function pathsOf(step) {
    return fieldsOf(step).flatMap((field) => {
      if (field.type === "step") return [{ path: [field.name], label: field.label }];
      /** @type {About[]} */
      const inner =
        field.type === "list" ? field.fields.filter((/** @type {About} */ { type }) => type === "step") : [];
      /** @type {Json[]} */
      const items = inner.length && Array.isArray(step[field.name]) ? step[field.name] : [];
      return items.flatMap((_, number) =>
        inner.map(({ name }) => ({ path: [field.name, number, name], label: `${field.item} ${number + 1}` })),
      );
    });
  }

  /**
   * @param {Step[]} steps
   * @param {number} number
   * @param {Path} path
   * @returns {string | null | undefined}
   */
  function targetIn(steps, number, path) {
    const own = at(steps[number], path);
    const written = own !== undefined ? own : path.length === 1 ? steps[number].next : null;
    if (written === undefined) return steps[number + 1]?.id ?? null;
    return written === null || steps.some(({ id }) => id === written) ? written : undefined;
  }

  /**
   * The slots of each step, by its id.
   *
   * @param {{ steps: Step[] }} definition
   * @returns {Map<string, Slot[]>}
   */
  const slotsOf = ({ steps }) =>
    new Map(
      steps.map((step, number) => [
        step.id,
        pathsOf(step).map((slot) => ({ ...slot, target: targetIn(steps, number, slot.path) })),
      ]),
    );

  /**
   * The one by which it goes on if nothing is special: what others are joined by when it goes.
   *
   * @template {{ path: Path }} S
   * @param {S[] | undefined} slots
   * @returns {S | undefined}
   */
  const mainOf = (slots) => slots?.find(({ path }) => path.length === 1) ?? slots?.[0];

  /**
   * The steps, in which every slot leads where it is wanted; `wanted` has targets by id and path.
   *
   * @param {Step[]} steps
   * @param {Targets} wanted
   */
  function settled(steps, wanted) {
    let writes = 0;
    const made = steps.map((step, number) =>
      pathsOf(step).reduce((changed, { path }) => {
        const want = wanted.get(step.id)?.get(path.join());
        if (want === undefined || targetIn(steps, number, path) === want) return changed;
        writes += 1;
        return put(changed, path, want);
      }, step),
    );
    return { steps: made, writes };
  }

  /**
   * @param {Slot[]} [slots]
   * @returns {Map<string, string | null | undefined>}
   */
  const targetsOf = (slots = []) => new Map(slots.map(({ path, target }) => [path.join(), target]));
  /**
   * @param {Definition} definition
   * @returns {Targets}
   */
  const allTargets = (definition) => new Map([...slotsOf(definition)].map(([id, slots]) => [id, targetsOf(slots)]));

  /**
   * With the step on the way {from, path}. A new one leads on by all its ways; one that had others keeps them.
   *
   * @param {Definition} definition
   * @param {Way} way
   * @param {Step} step
   * @param {Map<string, string | null | undefined>} [kept]
   * @returns {Definition}
   */
  function insert(definition, { from, path }, step, kept = new Map()) {
    const { steps } = definition;
    const wanted = allTargets(definition);
    const number = steps.findIndex(({ id }) => id === from);
    const after = from === ENTRY ? (steps[0]?.id ?? null) : path ? wanted.get(from)?.get(path.join()) : null;
    const main = mainOf(pathsOf(step))?.path.join();
    const own = pathsOf(step).map((slot) => slot.path.join());
    wanted.set(
      step.id,
      new Map(own.map((slot) => [slot, slot === main || !kept.has(slot) ? (after ?? null) : kept.get(slot)])),
    );
    if (from === ENTRY) return { ...definition, steps: settled([step, ...steps], wanted).steps };
    if (path) wanted.get(from)?.set(path.join(), step.id);
    const places = [number + 1, steps.findIndex(({ id }) => id === after), steps.length].filter((place) => place > 0);
    const tried = places.map((place) => settled(steps.toSpliced(place, 0, step), wanted));
    return { ...definition, steps: tried.reduce((best, one) => (one.writes < best.writes ? one : best)).steps };
  }

  /**
   * Without the step; the ways to it lead where it went on to.
   *
   * @param {Definition} definition
   * @param {string} gone
   * @returns {Definition}
   */
  function remove(definition, gone) {
    const { steps } = definition;
    const slots = slotsOf(definition);
    const onward = mainOf(slots.get(gone))?.target ?? null;
    const joined = onward === gone ? null : onward;
    const wanted = allTargets(definition);
    for (const targets of wanted.values()) {
      for (const [slot, target] of targets) if (target === gone) targets.set(slot, joined);
    }
    // A step all of whose ways are written may have a `next` beside them, which is none of its slots.
    const left = steps
      .filter(({ id }) => id !== gone)
      .map((step) => (step.next === gone ? put(step, ["next"], joined) : step));
    const first = steps[0].id === gone && joined !== null ? left.find(({ id }) => id === joined) : left[0];
    const ordered = first && first !== left[0] ? [first, ...left.filter((step) => step !== first)] : left;
    return { ...definition, steps: settled(ordered, wanted).steps };
  }

  /**
   * @param {Definition} definition
   * @param {string} id
   * @param {Way} way
   * @returns {Definition}
   */
  function move(definition, id, way) {
    const step = definition.steps.find((one) => one.id === id);
    const kept = targetsOf(slotsOf(definition).get(id));
    if (!step || way.from === id || kept.size === 0) return definition;
    return insert(remove(definition, id), way, step, kept);
  }

  /**
   * Tells of a way {from, path} whether the step may be moved onto it, and would stand elsewhere then.
   *
   * @param {{ steps: Step[] }} definition
   * @param {string} id
   * @returns {(way: Way) => boolean}
   */
  function placesFor(definition, id) {
    /** @param {Way} way */
    const named = ({ from, path }) => `${from} ${path}`;
    const own = new Set(waysTo(definition, id).map(named));
    const leadsOn = slotsOf(definition).get(id)?.length;
    return (way) => Boolean(leadsOn) && way.from !== id && !own.has(named(way));
  }

  /**
   * The ways that lead to the step, the entry's among them.
   *
   * @param {{ steps: Step[] }} definition
   * @param {string} id
   * @returns {Way[]}
   */
  function waysTo(definition, id) {
    const ways = [...slotsOf(definition)].flatMap(([from, slots]) =>
      slots.filter(({ target }) => target === id).map(({ path }) => ({ from, path })),
    );
    return definition.steps[0]?.id === id ? [{ from: ENTRY, path: null }, ...ways] : ways;
  }

  /**
   * @param {Definition} definition
   * @param {string} id
   */
  function moveUp(definition, id) {
    const before = waysTo(definition, id).find(({ from }) => from !== ENTRY && from !== id);
    const to = before && waysTo(definition, before.from).find(({ from }) => from !== id);
    return to ? move(definition, id, to) : definition;
  }

  /**
   * @param {Definition} definition
   * @param {string} id
   */
  function moveDown(definition, id) {
    const slots = slotsOf(definition);
    const next = mainOf(slots.get(id))?.target;
    const beyond = next && next !== id ? mainOf(slots.get(next)) : null;
    return next && beyond ? move(definition, id, { from: next, path: beyond.path }) : definition;
  }

  /**
   * @param {Definition} definition
   * @param {string} id
   */
  function duplicate(definition, id) {
    const { steps } = definition;
    const step = steps.find((one) => one.id === id);
    const slots = slotsOf(definition).get(id);
    const copy = { .../** @type {Step} */ (step), id: freeId(steps, id) };
    const made = insert(definition, { from: id, path: mainOf(slots)?.path ?? null }, copy, targetsOf(slots));
    return { definition: made, id: copy.id };
  }

  /**
   * A new step of the type on the way; its id is told with the definition.
   *
   * @param {Definition} definition
   * @param {Way} way
   * @param {string} type
   */
  function add(definition, way, type) {
    const kind = /** @type {Kind} */ (byType.get(type));
    const step = { id: freeId(definition.steps, type.replaceAll("_", "-")), ...kind.start };
    return { definition: insert(definition, way, step), id: step.id };
  }

  /**
   * With another id of the step, wherever it is named: by ways, waits for deliveries, templates and conditions.
   *
   * @param {Definition} definition
   * @param {string} id
   * @param {string} to
   * @returns {Definition}
   */
  function rename(definition, id, to) {
    const steps = definition.steps.map((step) => {
      const renamed = {
        ...renamedIn(step, id, to),
        id: step.id === id ? to : step.id,
        ...(step.delivery === id ? { delivery: to } : {}),
      };
      return [["next"], ...pathsOf(step).map(({ path }) => path)].reduce(
        (made, path) => (at(made, path) === id ? put(made, path, to) : made),
        renamed,
      );
    });
    return { ...definition, steps, ...(definition.exitOn ? { exitOn: renamedIn(definition.exitOn, id, to) } : {}) };
  }

  return { byType, slotsOf, mainOf, insert, remove, move, placesFor, moveUp, moveDown, waysTo, duplicate, add, rename };
}
