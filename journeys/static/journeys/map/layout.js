// Where the boxes and ways of a drawing go, by dagre.
import { layout } from "./dagre/dagre.esm.js";

/**
 * {graph, shape}: the graph laid out. `before`, the last one of this drawing, is taken again where only words differ.
 * Of many boxes the order in which they were found will do if no ways cross then: half of the time goes by looking for
 * a better one.
 *
 * @param {Graph} graph
 * @param {{ before?: { graph: Graph, shape: string }, isMany: boolean }} how
 */
export function placed(graph, { before, isMany }) {
  const sizes = [
    graph.nodes().map((/** @type {string} */ id) => [id, graph.node(id)]),
    graph.edges().map((/** @type {unknown} */ edge) => [edge, graph.edge(edge)]),
  ];
  const shape = JSON.stringify([graph.graph(), ...sizes]);
  if (before?.shape === shape) return before;
  let isSearched = true;
  /**
   * @param {Graph} ranked
   * @param {(ranked: Graph, how?: object) => void} order
   */
  const customOrder = (ranked, order) => {
    order(ranked, { disableOptimalOrderHeuristic: true });
    isSearched = crosses(ranked);
    if (isSearched) order(ranked);
  };
  layout(graph, isMany ? { customOrder } : {});
  if (isSearched) mirror(graph);
  return { graph, shape };
}

/** @param {Graph} ranked */
function crosses(ranked) {
  /** @type {{ rank: number, order: number }[][]} */
  const ways = ranked
    .edges()
    .map((/** @type {{ v: string, w: string }} */ { v, w }) => [ranked.node(v), ranked.node(w)]);
  ways.sort(([a, b], [c, d]) => a.rank - c.rank || a.order - c.order || b.order - d.order);
  return ways.some(
    ([from, to], at) => at > 0 && ways[at - 1][0].rank === from.rank && to.order < ways[at - 1][1].order,
  );
}

/**
 * A search for an order begins on the right: what stands first in the definition goes to the left.
 *
 * @param {Graph} graph
 */
function mirror(graph) {
  const { width } = graph.graph();
  /** @type {{ x?: number, points?: Point[] }[]} */
  const things = [
    ...graph.nodes().map((/** @type {string} */ id) => graph.node(id)),
    ...graph.edges().map((/** @type {unknown} */ edge) => graph.edge(edge)),
  ];
  for (const thing of things.flatMap((one) => [one, ...(one.points ?? [])])) {
    if (thing.x !== undefined) thing.x = width - thing.x;
  }
}
