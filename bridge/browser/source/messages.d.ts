import type { Engage, Message, Outcome } from "./engage.js";

export interface Button {
  /** The id of one of the `actions`, `close` or `link`. */
  action: string;
  text: string;
  href?: string;
}
export interface Content {
  title?: string;
  text?: string;
  image?: string;
  buttons?: Button[];
  /** The id of one of the `forms`. */
  form?: string;
  data?: unknown;
}
/** What a journey has delivered. It is over, and out of the list, once somebody acts on it or closes it. */
export interface Item {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly kind: "banner" | "modal" | "card" | "custom" | (string & {});
  readonly content: Content;
  readonly actions: readonly Record<string, unknown>[];
  readonly forms: readonly Record<string, unknown>[];
  readonly expiresAt: string;
  readonly message: Message;
  /** Says that it is seen; once, however often it is called. */
  shown(): Promise<Outcome> | true;
  /** As that of a message. */
  attach(element: Element | null): () => void;
  close(actionId?: string): Promise<Outcome>;
}
/** Tells what is due whenever that changes; asks every so many seconds. Returns what ends it. */
export declare function messages(engage: Engage, tell: (items: Item[]) => void, options?: { every?: number }): () => void;
