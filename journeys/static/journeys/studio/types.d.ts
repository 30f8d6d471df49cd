// What the editor's parts say to each other, for the checker of types.

interface Definition {
  steps: Step[];
  exitOn?: Json[];
  [name: string]: Json;
}

type Path = (string | number)[];

/** A way on which a step may be put: that of the entry has no path, nor has what leads nowhere. */
interface Way {
  from: string;
  path: Path | null;
}

/** Where a step says what comes after it. */
interface Slot {
  path: Path;
  label: string;
  target?: string | null;
}

/** Where slots lead, by the step's id and their path. */
type Targets = Map<string, Map<string, string | null | undefined>>;

/** A type of step, as the service describes it. */
interface Kind {
  type: string;
  title: string;
  icon: string;
  does: string;
  fields: About[];
  start: { type: string; [name: string]: Json };
}

type Model = ReturnType<typeof import("./model.js").modelOf>;

/** The page, as its parts read it. */
interface Page extends Studio {
  model: Model;
  besideFields: About[];
  disabled: boolean;
  chosen: string | null;
  exitOn?: Json[];
  beside: Record<string, Json>;
  previewFor: string;
  wordsOf(step: Step): string;
  waysOf(step: Step): string[];
  foundAt(id: string): Found[];
}

/** What the service says of what is written; `by` has what is wrong by step, once that was asked for. */
interface Told {
  words: Record<string, { does?: string; ways?: string[] }>;
  mistakes: Found[];
  warnings: Found[];
  by?: Map<string, Found[]>;
}

/** Of the page, what is to be made anew. */
interface Parts {
  list?: boolean;
  form?: boolean;
  drawing?: boolean;
}

/** What can be done on the page. */
interface Acts {
  choose(id: string | null, focus?: boolean): void;
  add(way: Way): void;
  remove(id: string): void;
  up(id: string): void;
  down(id: string): void;
  duplicate(id: string): void;
  movedTo(id: string, way: Way): void;
  dropped(id: string, onto: string): void;
  rename(id: string, to: string): void;
  set(id: string, changed: (step: Step) => Json, reshape?: boolean): void;
  setBeside(name: string, next: Json, reshape?: boolean): void;
  reshape(): void;
  undo(): void;
  redo(): void;
}

/** A list of steps that is there, and by step its item and what that shows. */
interface Listed {
  list: Element;
  empty: HTMLElement;
  items: Map<string, { shown: string; item: Element }>;
}

/** What the page does with the answers about its draft. */
interface Asker {
  heard(answer: Json): void;
  says(text: string): void;
  asks(text: string, ...choices: [words: string, act: () => void][]): void;
}

/** The + on a way of the drawing. */
interface Plus extends SVGElement {
  way: Way;
}

/** What the fields of an object are made in: `replace` changes several of them at once. */
interface Around {
  value: Json;
  place: string;
  disabled?: boolean;
  studio: Studio;
  put(name: string, next: Json, reshape?: boolean): void;
  replace?(change: (now: Json) => Json, reshape?: boolean): void;
  reshape?(): void;
  id?: string;
}
