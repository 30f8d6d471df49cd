// Draws a journey's steps: boxes with words and numbers, and ways as wide as the customers on them.
//
// A drawing is {nodes: [{id, type, title, label, notes: [{text, kind}], warnings: [text], href, mark, leaving}],
//               edges: [{source, target, label, count, share, told: [text], lit, slot, room}]}.
// `mark` is "here", "ended", "taken", "unvisited" or absent; `count` is null where nothing is counted. Several edges
// between the same two have different slots; an edge with room has so much place for a button below its words.
// `leaving`, {count, told: [text]}, is for a step from which some end early: a dotted line to its right.
import { Graph } from "./dagre/dagre.esm.js";
import { placed } from "./layout.js";

const SVG = "http://www.w3.org/2000/svg";
const BOX = { width: 236, line: 17, padding: 12, letters: 33, lines: 3 };
const WAY = { letters: 26, lines: 2, line: 15, letter: 6.4 };
const LEAVING = { shortest: 44, thinnest: 2.5 };
const ENDS_EARLY = "@exited";
const ZOOM = { least: 0.01, most: 3, readable: 0.72, step: 1.25 };
const MANY = 60; // nodes
const THINNEST = 1.5;
const WIDEST = 16;
let drawings = 0;

/**
 * Draws into the element, which keeps its zoom if it has been drawn into before; the SVG, and where the edges are.
 *
 * @param {Host} host
 * @param {Drawing} drawing
 */
export function draw(host, drawing) {
  const viewport = host.viewport ?? equip(host);
  const { nodes, edges, width, height } = arranged(drawing, host);
  const prefix = `map${++drawings}`;
  const svg = made("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": host.dataset.title ?? "" });
  svg.append(arrowheads(prefix));
  svg.append(...edges.map((edge) => wayOf(edge, prefix)));
  svg.append(...nodes.flatMap((node) => (node.leaving ? leavingOf(node, node.leaving, prefix) : [])));
  svg.append(...edges.flatMap(textOfWay));
  svg.append(...nodes.map(boxOf));
  viewport.replaceChildren(svg);
  Object.assign(host, { size: { width, height }, seenFirst: nodes.find((node) => node.mark === "here") ?? nodes[0] });
  if (host.zoomed) show(host, host.zoom);
  else begin(host);
  return { svg, edges };
}

/**
 * @param {Drawing} drawing
 * @param {Host} host
 * @returns {{ width: number, height: number, nodes: PlacedBox[], edges: PlacedEdge[] }}
 */
function arranged(drawing, host) {
  const isMany = drawing.nodes.length > MANY;
  const { nodes, edges } = isMany ? withEndsOfTheirOwn(drawing) : drawing;
  const sizes = new Graph({ multigraph: true });
  const side = Math.max(0, ...nodes.map(lengthOfLeaving)); // to the right of each step
  sizes.setGraph({ rankdir: "TB", nodesep: 36 + side, ranksep: 44, edgesep: 18, marginx: 16, marginy: 16 });
  const boxes = nodes.map((node) => ({ ...node, lines: wrapped(node.label, BOX.letters, BOX.lines) }));
  for (const box of boxes) {
    const rows = (box.title ? 1 : 0) + box.lines.length + (box.notes?.length ? 1 : 0);
    sizes.setNode(box.key ?? box.id, { width: BOX.width, height: rows * BOX.line + 2 * BOX.padding });
  }
  const most = Math.max(1, ...edges.map((edge) => edge.count ?? 0), ...nodes.map(({ leaving }) => leaving?.count ?? 0));
  /** @param {number | null} [count] */
  const breadthOf = (count) => THINNEST + (count ? (WIDEST - THINNEST) * (count / most) : 0);
  const ways = edges.map((edge) => {
    const lines = wrapped(edge.label, WAY.letters, WAY.lines);
    if (edge.count) lines.unshift(countOf(edge));
    lines.push(...(edge.told ?? []).flatMap((text) => wrapped(text, WAY.letters, WAY.lines)));
    const room = edge.room ?? 0;
    const size = {
      width: Math.max(room, ...lines.map((line) => line.length * WAY.letter)),
      height: lines.length * WAY.line + room,
    };
    sizes.setEdge(edge.source, edge.to ?? edge.target, { ...size, labelpos: "c" }, edge.slot);
    return { ...edge, lines, breadth: breadthOf(edge.count), size };
  });
  host.placed = placed(sizes, { before: host.placed, isMany });
  const { graph } = host.placed;
  return {
    width: graph.graph().width + side,
    height: graph.graph().height,
    nodes: boxes.map((box) => ({
      ...box,
      side,
      breadth: breadthOf(box.leaving?.count),
      at: graph.node(box.key ?? box.id),
    })),
    edges: ways.map((way) => ({ ...way, at: graph.edge(way.source, way.to ?? way.target, way.slot) })),
  };
}

