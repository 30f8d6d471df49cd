// Names what the admin's libraries leave without one, for who has a page read aloud or looks at it on a phone.

/** Select2 makes these anew when the window's size changes. */
function choices() {
  /** @type {NodeListOf<HTMLSelectElement>} */
  const selects = document.querySelectorAll("select.select2-hidden-accessible");
  for (const select of selects) {
    const label = document.querySelector(`label[for="${select.id}"]`)?.firstChild?.textContent?.trim() ?? select.title;
    const parts = select.nextElementSibling?.querySelectorAll("[aria-labelledby], [role=textbox]");
    for (const part of parts ?? []) {
      part.removeAttribute("aria-labelledby");
      part.setAttribute("aria-label", [label, part.textContent?.trim()].filter(Boolean).join(": "));
    }
  }
}

/** @type {NodeListOf<HTMLElement>} */
const unnamed = document.querySelectorAll('#result_list td[data-label="Select record"]:not(:has(input))');
for (const cell of unnamed) {
  cell.dataset.label = cell.closest("table")?.querySelector("thead th")?.textContent?.trim();
}
for (const cell of document.querySelectorAll("#result_list td:not(:first-child, .action-checkbox + *)")) {
  if (cell.textContent?.trim() === "-") cell.classList.add("engage-none");
}
new MutationObserver((changes) => {
  if (
    changes.some(({ target, addedNodes }) => {
      const place = /** @type {Element} */ (target);
      return addedNodes.length && (place.querySelector(":scope > .select2") || place.closest(".select2"));
    })
  )
    choices();
}).observe(document.body, { childList: true, subtree: true });
addEventListener("load", () => {
  for (const hint of document.querySelectorAll(".help-tooltip[aria-label]")) hint.setAttribute("role", "img");
});
