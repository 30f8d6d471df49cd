// Draws what a page holds as JSON, and opens what is folded before it is printed.
import { draw } from "./drawing.js";
import { edit } from "./editor.js";

/** @type {NodeListOf<Host>} */
const hosts = document.querySelectorAll("[data-drawing]");
for (const host of hosts) {
  draw(host, JSON.parse(document.getElementById(host.dataset.drawing ?? "")?.textContent ?? ""));
}
const editor = document.getElementById("journey-editor");
/** @type {HTMLTextAreaElement | null} */
const area = document.querySelector("#id_steps");
if (editor && area) edit(area, JSON.parse(editor.textContent ?? ""));
addEventListener("beforeprint", () => {
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const tables = document.querySelectorAll("details.engage-map-table");
  for (const folded of tables) folded.open = true;
});