/**
 * Each way to an end gets an end of its own: long ways to one are hard to follow, and take long to lay out.
 *
 * @param {Drawing} drawing
 * @returns {Drawing}
 */
function withEndsOfTheirOwn({ nodes, edges }) {
  const ends = new Map(
    nodes.filter(({ type }) => type === "completed" || type === "exited").map((end) => [end.id, end]),
  );
  const near = edges.flatMap(({ source, target, lit }) => {
    const end = ends.get(target);
    if (!end) return [];
    const mark = lit || !end.mark ? end.mark : "unvisited";
    return [{ ...end, key: `${target} ${source}`, notes: lit ? end.notes : [], mark }];
  });
  return {
    nodes: [...nodes.filter(({ id }) => !ends.has(id)), ...near],
    edges: edges.map((edge) => (ends.has(edge.target) ? { ...edge, to: `${edge.target} ${edge.source}` } : edge)),
  };
}

/**
 * The text in lines of at most so many letters; the last one ends in an ellipsis if there is more.
 *
 * @param {string | undefined} text
 * @param {number} letters
 * @param {number} most
 */
function wrapped(text, letters, most) {
  /** @type {string[]} */
  const lines = [];
  let left = (text ?? "").trim();
  while (left && lines.length < most) {
    if (left.length <= letters) {
      lines.push(left);
      return lines;
    }
    const last = lines.length === most - 1;
    const space = left.lastIndexOf(" ", letters);
    const cut = !last && space > letters / 2 ? space : letters - (last ? 1 : 0);
    lines.push(left.slice(0, cut).trimEnd() + (last ? "…" : ""));
    left = left.slice(cut).trimStart();
  }
  return lines;
}

/**
 * @param {string} name
 * @param {Record<string, string | number | null | undefined>} attributes
 * @param {...(Node | string)} children
 */
function made(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(key, `${value}`);
  }
  element.append(...children);
  return element;
}

/** @param {string} prefix */
function arrowheads(prefix) {
  /** @param {string} kind */
  const head = (kind) =>
    made(
      "marker",
      {
        id: `${prefix}-${kind}`,
        viewBox: "0 0 10 10",
        refX: 9,
        refY: 5,
        markerWidth: 10,
        markerHeight: 10,
        orient: "auto",
        markerUnits: "userSpaceOnUse",
      },
      made("path", { d: "M0 0 10 5 0 10z", class: `engage-map-head ${kind}` }),
    );
  return made("defs", {}, head("way"), head("lit"));
}

/**
 * @param {PlacedEdge} edge
 * @param {string} prefix
 */
function wayOf(edge, prefix) {
  const kind = edge.lit ? "lit" : "way";
  const isLeaving = edge.target === ENDS_EARLY;
  const classes = ["engage-map-way", kind, isLeaving ? "leaving" : edge.count === 0 ? "unused" : ""];
  const path = made("path", {
    d: curve(edge.at.points),
    class: classes.filter(Boolean).join(" "),
    "stroke-width": Math.max(isLeaving ? LEAVING.thinnest : 0, edge.breadth).toFixed(1),
    "marker-end": `url(#${prefix}-${kind})`,
    "data-way": `${edge.source} ${edge.target}`,
  });
  path.append(made("title", {}, wordsOfWay(edge)));
  return path;
}

/** @param {Box} box */
const lengthOfLeaving = ({ leaving }) =>
  leaving ? Math.max(LEAVING.shortest, ((leaving.count?.toLocaleString("en") ?? "").length + 2) * WAY.letter) : 0;

/**
 * Out of the side of the box, with how many went there.
 *
 * @param {PlacedBox} node
 * @param {Leaving} leaving
 * @param {string} prefix
 */
