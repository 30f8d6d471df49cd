// Textareas of JSON that have a form, too: their data-form says of what. One that is only read has a form to look at.
import { beside } from "../../customers/forms/beside.js";
import { read } from "../../customers/forms/json.js";
import { editorOf } from "./fields.js";

const NOTHING = { attributes: [], connections: [], events: [], messages: [], payload: [], variables: [] };
const given = document.getElementById("forms-given");
/** @type {Studio} */
const studio = {
  suggestions: { ...NOTHING, ...(given ? JSON.parse(given.textContent ?? "") : {}) },
  chosen: null,
  asJson: new Set(),
  previewFor: "",
  get steps() {
    try {
      /** @type {HTMLTextAreaElement | null} */
      const area = document.querySelector("#id_steps");
      const steps = read(area?.value ?? "");
      return Array.isArray(steps) ? steps.filter((step) => step?.id) : [];
    } catch {
      return [];
    }
  },
};

/** @type {NodeListOf<HTMLTextAreaElement>} */
const areas = document.querySelectorAll("textarea[data-form]");
for (const area of areas) {
  const about = JSON.parse(area.dataset.form ?? "");
  const empty = about.type === "list" ? [] : undefined;
  beside(area, about.label, (value, set) => {
    const { one, told } = editorOf(about, {
      value: { [about.name]: value ?? empty },
      place: "",
      disabled: area.readOnly,
      studio,
      reshape: () => set(value, true),
      put: (_, next, reshape) => set(next, reshape),
    });
    return [one, told];
  });
}
