// Draws what a page holds as JSON, and opens what is folded before it is printed.
import { draw } from "./drawing.js";
import { edit } from "./editor.js";

for (const host of document.querySelectorAll("[data-drawing]")) {
  draw(host, JSON.parse(document.getElementById(host.dataset.drawing).textContent));
}
const editor = document.getElementById("journey-editor");
const steps = document.getElementById("id_steps");
if (editor && steps) edit(steps, JSON.parse(editor.textContent));
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details.engage-map-table")) folded.open = true;
});