function leavingOf(node, leaving, prefix) {
  const { side, breadth } = node;
  const { x, y, width } = node.at;
  const path = made("path", {
    d: `M${x + width / 2} ${y}h${side - 2}`,
    class: "engage-map-way leaving",
    "stroke-width": Math.max(LEAVING.thinnest, breadth).toFixed(1),
    "marker-end": `url(#${prefix}-way)`,
    "data-leaving": node.id,
  });
  path.append(
    made(
      "title",
      {},
      `${node.id} is left early${leaving.count ? ` by ${countOf(leaving)}` : ""}: ${leaving.told.join("; ")}`,
    ),
  );
  if (!leaving.count) return [path];
  return [
    path,
    made(
      "text",
      { x: x + width / 2 + 6, y: y - breadth / 2 - 4, class: "engage-map-words engage-map-count" },
      countOf(leaving),
    ),
  ];
}

/** @param {{ count?: number | null, share?: string }} counted */
function countOf({ count, share }) {
  return `${count?.toLocaleString("en")}${share ? ` · ${share}` : ""}`;
}

/** @param {Edge} edge */
function wordsOfWay(edge) {
  const { source, target, label, count, told } = edge;
  const counted = count === null || count === undefined ? "" : `: ${[countOf(edge), ...(told ?? [])].join("; ")}`;
  return `${source} → ${target}${label ? ` (${label})` : ""}${counted}`;
}

/**
 * Through the middles between the points, so that bends are round.
 *
 * @param {Point[]} points
 */
function curve(points) {
  const [first, ...rest] = points.map(({ x, y }) => [x.toFixed(1), y.toFixed(1)]);
  const last = rest.pop() ?? first;
  /**
   * @param {string[]} from
   * @param {string[]} to
   */
  const middle = ([x, y], [u, v]) => [((+x + +u) / 2).toFixed(1), ((+y + +v) / 2).toFixed(1)];
  const bends = rest.map((point, at) => `Q${point} ${at + 1 < rest.length ? middle(point, rest[at + 1]) : last}`);
  return `M${first}${bends.join("") || `L${last}`}`;
}

/** @param {PlacedEdge} edge */
function textOfWay(edge) {
  if (!edge.lines.length) return [];
  const { x, y } = edge.at;
  const { width, height } = edge.size;
  const back = made("rect", {
    x: x - width / 2 - 3,
    y: y - height / 2 - 1,
    width: width + 6,
    height: height + 2,
    rx: 3,
    class: "engage-map-back",
  });
  const text = made("text", { class: `engage-map-words${edge.lit ? " lit" : ""}`, "text-anchor": "middle" });
  edge.lines.forEach((line, at) => {
    const counted = edge.count && at === 0 ? "engage-map-count" : null;
    text.append(made("tspan", { x, y: y - height / 2 + WAY.line * (at + 0.8), class: counted }, line));
  });
  text.append(made("title", {}, wordsOfWay(edge)));
  return [back, text];
}

/** @param {PlacedBox} node */
function boxOf(node) {
  const { x, y, width, height } = node.at;
  const left = x - width / 2;
  const group = made("g", { class: `engage-map-step ${node.type} ${node.mark ?? ""}`, "data-step": node.id });
  const rounded = node.id.startsWith("@") ? height / 2 : 8;
  group.append(made("rect", { x: left, y: y - height / 2, width, height, rx: rounded }));
  let line = y - height / 2 + BOX.padding + BOX.line * 0.72;
  /**
   * @param {(Node | string)[]} text
   * @param {string} kind
   */
  const written = (text, kind) => {
    group.append(made("text", { x, y: line, class: kind, "text-anchor": "middle" }, ...text));
    line += BOX.line;
  };
  if (node.title) written(wrapped(node.title, 28, 1), "engage-map-title");
  for (const text of node.lines) written([text], "engage-map-label");
  const notes = node.notes ?? [];
  const parts = notes.flatMap(({ text, kind }, at) => [
    ...(at ? [" · "] : []),
    made("tspan", { class: `engage-map-note ${kind ?? ""}` }, text),
  ]);
  if (parts.length) written(parts, "engage-map-notes");
  const words = [node.title, node.label, ...notes.map((note) => note.text), ...(node.warnings ?? [])]
    .filter(Boolean)
    .join(", ");
  group.append(made("title", {}, words));
  if (!node.href) return group;
  return made("a", { href: node.href, "aria-label": words }, group);
}

/**
 * Gives the element what it is zoomed and moved with; the viewport scrolls as everything on a page does.
 *
 * @param {Host} host
 */
