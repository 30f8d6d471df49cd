// The drawing of what is edited, with a + on every way.
import { draw } from "../map/drawing.js";
import { dragged } from "./dragging.js";
import { ENTRY } from "./model.js";

const SVG = "http://www.w3.org/2000/svg";
const ROOM = 28; // for a button
const RADIUS = 11;

/**
 * @param {Host} host
 * @param {Page} studio
 * @param {Acts} acts
 */
export function drawInto(host, studio, acts) {
  const { scrollLeft, scrollTop } = host.viewport ?? {};
  const active = /** @type {HTMLElement | null} */ (document.activeElement);
  const focused = active && host.contains(active) ? active.dataset : {};
  const { svg, edges } = draw(host, drawingOf(studio));
  const shown = `${studio.chosen} ${edges.length}`;
  if (host.shown === shown) host.viewport.scrollTo(scrollLeft, scrollTop); // the same, in other words
  host.shown = shown;
  /** @type {NodeListOf<SVGElement>} */
  const boxes = svg.querySelectorAll("[data-step]");
  for (const box of boxes) {
    const id = box.dataset.step ?? "";
    if (id.startsWith("@")) continue;
    acting(box, `Step ${id}`, () => acts.choose(id, true));
    if (!studio.disabled)
      dragged(box, host, { places: () => studio.model.placesFor(studio, id), drop: (way) => acts.movedTo(id, way) });
  }
  if (studio.disabled) return;
  svg.append(...edges.flatMap((edge) => (edge.way ? plusOn(edge, edge.way, acts) : [])));
  const again = focused.step
    ? `[data-step="${focused.step}"]`
    : focused.way
      ? `[data-way="${focused.way}"].studio-map-plus`
      : "";
  /** @type {SVGElement | null} */
  const same = again ? svg.querySelector(again) : null;
  same?.focus();
}

/**
 * @param {Page} studio
 * @returns {Drawing}
 */
function drawingOf(studio) {
  const { steps, exitOn, chosen } = studio;
  const slots = studio.model.slotsOf(studio);
  /** @type {Edge[]} */
  const edges = [
    { source: ENTRY, target: steps[0]?.id ?? "@completed", label: "", slot: ENTRY, way: { from: ENTRY, path: null } },
  ];
  for (const step of steps) {
    const own = slots.get(step.id) ?? [];
    const labels = studio.waysOf(step);
    own.forEach(({ path, label, target }, at) => {
      const words = own.length > 1 ? labels[at] || label : "";
      if (target !== undefined)
        edges.push({
          source: step.id,
          target: target ?? "@completed",
          label: words,
          slot: path.join(),
          way: { from: step.id, path },
        });
    });
    if (step.type === "exit" || step.onFailure === "exit")
      edges.push({ source: step.id, target: "@exited", label: step.type === "exit" ? "" : "failed", slot: "exit" });
  }
  const leaving = exitOn?.length
    ? {
        count: null,
        told: exitOn.map(({ event }) => (event === undefined ? "a condition holds" : `the event '${event}'`)),
      }
    : null;
  const ends = [
    ["@completed", "completed", "Completed"],
    ["@exited", "exited", "Exited"],
  ].filter(([id]) => edges.some(({ target }) => target === id));
  return {
    nodes: [
      { id: ENTRY, type: "entry", title: "", label: "Entered", notes: [] },
      ...steps.map((step) => ({
        id: step.id,
        type: step.type,
        title: step.id,
        label: studio.wordsOf(step),
        notes: notesOf(studio, step),
        warnings: studio.foundAt(step.id).map(({ message }) => message),
        mark: step.id === chosen ? "here" : undefined,
        leaving: step.type === "exit" ? null : leaving,
      })),
      ...ends.map(([id, type, label]) => ({ id, type, title: "", label, notes: [] })),
    ],
    edges: edges.map((edge) => ({ ...edge, count: null, room: edge.way && !studio.disabled ? ROOM : 0 })),
  };
}

/**
 * @param {Page} studio
 * @param {Step} step
 */
function notesOf(studio, step) {
  const found = studio.foundAt(step.id);
  if (!found.length) return [];
  const mistake = found.some(({ kind }) => kind !== "warning");
  return [{ text: mistake ? "✕ mistake" : "⚠ warning", kind: mistake ? "failed" : "warning" }];
}

/**
 * @param {PlacedEdge} edge
 * @param {Way} way
 * @param {Acts} acts
 */
function plusOn(edge, way, acts) {
  const { x, y } = edge.at;
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", "studio-map-plus");
  group.setAttribute("transform", `translate(${x} ${y + edge.size.height / 2 - ROOM / 2})`);
  const circle = document.createElementNS(SVG, "circle");
  circle.setAttribute("r", `${RADIUS}`);
  const text = document.createElementNS(SVG, "text");
  text.setAttribute("text-anchor", "middle");
  text.setAttribute("y", "5");
  text.textContent = "+";
  group.append(circle, text);
  const { from, path } = way;
  group.dataset.way = `${from} ${path ?? ""}`.trim();
  Object.assign(group, { way });
  acting(group, `Add a step between ${from} and ${edge.target}`, () => acts.add(way));
  group.addEventListener("dragover", (event) => event.preventDefault());
  group.addEventListener("drop", ({ dataTransfer }) => acts.movedTo(dataTransfer?.getData("text/x-step") ?? "", way));
  return group;
}

/**
 * The drawing's parts are buttons, of the mouse and of the keyboard.
 *
 * @param {SVGElement} element
 * @param {string} label
 * @param {() => void} act
 */
function acting(element, label, act) {
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "0");
  element.setAttribute("aria-label", label);
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  });
}
