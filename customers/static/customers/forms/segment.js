// The page of a segment: its conditions as rows, and how many would belong to it. Who may only look has the rows,
// disabled.
import { beside } from "./beside.js";
import { conditionEditor } from "./conditions.js";
import { counting } from "./counting.js";
import { el, said } from "./dom.js";

const given = JSON.parse(document.getElementById("segment-given")?.textContent ?? "");
/** @type {HTMLTextAreaElement | null} */
const area = document.querySelector("#id_conditions");
const studio = { suggestions: given.suggestions, steps: [], asJson: new Set() };

if (area) {
  const about = JSON.parse(area.dataset.form ?? "");
  const shown = beside(area, about.label, (value, set) => [
    conditionEditor({
      value,
      set,
      about,
      studio,
      label: about.label,
      place: "conditions",
      optional: true,
      disabled: area.readOnly,
    }),
    said("conditions"),
  ]);
  if (given.url && !area.readOnly) {
    const told = el("p", { class: "studio-count", role: "status" });
    shown.host.after(told);
    counting(area, given.url, (answer) => {
      const mistakes = answer?.mistakes ?? [];
      shown.tell(mistakes);
      if (mistakes.length) told.textContent = "It is counted once the conditions are whole.";
      else
        told.textContent = answer ? `With what is written here: ${answer.told}.` : "It could not be counted just now.";
    });
  }
}
