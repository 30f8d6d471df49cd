// A form or button with data-confirm asks that before anything is sent, and after the browser has checked the form.

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? /** @type {HTMLElement} */ (event.target).dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// Chromium leaves out autofocus on a page that follows one which a form led to.
addEventListener("load", () => {
  if (document.activeElement !== document.body) return;
  /** @type {HTMLElement | null} */
  const wanted = document.querySelector("[autofocus]");
  wanted?.focus();
});
