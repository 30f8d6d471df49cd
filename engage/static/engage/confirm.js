// A form or button with data-confirm asks that before anything is sent, and after the browser has checked the form.

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});

// Chromium leaves out autofocus on a page that follows one which a form led to.
addEventListener("load", () => {
  if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();
});
