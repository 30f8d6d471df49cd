// Names what the admin's libraries leave without one, for who has a page read aloud or looks at it on a phone.

/** Select2 makes these anew when the window's size changes. */
function choices() {
  for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
    const label = document.querySelector(`label[for="${select.id}"]`)?.firstChild.textContent.trim() ?? select.title;
    for (const part of select.nextElementSibling.querySelectorAll("[aria-labelledby], [role=textbox]")) {
      part.removeAttribute("aria-labelledby");
      part.setAttribute("aria-label", [label, part.textContent.trim()].filter(Boolean).join(": "));
    }
  }
}

for (const cell of document.querySelectorAll('#result_list td[data-label="Select record"]:not(:has(input))')) {
  cell.dataset.label = cell.closest("table").querySelector("thead th").textContent.trim();
}
for (const cell of document.querySelectorAll("#result_list td:not(:first-child, .action-checkbox + *)")) {
  if (cell.textContent.trim() === "-") cell.classList.add("engage-none");
}
new MutationObserver((changes) => {
  if (
    changes.some(
      ({ target, addedNodes }) =>
        addedNodes.length && (target.querySelector(":scope > .select2") || target.closest(".select2")),
    )
  )
    choices();
}).observe(document.body, { childList: true, subtree: true });
addEventListener("load", () => {
  for (const hint of document.querySelectorAll(".help-tooltip[aria-label]")) hint.setAttribute("role", "img");
});
