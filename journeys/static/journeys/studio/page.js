// The page on which a journey is edited: the list, the drawing, the form of a step, and the draft on the server.
import { drawInto } from "./canvas.js";
import { button, el, replaced, tell, whenReleased } from "../../customers/forms/dom.js";
import { begun, done, redone, undone } from "./history.js";
import { besideForm, stepForm } from "./inspector.js";
import { refusedIn } from "../../customers/forms/entered.js";
import { holdsUnread, read, write } from "../../customers/forms/json.js";
import { listInto, menuOf } from "./list.js";
import { modelOf, put, whyNot, whyNotNamed } from "./model.js";
import { keeping } from "./saving.js";

const MANY = 60; // steps, of which a drawing takes so long that it waits for a pause
const given = JSON.parse(document.getElementById("studio-given")?.textContent ?? "");
/** @type {HTMLElement | null} */
const root = document.getElementById("studio");
const model = modelOf(given.kinds);
let history = begun(read(given.text));
/** @type {Told} */
let told = given;
let view = "steps";
let waits = false;
/** @type {Parts} */
let again = { list: true, form: true, drawing: true };

/**
 * What the parts of the page read.
 *
 * @type {Page}
 */
const studio = {
  model,
  besideFields: given.beside,
  suggestions: given.suggestions,
  disabled: !given.mayEdit,
  chosen: null,
  asJson: new Set(),
  get steps() {
    return history.now.steps;
  },
  get exitOn() {
    return history.now.exitOn;
  },
  get beside() {
    return { ...history.now, exitOn: history.now.exitOn ?? [] };
  },
  previewFor: "",
  preview: (text) => draft.preview(text, studio.previewFor),
  wordsOf: (step) => told.words[step.id]?.does ?? model.byType.get(step.type)?.title ?? String(step.type),
  waysOf: (step) => told.words[step.id]?.ways ?? [],
  foundAt: (id) => byStep().get(id) ?? [],
};

function byStep() {
  if (told.by) return told.by;
  told.by = new Map();
  for (const one of foundAll()) {
    const number = /^steps\[(\d+)\]/.exec(one.place)?.[1];
    const id = number === undefined ? undefined : studio.steps[Number(number)]?.id;
    if (id !== undefined) told.by.set(id, [...(told.by.get(id) ?? []), one]);
  }
  return told.by;
}

const foundAll = () => [...told.mistakes, ...told.warnings.map((one) => ({ ...one, kind: "warning" }))];

/**
 * @param {Definition} next
 * @param {boolean} [reshape]
 */
function change(next, reshape = true) {
  if (next === history.now || studio.disabled) return;
  history = done(history, next);
  after(reshape);
}

/** @param {boolean} reshape */
function after(reshape) {
  told = { ...told, by: undefined };
  draft.write(write(history.now));
  update({ list: true, drawing: true, form: reshape });
}

/** @type {Acts} */
const acts = {
  choose(id, focus) {
    studio.chosen = id;
    view = "steps";
    update({ list: true, form: true, drawing: true });
    if (focus) later(() => focusOn(form, ".studio-heading"));
  },
  add(slot) {
    const dialog = menuOf(given.kinds, (type) => {
      const { definition, id } = model.add(history.now, slot, type);
      change(definition);
      acts.choose(id);
      later(() => focusOn(form, ".studio-field :is(input, select, textarea)"));
    });
    document.body.append(dialog);
    dialog.showModal();
  },
  remove(id) {
    const number = studio.steps.findIndex((step) => step.id === id);
    change(model.remove(history.now, id));
    acts.choose(studio.steps[Math.min(number, studio.steps.length - 1)]?.id ?? null);
    later(() => focusOn(list, "[aria-current], .studio-plus"));
  },
  up: (id) => {
    change(model.moveUp(history.now, id));
    acts.choose(id);
  },
  down: (id) => {
    change(model.moveDown(history.now, id));
    acts.choose(id);
  },
  duplicate(id) {
    const made = model.duplicate(history.now, id);
    change(made.definition);
    acts.choose(made.id);
  },
  movedTo(id, slot) {
    if (!studio.steps.some((step) => step.id === id) || !model.placesFor(history.now, id)(slot)) return;
    change(model.move(history.now, id, slot));
    acts.choose(id);
  },
  dropped(id, onto) {
    const main = model.mainOf(model.slotsOf(history.now).get(onto));
    if (main && id !== onto) acts.movedTo(id, { from: onto, path: main.path });
  },
  rename(id, to) {
    const name = to.trim();
    if (name === id || whyNotNamed(studio.steps, id, name)) return;
    studio.chosen = name;
    change(model.rename(history.now, id, name));
  },
  set(id, changed, reshape = false) {
    const number = studio.steps.findIndex((step) => step.id === id);
    if (number >= 0) change(put(history.now, ["steps", number], changed(studio.steps[number])), reshape);
  },
  setBeside: (name, next, reshape = false) => change(put(history.now, [name], next), reshape),
  reshape: () => update({ form: true }),
  undo: () => {
    history = undone(history);
    after(true);
  },
  redo: () => {
    history = redone(history);
    after(true);
  },
};

