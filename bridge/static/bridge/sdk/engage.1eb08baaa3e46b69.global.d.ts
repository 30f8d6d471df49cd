import type { Engage as Class } from "./engage.js";

declare global {
  /** From the script tag. */
  var Engage: typeof Class;
}
