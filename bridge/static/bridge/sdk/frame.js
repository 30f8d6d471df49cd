/* The side of a sandboxed frame: its clicks and forms go to the page around it, which makes the calls. */
const asked = new Map();
let port, number = 0, held = [];
const ask = (...call) => new Promise((resolve) => {
  asked.set(++number, resolve);
  port ? port.postMessage([number, ...call]) : held.push([number, ...call]);
});
export const message = Object.fromEntries(
  ["track", "update", "capture", "close", "open"].map((method) => [method, (...given) => ask(method, ...given)]),
);
addEventListener("message", (event) => {
  if (event.source !== parent || event.data !== "engage:port") return;
  [port] = event.ports;
  port.onmessage = ({ data: [which, done] }) => { asked.get(which)?.(done); asked.delete(which); };
  held.splice(0).forEach((call) => port.postMessage(call));
});
parent.postMessage("engage:frame", "*");

const last = new WeakMap();
const first = (element) => { const was = last.get(element) ?? 0, now = Date.now(); last.set(element, now); return now - was > 400; };
const values = (form) => {
  const all = {}, data = new FormData(form);
  for (const name of data.keys()) {
    const list = data.getAll(name), many = list.length > 1 || form.elements[name].length > 1 && form.elements[name][0].type === "checkbox";
    all[name] = many || form.elements[name].multiple ? list : list[0];
  }
  return all;
};
addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-engage-action]"), { engageAction: action, engageEvent: name, engageProperties: given = "{}" } = button?.dataset ?? {};
  if (!button || !first(button)) return;
  if (action === "link") { event.preventDefault(); message.open(button.href, { newTab: true }); }
  else if (action === "close") message.close();
  else try { action === "track_event" ? message.track(name, JSON.parse(given)) : message.update(JSON.parse(given)); } catch { /* no JSON */ }
});
addEventListener("submit", (event) => {
  const { engageCapture: type, engageEvent: eventName } = event.target.dataset;
  if (type === undefined) return;
  event.preventDefault();
  if (first(event.target)) message.capture(values(event.target), type || eventName ? { type: type || "track_event", eventName } : undefined);
});