// The page's frame. The list, the form and the drawing are made anew, but never while a button is held down.
const status = el("p", { class: "studio-status", role: "status" });
const notice = el("div", { class: "engage-held", hidden: true });
const undoButton = button("Undo", acts.undo, { title: "Ctrl+Z" });
const redoButton = button("Redo", acts.redo, { title: "Ctrl+Shift+Z" });
const views = ["steps", "exits", "json"].map((name) =>
  el(
    "button",
    {
      type: "button",
      class: "studio-tab",
      role: "tab",
      id: `studio-tab-${name}`,
      "data-view": name,
      click: () => {
        view = name;
        update({ list: true, form: true, drawing: true });
      },
    },
    { steps: "Steps", exits: "Entry and exits", json: "JSON" }[name],
  ),
);
const list = el("div", { class: "studio-steps" });
const form = el("div", { class: "studio-inspector" });
const host = /** @type {Host} */ (el("div", { class: "engage-map studio-map" }));
host.dataset.title = "Drawing of the steps";
const draft = keeping(given, {
  heard(answer) {
    told = answer;
    update({ list: true, drawing: true });
  },
  says(text) {
    status.textContent = text;
  },
  asks(text, ...choices) {
    notice.replaceChildren(
      el("p", {}, text),
      el(
        "div",
        { class: "engage-inline" },
        choices.map(([words, act]) =>
          button(words, () => {
            notice.hidden = true;
            act();
          }),
        ),
      ),
    );
    notice.hidden = false;
  },
});
/** @param {string} url */
async function leave(url) {
  if (showsUnread()) return;
  if (await draft.flushed()) location.assign(url);
  else status.textContent = `What you wrote last is not kept. ${draft.whyNot()}`;
}

/** Whether something was typed that cannot be read; it is shown then. */
function showsUnread() {
  const own = whyNot(history.now) ? null : studio.steps.find(holdsUnread);
  if (!own && !holdsUnread(history.now) && !refusedIn(panel)) return false;
  if (own) acts.choose(own.id);
  else if (holdsUnread(history.now)) views[1].click();
  status.textContent = "What cannot be read stands at its field. Mend it first.";
  later(() => refusedIn(panel)?.focus());
  return true;
}

const bar = el(
  "div",
  { class: "studio-bar" },
  el("div", { role: "tablist", class: "engage-inline", "aria-label": "How it is edited" }, views),
  given.mayEdit ? [undoButton, redoButton, startersMenu()] : null,
  el("input", {
    class: "engage-input studio-for",
    "aria-label": "Show texts for a customer",
    placeholder: "Show texts for: id or e-mail",
    change: ({ target }) => {
      studio.previewFor = target.value.trim();
      update({ form: true });
    },
  }),
  button("Try it", () => leave(given.urls.try)),
  given.mayEdit ? button("Publish…", () => leave(given.urls.publish), { class: "engage-button small first" }) : null,
  status,
);
const panel = el("div", { class: "studio-panel" });
root?.replaceChildren(notice, bar, panel);
root?.addEventListener("refused", (event) => {
  status.textContent = /** @type {CustomEvent} */ (event).detail;
});

function startersMenu() {
  const menu = el(
    "select",
    { class: "engage-input", "aria-label": "Begin with a template" },
    el("option", {}, "Begin with…"),
    given.starters.map((/** @type {{ name: string, about: string }} */ { name, about }) =>
      el("option", { title: about }, name),
    ),
  );
  menu.addEventListener("change", () => {
    const starter = given.starters[menu.selectedIndex - 1];
    menu.selectedIndex = 0;
    if (!starter) return;
    change({ ...history.now, ...read(starter.text) });
    acts.choose(studio.steps[0]?.id ?? null);
    status.textContent = starter.about;
  });
  return menu;
}