function equip(host) {
  const bar = document.createElement("div");
  bar.className = "engage-map-bar";
  /**
   * @param {string} text
   * @param {string} label
   * @param {() => void} act
   */
  const button = (text, label, act) => {
    const one = document.createElement("button");
    Object.assign(one, { type: "button", textContent: text, title: label });
    one.setAttribute("aria-label", label);
    one.addEventListener("click", act);
    bar.append(one);
  };
  /** @param {number} factor */
  const times = (factor) => zoomTo(host, host.zoom * factor);
  /** @type {Record<string, () => void>} */
  const acts = {
    "+": () => times(ZOOM.step),
    "-": () => times(1 / ZOOM.step),
    0: () => zoomTo(host, fitting(host)),
    1: () => zoomTo(host, 1),
  };
  button("+", "Zoom in (+)", acts["+"]);
  button("−", "Zoom out (-)", acts["-"]);
  button("Fit", "Show all of it (0)", acts[0]);
  button("1:1", "Show it in its own size (1)", acts[1]);
  const viewport = document.createElement("div");
  viewport.className = "engage-map-viewport";
  viewport.tabIndex = 0;
  viewport.setAttribute("role", "region");
  viewport.setAttribute("aria-label", `${host.dataset.title ?? "Map"}; + and - zoom, arrows move`);
  viewport.addEventListener("keydown", (event) => {
    const act = acts[event.key === "=" ? "+" : event.key];
    if (act && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      act();
    }
  });
  viewport.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // the page scrolls on
      event.preventDefault();
      zoomTo(host, host.zoom * Math.exp(-event.deltaY / 300), event);
    },
    { passive: false },
  );
  pans(viewport);
  host.replaceChildren(bar, viewport);
  host.viewport = viewport;
  return viewport;
}

/** @param {HTMLElement} viewport */
function pans(viewport) {
  /** @type {Point | null} */
  let from = null;
  viewport.addEventListener("pointerdown", (event) => {
    if (
      event.pointerType !== "mouse" ||
      event.button !== 0 ||
      /** @type {Element} */ (event.target).closest("a, [role=button]")
    )
      return;
    from = { x: event.clientX + viewport.scrollLeft, y: event.clientY + viewport.scrollTop };
    viewport.setPointerCapture(event.pointerId);
    viewport.classList.add("moving");
  });
  viewport.addEventListener("pointermove", (event) => {
    if (from) viewport.scrollTo(from.x - event.clientX, from.y - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    viewport.addEventListener(end, () => {
      from = null;
      viewport.classList.remove("moving");
    });
  }
}

/** @param {HTMLElement} viewport */
const tallest = (viewport) => parseFloat(getComputedStyle(viewport).maxHeight) || viewport.clientHeight;
/** @param {Host} host */
const fitting = ({ viewport, size }) => Math.min(1, viewport.clientWidth / size.width, tallest(viewport) / size.height);

/**
 * All of it if that can be read; otherwise where customers enter, or stand.
 *
 * @param {Host} host
 */
function begin(host) {
  const { viewport, seenFirst } = host;
  const whole = fitting(host);
  show(
    host,
    whole >= ZOOM.readable ? whole : Math.max(ZOOM.readable, Math.min(1, viewport.clientWidth / host.size.width)),
  );
  const { x, y, height } = seenFirst.at;
  const above = seenFirst.mark === "here" ? viewport.clientHeight / 2 : (height / 2 + 16) * host.zoom;
  viewport.scrollTo(x * host.zoom - viewport.clientWidth / 2, y * host.zoom - above);
}

/**
 * @param {Host} host
 * @param {number} zoom
 */
function show(host, zoom) {
  host.zoom = Math.min(ZOOM.most, Math.max(ZOOM.least, zoom));
  const svg = host.viewport.firstElementChild;
  svg?.setAttribute("width", `${host.size.width * host.zoom}`);
  svg?.setAttribute("height", `${host.size.height * host.zoom}`);
}

/**
 * Zooms around the pointer, or around the middle of what is seen.
 *
 * @param {Host} host
 * @param {number} zoom
 * @param {MouseEvent} [pointer]
 */
function zoomTo(host, zoom, pointer) {
  const { viewport } = host;
  const frame = viewport.getBoundingClientRect();
  const x = pointer ? pointer.clientX - frame.left : viewport.clientWidth / 2;
  const y = pointer ? pointer.clientY - frame.top : viewport.clientHeight / 2;
  const before = host.zoom;
  const [left, top] = [(viewport.scrollLeft + x) / before, (viewport.scrollTop + y) / before];
  show(host, zoom);
  host.zoomed = true;
  viewport.scrollTo(left * host.zoom - x, top * host.zoom - y);
}
