// Elements, made in one expression: el("button", { class: "x", click: act, disabled: true }, "Words").
/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else if (key in element && !key.startsWith("aria") && key !== "list") Object.assign(element, { [key]: value });
    else if (value !== false) element.setAttribute(key, String(value));
  }
  /** @type {Json[]} */
  const all = children.flat(3);
  element.append(...all.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @param {string} name */
export const icon = (name) => el("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, name);
/**
 * @param {Child} words
 * @param {(event: any) => unknown} click
 * @param {Properties} [more]
 */
export const button = (words, click, more = {}) =>
  el("button", { type: "button", class: "engage-button small", click, ...more }, words);

/**
 * A choice among [value, label]; what is chosen and not among them is offered as it is.
 *
 * @param {Choice[]} options
 * @param {Json} chosen
 * @param {(value: Json) => unknown} change
 * @param {Properties} [more]
 */
export function select(options, chosen, change, more = {}) {
  const known = options.some(([value]) => value === chosen) ? options : [...options, [chosen, `${chosen} (unknown)`]];
  const made = el(
    "select",
    { class: "engage-input", ...more },
    known.map(([, label], at) => el("option", { value: `${at}` }, label)),
  );
  made.value = `${known.findIndex(([value]) => value === chosen)}`;
  made.addEventListener("change", () => change(known[Number(made.value)][0]));
  return made;
}

/**
 * @param {Json} value
 * @param {(text: string) => unknown} change
 * @param {Properties} [more]
 */
export function input(value, change, more = {}) {
  const made = el("input", { class: "engage-input", autocomplete: "off", ...more });
  made.value = value ?? "";
  made.addEventListener("change", () => change(made.value));
  return made;
}

/**
 * What was set last: editors of several parts change what the others have made of it, not what was drawn.
 *
 * @param {Json} value
 * @param {Put} set
 */
export function holding(value, set) {
  /** @type {Held} */
  const held = { now: value, set: (next, reshape) => set((held.now = next), reshape) };
  return held;
}

let names = 0;
export const newId = () => `studio-${++names}`;

/**
 * An input that offers these words; others may be written, too.
 *
 * @param {string[]} words
 * @param {Json} value
 * @param {(text: string) => unknown} change
 * @param {Properties} [more]
 */
export function suggesting(words, value, change, more = {}) {
  const id = newId();
  return [
    input(value, change, { list: id, ...more }),
    el(
      "datalist",
      { id },
      words.map((word) => el("option", { value: word })),
    ),
  ];
}

let isPressed = false;
/**
 * Before the next picture, but never while a button is held down: what is clicked must not move away.
 *
 * @param {() => unknown} act
 * @returns {number}
 */
export const whenReleased = (act) => requestAnimationFrame(() => (isPressed ? whenReleased(act) : act()));
addEventListener(
  "pointerdown",
  () => {
    isPressed = true;
  },
  true,
);
for (const end of ["pointerup", "pointercancel", "dragend"])
  addEventListener(
    end,
    () =>
      setTimeout(() => {
        isPressed = false;
      }),
    true,
  );

/**
 * The new content, or what the function makes of it, with the focus where it was: on the same control of the form.
 *
 * @param {Element} place
 * @param {Node | (() => unknown)} content
 */
export function replaced(place, content) {
  const focusable = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const found = place.querySelectorAll("button, input, select, textarea, [tabindex]");
    return [...found];
  };
  const focused = focusable().find((one) => one === document.activeElement);
  const at = focused ? focusable().indexOf(focused) : -1;
  const name = focused?.getAttribute("aria-label") ?? focused?.dataset.step;
  if (typeof content === "function") content();
  else place.replaceChildren(content);
  if (!focused || place.contains(document.activeElement)) return;
  const now = focusable();
  const same = now.find((one) => name && (one.getAttribute("aria-label") === name || one.dataset.step === name));
  (same ?? now[Math.min(at, now.length - 1)])?.focus();
}

/**
 * Where it is told what is wrong at the place.
 *
 * @param {string} place
 */
export const said = (place) => el("p", { class: "studio-said engage-bad", "data-place": place });

/**
 * Puts each mistake and warning below the innermost field that it is about.
 *
 * @param {Element} form
 * @param {Found[]} found
 */
export function tell(form, found) {
  /** @type {NodeListOf<HTMLElement>} */
  const fields = form.querySelectorAll("[data-place]");
  /** @param {HTMLElement} field */
  const placeOf = (field) => field.dataset.place ?? "";
  /** @type {Map<HTMLElement, string[]>} */
  const by = new Map([...fields].map((field) => [field, []]));
  for (const { place, message, kind } of found) {
    const around = [...fields].filter((field) => {
      const own = placeOf(field);
      return place === own || (place.startsWith(own) && ".[".includes(place[own.length]));
    });
    const [innermost] = around.sort((one, other) => placeOf(other).length - placeOf(one).length);
    const rest = innermost && place.slice(placeOf(innermost).length).replace(/^\./, "");
    by.get(innermost)?.push(`${kind === "warning" ? "⚠ " : ""}${rest ? `${rest} ` : ""}${message}`);
  }
  for (const [field, messages] of by) field.textContent = messages.join(" ");
}
