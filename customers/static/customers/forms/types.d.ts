// What the forms of JSON say to each other, for the checker of types.

/** What was read of JSON: the service knows what it has to be. */
type Json = any;

type Child = Node | string | null | undefined | boolean | Child[];
type Properties = Record<string, string | number | boolean | null | undefined | ((event: any) => unknown)>;

/** A value, and the words for it. */
type Choice = [value: Json, words: string];

/** Writes a value; with `reshape`, the form is another by it, and made anew. */
type Put = (value: Json, reshape?: boolean) => void;

/** What is wrong at a place, such as `steps[2].url`. */
interface Found {
  place: string;
  message: string;
  kind?: string;
}

interface Attribute {
  name: string;
  kind?: string;
  values?: Json[];
}

/** What an author may name. */
interface Suggestions {
  attributes: Attribute[];
  connections: { key: string; name: string; inputs?: Json }[];
  events: string[];
  messages: string[];
  payload: string[];
  variables: string[];
}

interface Step {
  id: string;
  type: string;
  [name: string]: Json;
}

/** What the editors read of the page that they are on. */
interface Studio {
  suggestions: Suggestions;
  steps: Step[];
  asJson: Set<string>;
  chosen?: string | null;
  previewFor?: string;
  preview?(text: string): Promise<string>;
  wordsOf?(step: Step): string;
}

/** A field, as the service describes it; `type` decides which of these it has. */
interface About {
  name: string;
  type: string;
  label: string;
  fields: About[];
  variants: { name: string; label: string; fields: About[] }[];
  choices: Json[];
  [more: string]: Json;
}

/** What an editor of a value is given. */
interface Written {
  value: Json;
  set: Put;
  label: string;
  disabled?: boolean;
  id?: string;
  optional?: boolean;
}

/** What an editor of a field is given; `owner` is the object whose field it is. */
interface Context extends Written {
  place: string;
  about: About;
  studio: Studio;
  reshape?(): void;
  owner?: Json;
}

/** How an input is read: `why` says what is wrong with what `of` cannot read. */
interface Reading {
  of(text: string): Json;
  why: string;
  show?(value: Json): string;
  optional?: boolean;
}

/** What was set last. */
interface Held {
  now: Json;
  set: Put;
}
