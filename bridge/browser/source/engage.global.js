/* For a plain script tag: it leaves one name on the page. */
import { Engage } from "./engage.js";

globalThis.Engage = Engage;
