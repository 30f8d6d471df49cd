// The editor's model, which is pure: reads {kinds, texts} from the file that STUDIO names, and writes what it has made
// beside it, for the check of the service.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { begun, done, redone, undone } from "../../../journeys/static/journeys/studio/history.js";
import { read, write } from "../../../customers/static/customers/forms/json.js";
import { ENTRY, at, modelOf, put, whyNot } from "../../../journeys/static/journeys/studio/model.js";

const { kinds, texts, valid } = JSON.parse(readFileSync(process.env.STUDIO, "utf8"));
const model = modelOf(kinds);
const wait = (id, more = {}) => ({ id, type: "delay", for: "P1D", ...more });
const listen = (id, more = {}) => ({ id, type: "wait_for_event", event: "bought", timeout: "P1D", ...more });
const of = (...steps) => ({ steps, exitOn: [] });
const ids = ({ steps }) => steps.map(({ id }) => id);
/** Where each step leads to. */
const ways = (definition) =>
  Object.fromEntries([...model.slotsOf(definition)].map(([id, slots]) => [id, slots.map(({ target }) => target)]));

let seed = 20261126;
const random = (below) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * below);
};
const anyOf = (list) => list[random(list.length)];

test("what is opened and not touched is written byte for byte", () => {
  for (const text of [
    ...texts,
    '{"b":1.0,"7":{"12":1e400,"__proto__":[-0,0.10,12345678901234567890]},"a":"1.0 \\" \\\\"}',
  ]) {
    assert.equal(write(read(text)), text);
    assert.equal(write(read(write(read(text), 2))), text);
  }
  assert.throws(() => read('["\\u0000"]'));
  assert.throws(() => read("[1,]"));
});

test("a step is put on one way alone", () => {
  const plain = of(wait("a"), wait("b"));
  assert.deepEqual(model.insert(plain, { from: "a", path: ["next"] }, wait("n")), of(wait("a"), wait("n"), wait("b")));
  assert.deepEqual(ids(model.insert(plain, { from: ENTRY }, wait("n"))), ["n", "a", "b"]);
  assert.deepEqual(ids(model.insert(of(), { from: ENTRY }, wait("n"))), ["n"]);
  const both = model.insert(of(listen("l"), wait("b")), { from: "l", path: ["onEvent"] }, wait("n"));
  assert.deepEqual(ways(both), { l: ["n", "b"], n: ["b"], b: [null] });
  const last = model.insert(
    of(listen("l", { onTimeout: null }), wait("b")),
    { from: "l", path: ["onTimeout"] },
    wait("n"),
  );
  assert.deepEqual(ways(last), { l: ["b", "n"], n: [null], b: [null] });
});

test("a new step of each kind leads on by all its ways", () => {
  for (const { type } of kinds) {
    const { definition, id } = model.add(of(wait("a"), wait("b")), { from: "a", path: ["next"] }, type);
    assert.deepEqual(new Set(ways(definition)[id]), new Set(type === "exit" ? [] : ["b"]), type);
    assert.deepEqual(ways(definition).a, [id]);
  }
});

test("when a step goes, its ways are joined", () => {
  assert.deepEqual(model.remove(of(wait("a"), wait("b"), wait("c")), "b"), of(wait("a"), wait("c")));
  assert.deepEqual(ways(model.remove(of(wait("a", { next: "c" }), wait("b"), wait("c", { next: "b" })), "a")), {
    c: ["b"],
    b: ["c"],
  });
  assert.deepEqual(ids(model.remove(of(wait("a", { next: "c" }), wait("b"), wait("c")), "a")), ["c", "b"]);
  assert.deepEqual(ways(model.remove(of(wait("a"), wait("b", { next: null }), wait("c")), "b")), {
    a: [null],
    c: [null],
  });
  assert.deepEqual(ways(model.remove(of(wait("a", { next: "a" })), "a")), {});
});

test("steps are moved, duplicated and renamed", () => {
  const three = of(wait("a"), wait("b"), wait("c"));
  assert.deepEqual(ids(model.moveUp(three, "b")), ["b", "a", "c"]);
  assert.deepEqual(ids(model.moveDown(three, "b")), ["a", "c", "b"]);
  assert.deepEqual(model.moveUp(three, "a"), three);
  assert.deepEqual(model.moveDown(three, "c"), three);
  const { definition, id } = model.duplicate(three, "b");
  assert.deepEqual([id, ways(definition)], ["b-2", { a: ["b"], b: ["b-2"], "b-2": ["c"], c: [null] }]);
  const named = of(wait("a", { next: "c" }), { id: "b", type: "in_app", message: "c", delivery: "c" }, wait("c"));
  const renamed = model.rename(named, "c", "last");
  assert.deepEqual(
    renamed,
    of(wait("a", { next: "last" }), { id: "b", type: "in_app", message: "c", delivery: "last" }, wait("last")),
  );
});

