/* The side of a sandboxed frame: its clicks and forms go to the page around it, which makes the calls. */
import { buttonOf, held, heldAround, isFirst, of } from "./forms.js";

const asked = new Map();
let port,
  number = 0,
  waiting = [];
const tell = (...call) =>
  new Promise((resolve) => {
    asked.set(++number, resolve);
    port ? port.postMessage([number, ...call]) : waiting.push([number, ...call]);
  });
export const message = Object.fromEntries(
  ["track", "update", "capture", "close", "open"].map((method) => [
    method,
    (...given) => tell(method, ...given.map((one) => (one instanceof HTMLFormElement ? held(one) : one))),
  ]),
);

/* The page may load its script, or call message.frame(), after this frame has loaded. */
const knock = (ms) => {
  if (port) return;
  parent.postMessage("engage:frame", "*");
  setTimeout(knock, ms, Math.min(ms * 2, 1000));
};

if (typeof document !== "undefined") {
  addEventListener("message", (event) => {
    if (event.source !== parent || event.data !== "engage:port") return;
    [port] = event.ports;
    port.onmessage = ({ data: [which, done] }) => {
      asked.get(which)?.(done);
      asked.delete(which);
      /* The page has taken the message back, and may show it again. */
      if (!which) {
        port = null;
        knock(50);
      }
    };
    waiting.splice(0).forEach((call) => port.postMessage(call));
  });
  knock(50);
  addEventListener("click", (event) => {
    const button = buttonOf(event);
    if (!button) return;
    const dataset = { ...of(button, "dataset") };
    if (dataset.engageAction === "link") event.preventDefault();
    const href = of(button, "href");
    if (isFirst(button)) tell("_clicked", dataset, href?.baseVal ?? href ?? dataset.engageHref, heldAround(button));
  });
  addEventListener("submit", (event) => {
    const form = event.target,
      dataset = { ...of(form, "dataset") };
    if (dataset.engageCapture === undefined) return;
    event.preventDefault();
    if (isFirst(form)) tell("_sent", dataset, held(form, event.submitter));
  });
}
