// What is drawn, for the checker of types.

interface Leaving {
  count: number | null;
  share?: string;
  told: string[];
}

/** `mark` is "here", "ended", "taken", "unvisited" or absent; `key` is of an end that only one way leads to. */
interface Box {
  id: string;
  type: string;
  title?: string;
  label: string;
  notes?: { text: string; kind?: string }[];
  warnings?: string[];
  href?: string;
  mark?: string;
  leaving?: Leaving | null;
  key?: string;
}

/** `count` is null where nothing is counted. `to` is the key of an end of its own. */
interface Edge {
  source: string;
  target: string;
  label: string;
  count?: number | null;
  share?: string;
  told?: string[];
  lit?: boolean;
  slot?: string;
  room?: number;
  way?: Way;
  to?: string;
}

interface Drawing {
  nodes: Box[];
  edges: Edge[];
}

interface Size {
  width: number;
  height: number;
}

interface Point {
  x: number;
  y: number;
}

interface PlacedBox extends Box {
  lines: string[];
  side: number;
  breadth: number;
  at: Point & Size;
}

interface PlacedEdge extends Edge {
  lines: string[];
  breadth: number;
  size: Size;
  at: Point & { points: Point[] };
}

/** A graph of dagre's. */
type Graph = any;

/** The element that holds a drawing, with how it is seen; before the first one is drawn, it has nothing of that. */
interface Host extends HTMLDivElement {
  viewport: HTMLElement;
  size: Size;
  seenFirst: PlacedBox;
  zoom: number;
  zoomed?: boolean;
  placed?: { graph: Graph; shape: string };
  shown?: string;
}
