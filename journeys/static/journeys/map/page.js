// Draws what a page holds as JSON, and opens what is folded before it is printed.
import { draw } from "./drawing.js";

for (const host of document.querySelectorAll("[data-drawing]")) {
  draw(host, JSON.parse(document.getElementById(host.dataset.drawing).textContent));
}
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details.engage-map-table")) folded.open = true;
});
