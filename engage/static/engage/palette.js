// In the box that finds any record, Enter opens the first hit of what was typed, as soon as it is there.

/** @type {HTMLInputElement | null} */
const input = document.querySelector("#search-input-command");
const results = document.getElementById("command-results");
let shown = "";
let opens = false;

function openFirst() {
  /** @type {HTMLAnchorElement | null | undefined} */
  const link = results?.querySelector("#command-results-list a");
  opens = false;
  if (link) window.location.assign(link.href);
}

if (input && results) {
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (event.target !== results) return;
    shown = new URL(/** @type {CustomEvent} */ (event).detail.xhr.responseURL).searchParams.get("s") ?? "";
    if (opens && shown === input.value) openFirst();
  });
  input.addEventListener("input", () => {
    opens = false;
  });
  // Before Unfold's own, which knows what to open only after an arrow key.
  input.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing || !input.value.trim()) return;
      const chosen = results.querySelector("li.active");
      if (chosen && shown === input.value) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (shown === input.value) openFirst();
      else opens = true;
    },
    { capture: true },
  );
}