test("where what a step kept is read, it is read by its new name, and nothing else is changed", () => {
  const renamed = (more) =>
    model.rename(of({ id: "b", type: "webhook", ...more }, wait("ask-1")), "ask-1", "new").steps[0];
  const same = {
    keep: { n: "steps.ask-1.count" },
    body: {
      "steps.ask-1.left": "docs/steps.ask-1.html steps.ask-1.left",
      to: "steps.ask-1.left",
      a:
        "{{ steps.ask-10.left }}{{ api.payload.steps.ask-1.x }}{{ api.payload . steps.ask-1 }}" +
        "{{ 'steps.ask-1.left' }}{{ steps[ask-1] }}",
      b: "{% raw %}{{ steps.ask-1.left }}{% endraw %}",
    },
  };
  assert.deepEqual(renamed(same), { id: "b", type: "webhook", ...same });
  const reading = (name) => ({
    body: {
      a:
        `{{ steps.${name}.left }} and {{steps . ${name} . left | plus: steps.${name}.n}}` +
        `{% if steps["${name}"].left == 'a' %}{% endif %}`,
      b: [
        `{{ steps['${name}'].left }}`,
        { $value: `steps[ "${name}" ].left` },
        { $value: `steps.${name}`, default: 0 },
      ],
    },
    ok: {
      all: [
        { field: `steps.${name}.status`, op: "eq", to: `steps.${name}.left` },
        { not: { field: "a", op: "eq", value: "steps.ask-1.left" } },
      ],
    },
  });
  assert.deepEqual(renamed(reading("ask-1")), { id: "b", type: "webhook", ...reading("new") });
});

test("a step is moved onto a way on which it is not yet, and only if it leads on", () => {
  const start = of(listen("l", { onEvent: "c", onTimeout: null }), wait("b"), wait("c"), { id: "x", type: "exit" });
  const every = [
    { from: ENTRY, path: null },
    ...[...model.slotsOf(start)].flatMap(([from, own]) => own.map(({ path }) => ({ from, path }))),
  ];
  const placesOf = (id) =>
    every.filter(model.placesFor(start, id)).map(({ from, path }) => `${from} ${path ?? ""}`.trim());
  assert.deepEqual(placesOf("c"), ["@entry", "l onTimeout"]);
  assert.deepEqual(placesOf("l"), ["b next", "c next"]);
  assert.deepEqual(placesOf("x"), []);
  const moved = model.move(start, "c", { from: "l", path: ["onTimeout"] });
  assert.deepEqual(ways(moved), { l: ["x", "c"], c: [null], b: ["x"], x: [] });
});

test("a value is set, and taken away, without touching another", () => {
  const value = { a: [{ b: 1 }, { b: 2 }], c: 3 };
  assert.deepEqual(put(value, ["a", 1, "b"], 5), { a: [{ b: 1 }, { b: 5 }], c: 3 });
  assert.deepEqual(put(value, ["a", 0], undefined), { a: [{ b: 2 }], c: 3 });
  assert.deepEqual(put(value, ["d", "e"], 1).d, { e: 1 });
  assert.equal(at(value, ["a", 1, "b"]), 2);
  assert.equal(at(value, ["x", "y"]), undefined);
});

test("what cannot be edited step by step says why", () => {
  for (const wrong of [
    { steps: {} },
    { steps: [1] },
    { steps: [{}] },
    { steps: [wait("a"), wait("a")] },
    { steps: [], exitOn: 3 },
  ]) {
    assert.notEqual(whyNot(wrong), "");
  }
  assert.equal(whyNot(of(wait("a"))), "");
});

/** One change by chance, as the page makes it. */
function changed(definition) {
  const { steps } = definition;
  const slots = [
    { from: ENTRY, path: null },
    ...[...model.slotsOf(definition)].flatMap(([from, own]) => own.map(({ path }) => ({ from, path }))),
  ];
  const id = steps.length ? anyOf(steps).id : null;
  const acts = [() => model.add(definition, anyOf(slots), anyOf(kinds).type).definition];
  if (id) {
    acts.push(
      () => model.remove(definition, id),
      () => model.move(definition, id, anyOf(slots)),
      () => model.moveUp(definition, id),
      () => model.moveDown(definition, id),
      () => model.duplicate(definition, id).definition,
      () => model.rename(definition, id, `r${random(1000)}x${steps.length}`),
    );
  }
  return anyOf(acts)();
}

test("changes by chance lead nowhere that is not there, and undone to the start are as if they had not been", () => {
  const made = [];
  for (const text of valid) {
    const start = read(text);
    let history = begun(start);
    for (let turn = 0; turn < 30; turn += 1) {
      const before = write(history.now);
      const next = changed(history.now);
      assert.equal(write(history.now), before, "what is given is left as it is");
      for (const [id, targets] of Object.entries(ways(next)))
        assert.ok(!targets.includes(undefined), `${id} of ${write(next)}`);
      assert.equal(whyNot(next), "");
      history = done(history, next);
    }
    made.push(write(history.now.steps));
    const last = history.now;
    const steps = history.past.length;
    for (let turn = 0; turn < steps; turn += 1) history = undone(history);
    assert.equal(write(history.now), text);
    for (let turn = 0; turn < steps; turn += 1) history = redone(history);
    assert.equal(write(history.now), write(last));
  }
  writeFileSync(`${process.env.STUDIO}.made`, JSON.stringify(made));
});

test("fifty changes can be undone", () => {
  let history = begun(0);
  for (let turn = 1; turn <= 60; turn += 1) history = done(history, turn);
  for (let turn = 0; turn < 60; turn += 1) history = undone(history);
  assert.equal(history.now, 10);
});
