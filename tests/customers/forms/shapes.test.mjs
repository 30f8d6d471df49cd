// Conditions as rows, which is pure: reads {conditions} from the file that CONDITIONS names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { holdsUnread, read, unread, write } from "../../../customers/static/customers/forms/json.js";
import { numberOf, wholeOf } from "../../../customers/static/customers/forms/numbers.js";
import { ofPercent, percentOf } from "../../../customers/static/customers/forms/percents.js";
import {
  kindOf,
  listed,
  mayBecome,
  operated,
  reshaped,
  shapeOf,
  wordsOf,
} from "../../../customers/static/customers/forms/shapes.js";

const conditions = JSON.parse(readFileSync(process.env.CONDITIONS, "utf8")).map((text) => read(text));
const SHAPES = ["test", "all", "any", "not"];
const OPERATIONS = [
  "eq",
  "ne",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "not_in",
  "contains",
  "starts_with",
  "ends_with",
  "before",
  "after",
];
const plan = { field: "customer.plan", op: "eq", value: "pro" };

/** All conditions within this one, itself among them. */
function parts(value) {
  const shape = shapeOf(value);
  const inner = shape === "not" ? [value.not] : shape === "all" || shape === "any" ? value[shape] : [];
  return [value, ...inner.flatMap(parts)];
}

test("each valid condition has rows, and each row shows its value whole", () => {
  for (const one of conditions.flatMap(parts)) {
    assert.notEqual(shapeOf(one), "json", write(one));
    if (shapeOf(one) !== "test" || !["list", "numbers"].includes(kindOf(one))) continue;
    assert.deepEqual(listed(wordsOf(one.value), kindOf(one)), one.value);
  }
});

test("another form of a condition loses no test of it", () => {
  const tests = (value) =>
    parts(value)
      .filter((one) => shapeOf(one) === "test")
      .map((one) => write(one));
  for (const one of conditions) {
    for (const to of SHAPES.filter((shape) => mayBecome(one, shapeOf(one), shape))) {
      const made = reshaped(one, shapeOf(one), to);
      assert.deepEqual(tests(made), tests(one));
      assert.notEqual(shapeOf(made), "json");
    }
  }
  assert.equal(mayBecome({ all: [plan, plan] }, "all", "test"), false);
});

test("another operation keeps what it can have", () => {
  for (const op of OPERATIONS) assert.equal(write(operated(operated(plan, op), "eq")), write(plan), op);
  assert.deepEqual(operated(plan, "exists"), { field: "customer.plan", op: "exists" });
  assert.deepEqual(operated({ field: "a", op: "eq", to: "b" }, "in"), { field: "a", op: "in", to: "b" });
  assert.deepEqual(operated({ field: "a", op: "exists" }, "eq"), { field: "a", op: "eq", value: "" });
  assert.deepEqual(operated({ field: "a", op: "eq", value: 0 }, "in"), { field: "a", op: "in", value: [0] });
});

test("a list is of texts or of numbers, and stays what it is", () => {
  const kinds = ['["200"]', "[200,1.0]", "[]", '["a",1]'].map((text) =>
    kindOf({ field: "a", op: "in", value: read(text) }),
  );
  assert.deepEqual(kinds, ["list", "numbers", "list", "json"]);
  assert.equal(kindOf({ field: "answer.status", op: "in", value: [] }, "number"), "numbers");
  assert.equal(write(listed("200, 1.0", "numbers")), "[200,1.0]");
  assert.deepEqual(listed("200, 201", "list"), ["200", "201"]);
  for (const words of ["200, ok", "", " , "]) {
    const value = listed(words, "numbers");
    assert.deepEqual([kindOf({ field: "a", op: "in", value }), wordsOf(value)], ["numbers", words]);
  }
});

test("a share is shown in percent and read again as it was", () => {
  for (let share = 1; share < 1000; share += 1) assert.equal(ofPercent(percentOf(share / 1000)), share / 1000);
  assert.deepEqual(["12,5", " 7 % ", "0.1", "", "-1", "ten", "1e2"].map(ofPercent), [
    0.125,
    0.07,
    0.001,
    null,
    null,
    null,
    null,
  ]);
  assert.deepEqual([0.29, read("0.10"), "0.1", undefined].map(percentOf), ["29", "10", "", ""]);
});

test("a number is read with a point or a comma, and what is none stays as it was typed", () => {
  assert.deepEqual(
    ["99,5", " 12 ", "-0,25", "007", "1e3", "1234,567", "0,125"].map((text) => write(numberOf(text))),
    ["99.5", "12", "-0.25", "7", "1e3", "1234.567", "0.125"],
  );
  for (const text of ["1.000,5", "1,000", "1 000", "ten", "", "1/2", "5 %", "Infinity", "0x10", "1."])
    assert.equal(numberOf(text), undefined, text);
  assert.deepEqual(
    ["12", "5,5", "5.5", "1e3", "12345678901234567890"].map((text) => write(wholeOf(text))),
    ["12", undefined, undefined, undefined, "12345678901234567890"],
  );
  const typed = { a: [unread('te"n\\'), read("1.0")] };
  assert.equal(write(typed), '{"a":["te\\"n\\\\",1.0]}');
  assert.deepEqual([typed, { a: "ten" }, undefined].map(holdsUnread), [true, false, false]);
});

test("what a row cannot show whole is JSON", () => {
  for (const text of [
    '["a, b"]',
    '["a",1]',
    '[" a"]',
    "[true]",
    '{"now":1}',
    '{"now":"P1D","more":1}',
    "null",
    '"a\\nb"',
  ]) {
    assert.equal(kindOf({ field: "a", op: "eq", value: read(text) }), "json", text);
  }
  for (const text of ['{"all":{}}', '{"all":[],"more":1}', '{"field":1,"op":"eq"}', "[]", "null", '{"if":{}}']) {
    assert.equal(shapeOf(read(text)), "json", text);
  }
});
