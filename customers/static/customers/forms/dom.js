// Elements, made in one expression: el("button", { class: "x", click: act, disabled: true }, "Words").
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else if (key in element && !key.startsWith("aria") && key !== "list") element[key] = value;
    else if (value !== false) element.setAttribute(key === "class" ? "class" : key, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const icon = (name) => el("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, name);
export const button = (words, click, more = {}) =>
  el("button", { type: "button", class: "engage-button small", click, ...more }, words);

/** A choice among [value, label]; what is chosen and not among them is offered as it is. */
export function select(options, chosen, change, more = {}) {
  const known = options.some(([value]) => value === chosen) ? options : [...options, [chosen, `${chosen} (unknown)`]];
  const made = el(
    "select",
    { class: "engage-input", ...more },
    known.map(([, label], at) => el("option", { value: `${at}` }, label)),
  );
  made.value = `${known.findIndex(([value]) => value === chosen)}`;
  made.addEventListener("change", () => change(known[made.value][0]));
  return made;
}

export function input(value, change, more = {}) {
  const made = el("input", { class: "engage-input", autocomplete: "off", ...more });
  made.value = value ?? "";
  made.addEventListener("change", () => change(made.value));
  return made;
}

/** What was set last: editors of several parts change what the others have made of it, not what was drawn. */
export function holding(value, set) {
  const held = { now: value, set: (next, reshape) => set((held.now = next), reshape) };
  return held;
}

let names = 0;
export const newId = () => `studio-${++names}`;

/** An input that offers these words; others may be written, too. */
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
/** Before the next picture, but never while a button is held down: what is clicked must not move away. */
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

/** The new content, or what the function makes of it, with the focus where it was: on the same control of the form. */
export function replaced(place, content) {
  const focusable = (within) => [...within.querySelectorAll("button, input, select, textarea, [tabindex]")];
  const focused = focusable(place).indexOf(document.activeElement);
  const name = document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.dataset?.step;
  if (typeof content === "function") content();
  else place.replaceChildren(content);
  if (focused < 0 || place.contains(document.activeElement)) return;
  const now = focusable(place);
  const same = name && now.find((one) => one.getAttribute("aria-label") === name || one.dataset.step === name);
  (same ?? now[Math.min(focused, now.length - 1)])?.focus();
}

/** Where it is told what is wrong at the place. */
export const said = (place) => el("p", { class: "studio-said engage-bad", "data-place": place });

/** Puts each mistake and warning below the innermost field that it is about. */
export function tell(form, found) {
  const fields = [...form.querySelectorAll("[data-place]")];
  const by = new Map(fields.map((field) => [field, []]));
  for (const { place, message, kind } of found) {
    const within = fields.filter(
      ({ dataset }) =>
        place === dataset.place || (place.startsWith(dataset.place) && ".[".includes(place[dataset.place.length])),
    );
    const innermost = within.reduce(
      (best, field) => (!best || field.dataset.place.length > best.dataset.place.length ? field : best),
      null,
    );
    const rest = innermost ? place.slice(innermost.dataset.place.length).replace(/^\./, "") : "";
    by.get(innermost)?.push(`${kind === "warning" ? "⚠ " : ""}${rest ? `${rest} ` : ""}${message}`);
  }
  for (const [field, messages] of by) field.textContent = messages.join(" ");
}