/** @param {Parts} parts */
function update(parts) {
  again = { ...again, ...Object.fromEntries(Object.entries(parts).filter(([, wanted]) => wanted)) };
  if (waits) return;
  waits = true;
  whenReleased(render);
}

/**
 * @param {Element} place
 * @param {string} selector
 */
function focusOn(place, selector) {
  /** @type {HTMLElement | null} */
  const found = place.querySelector(selector);
  found?.focus();
}

/**
 * Once what is to be drawn is there.
 *
 * @param {() => void} act
 */
const later = (act) => requestAnimationFrame(() => requestAnimationFrame(act));

function render() {
  waits = false;
  const wrong = whyNot(history.now);
  if (wrong) view = "json";
  for (const tab of views) {
    tab.setAttribute("aria-selected", String(tab.dataset.view === view));
    tab.disabled = Boolean(wrong) && tab.dataset.view !== "json";
  }
  undoButton.disabled = !history.past.length;
  redoButton.disabled = !history.future.length;
  const { list: listToo, form: formToo, drawing } = again;
  again = {};
  if (!panel.dataset.view || panel.dataset.view !== view) showView();
  if (view === "json") return tellAgain();
  if (view === "steps" && listToo) replaced(list, () => listInto(list, studio, acts));
  if (formToo) replaced(form, formOf());
  tell(form, foundAll());
  if (view === "steps" && drawing) drawSoon();
}

function showView() {
  panel.dataset.view = view;
  panel.className = `studio-panel ${view}`;
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", `studio-tab-${view}`);
  /** @type {Record<string, () => Node[]>} */
  const shown = { steps: () => [list, host, form], exits: () => [form], json: () => [jsonView()] };
  panel.replaceChildren(...shown[view]());
  again = { list: true, form: true, drawing: true };
  if (view !== "json") update({});
}

function formOf() {
  if (view === "exits") return besideForm(studio, acts);
  const step = studio.steps.find(({ id }) => id === studio.chosen);
  return step
    ? stepForm(studio, step, acts)
    : el("p", { class: "text-subtle studio-help" }, "Choose a step to see what it does.");
}

let tellAgain = () => {};
/** @type {number | undefined} */
let drawing;
function drawSoon() {
  clearTimeout(drawing);
  if (studio.steps.length <= MANY || !host.viewport) drawNow();
  else drawing = setTimeout(() => whenReleased(drawNow), 300);
}

function drawNow() {
  const begun = performance.now();
  drawInto(host, studio, acts);
  performance.measure("studio-drawing", { start: begun });
}

function jsonView() {
  const area = el("textarea", {
    class: "engage-input engage-json studio-whole",
    "aria-label": "The definition as JSON",
    readOnly: studio.disabled,
    spellcheck: false,
  });
  area.value = write(history.now, 2);
  const said = el("div", { role: "status" });
  /** @param {string} text */
  const say = (text) =>
    said.replaceChildren(
      el("p", { class: "engage-bad" }, text),
      ...foundAll().map(({ place, message }) => el("p", {}, `${place} ${message}`)),
    );
  say("");
  tellAgain = () => say(whyNot(history.now));
  area.addEventListener("input", () => {
    try {
      const next = read(area.value);
      if (write(next) !== write(history.now)) {
        history = done(history, next);
        told = { ...told, by: undefined };
        draft.write(write(next));
      }
      area.setAttribute("aria-invalid", "false");
      say(whyNot(next));
    } catch (error) {
      area.setAttribute("aria-invalid", "true");
      say(`This is no JSON: ${/** @type {Error} */ (error).message}`);
    }
  });
  return el("div", {}, area, said);
}

addEventListener("keydown", (event) => {
  const isTyped = event.target instanceof Element && event.target.matches("input, textarea");
  if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || isTyped) return;
  event.preventDefault();
  if (event.shiftKey) acts.redo();
  else acts.undo();
});
status.textContent = given.draft || "As published.";
if (given.objection) draft.objects(given.objection);
studio.chosen = whyNot(history.now) ? null : (studio.steps[0]?.id ?? null);
update({});
