const asked = new Map(), last = new WeakMap();
let port, number = 0, waiting = [];
const ask = (...call) => new Promise((resolve) => {
  asked.set(++number, resolve);
  port ? port.postMessage([number, ...call]) : waiting.push([number, ...call]);
});
const held = (form) => [
  [...new FormData(form)],
  [...form.elements].flatMap(({ name, multiple, type }) => (multiple ? [name, name] : type === "checkbox" ? name : [])),
];
export const message = Object.fromEntries(["track", "update", "capture", "close", "open"].map((method) => [
  method, (...given) => ask(method, ...given.map((one) => (one instanceof HTMLFormElement ? held(one) : one))),
]));
addEventListener("message", (event) => {
  if (event.source !== parent || event.data !== "engage:port") return;
  [port] = event.ports;
  port.onmessage = ({ data: [which, done] }) => { asked.get(which)?.(done); asked.delete(which); };
  waiting.splice(0).forEach((call) => port.postMessage(call));
});
const knock = (ms) => {
  if (port) return;
  parent.postMessage("engage:frame", "*");
  setTimeout(knock, ms, Math.min(ms * 2, 1000));
};
knock(50);

const first = (element) => { const was = last.get(element) ?? 0, now = Date.now(); last.set(element, now); return now - was > 400; };
addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-engage-action]"), form = button?.form ?? button?.closest("form");
  if (!button) return;
  if (button.dataset.engageAction === "link") event.preventDefault();
  if (first(button)) ask("_clicked", { ...button.dataset }, button.dataset.engageHref ?? button.href, form && held(form), { newTab: true });
});
addEventListener("submit", (event) => {
  if (event.target.dataset.engageCapture === undefined) return;
  event.preventDefault();
  if (first(event.target)) ask("_sent", { ...event.target.dataset }, held(event.target));
});
