import type { Message, Outcome, SubmitAction } from "./engage.js";

/** The message of the page around this frame. */
export declare const message: Pick<Message, "track" | "update" | "close"> & {
  capture(form: HTMLFormElement | Record<string, unknown>, submitAction?: SubmitAction, actionId?: string): Promise<Outcome>;
  /** In a new tab, shortly after a click in this frame. */
  open(url: string, options?: { actionId?: string }): Promise<Outcome>;
};
