import type { Engage } from "./engage.js";
import type { Item } from "./messages.js";

/** Draws an item in the slot, and returns what takes it back. */
export type Draw = (item: Item, slot: Element) => (() => void) | void;
/** Draws a message as it would look: nothing is asked or said. */
export declare function preview(item: Pick<Item, "messageId" | "kind" | "content" | "actions" | "forms">, slot: Element): void;
/** Draws what is due in an element, else in the body. Returns what ends it. */
export declare function show(
  engage: Engage,
  options?: { in?: string | Element; kinds?: Record<string, Draw>; every?: number; labels?: { close?: string; send?: string } },
): () => void;
