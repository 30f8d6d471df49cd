// Inputs of what is read from what is typed. What cannot be read stands there as it was typed, and is told: neither
// what stood there before nor nothing is saved in its place without a word.
import { el, input, newId, whenReleased } from "./dom.js";
import { isNumber, isUnread, unread } from "./json.js";
import { shownNumber } from "./numbers.js";

/**
 * An input that shows what is `shown`. `whyNot(text)` says what is wrong with what is typed, "" if nothing is;
 * `take(text)` is given all that is typed. What is wrong at the beginning is told if it is `told`.
 *
 * @param {Json} shown
 * @param {(text: string) => unknown} take
 * @param {Properties & { whyNot: (text: string) => string, told?: boolean }} how
 */
export function entered(shown, take, { whyNot, told = false, ...more }) {
  const said = el("p", { class: "studio-unread engage-bad", role: "status", id: newId() });
  const made = input(
    shown,
    (text) => {
      look();
      take(text);
    },
    { "aria-describedby": said.id, ...more },
  );
  const look = () => refused(made, said, whyNot(made.value));
  if (told) look();
  return [made, said];
}

/**
 * Says at the control, and beside it, what is wrong with it; "" if nothing is. An event "refused" has it for the page,
 * which may show another form by then: a name that cannot be is not kept.
 *
 * @param {HTMLElement} control
 * @param {HTMLElement} said
 * @param {string} why
 */
export function refused(control, said, why) {
  control.setAttribute("aria-invalid", String(Boolean(why)));
  if (why) control.dispatchEvent(new CustomEvent("refused", { bubbles: true, detail: why }));
  whenReleased(() => {
    said.textContent = why;
  });
}

/**
 * The first control in the place that holds what cannot be read, if there is one.
 *
 * @param {Element} place
 * @returns {HTMLElement | null}
 */
export const refusedIn = (place) => place.querySelector('[aria-invalid="true"]');

/**
 * An input of what `of(text)` reads; undefined is what it cannot read.
 *
 * @param {Json} value
 * @param {Put} set
 * @param {Properties & Reading} how
 */
export function readInput(value, set, { optional, of, why, show = shownNumber, ...more }) {
  /** @param {string} text */
  const isNothing = (text) => optional && !text.trim();
  return entered(
    isNumber(value) && !isUnread(value) ? show(value) : shownNumber(value),
    (text) => set(isNothing(text) ? undefined : (of(text) ?? unread(text))),
    {
      told: typeof value === "string",
      whyNot: (text) => (isNothing(text) || of(text) !== undefined ? "" : why),
      ...more,
    },
  );
}
