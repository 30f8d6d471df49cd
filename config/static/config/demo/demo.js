import { Engage } from "/sdk/v1/engage.js";
import { show } from "/sdk/v1/show.js";

// Who is not logged in has none, and needs none.
let isLoggedIn = false;
const token = async () => (isLoggedIn ? (await fetch("/demo/token")).text() : "");
const engage = new Engage({ app: document.documentElement.dataset.app ?? "", host: location.origin, token });
show(engage, { every: 1 });
/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @type {NodeListOf<HTMLElement>} */
const messages = document.querySelectorAll("[data-message]");
const frame = /** @type {HTMLIFrameElement} */ (document.querySelector("iframe"));
const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("dialog"));

for (const element of messages) engage.message(element.dataset.message ?? "").attach(element);
engage.message("demo-frame").frame(frame, { events: ["frame_clicked", "frame_answered"] });

// Each message closes in its own way, which is the page's affair.
/**
 * @param {string} messageId
 * @param {boolean} isShown
 */
const shown = (messageId, isShown) => {
  if (messageId === "demo-modal") isShown ? dialog.showModal() : dialog.close();
  else if (messageId === "demo-frame") frame.hidden = !isShown;
  else for (const one of messages) if (one.dataset.message === messageId) one.hidden = !isShown;
};
engage.on("close", ({ messageId }) => shown(messageId, false));
byId("open").onclick = () => shown("demo-modal", true);
byId("reopen").onclick = () => ["demo-banner", "demo-frame"].forEach((messageId) => shown(messageId, true));

let me = "an anonymous person";
/** @param {string} name */
const known = (name) => {
  byId("me").textContent = me = name;
};
known(me);
byId("login").onclick = () => {
  isLoggedIn = true;
  engage.identify({ external_id: "ada" });
  known("ada");
};
byId("logout").onclick = () => {
  isLoggedIn = false;
  engage.reset();
  known("an anonymous person");
};

const waiting = new Set();
const state = () => {
  byId("state").textContent = waiting.size ? `${waiting.size} on the way` : "all sent";
};
engage.on("queued", ({ key }) => {
  waiting.add(key);
  state();
});
/** @param {{ key: string }} told */
const ended = ({ key }) => {
  waiting.delete(key);
  state();
  look();
};
engage.on("sent", ended);
engage.on("refused", ended);
state();

/** @type {Record<string, string>} */
const CALLED = { track_event: "event", update_profile: "profile", capture: "form" };
/**
 * @param {string} tag
 * @param {string} text
 */
const made = (tag, text, className = "") =>
  Object.assign(document.createElement(tag), { textContent: text, className });
/**
 * @param {any} one
 * @param {boolean | null} isNew
 */
const row = (one, isNew) => {
  const item = made("li", "", isNew ? "new" : "");
  const heading = made("p", "", "what");
  heading.append(
    made("span", CALLED[one.kind] ?? one.kind, `kind ${one.kind}`),
    made("strong", one.event ?? one.attributes.join(", ")),
    made("time", new Date(one.at).toLocaleTimeString()),
  );
  item.append(heading, made("p", `${one.messageId} · ${one.person}`, "where"));
  if (Object.keys(one.values).length) item.append(made("code", JSON.stringify(one.values)));
  return item;
};

/** @type {Set<string> | null} */
let seen = null;
const look = async () => {
  try {
    /** @type {{ recorded: any[] }} */
    const { recorded } = await (await fetch("/demo/recorded")).json();
    const before = seen;
    seen = new Set(recorded.map(({ id }) => id));
    const rows = recorded.map((one) => row(one, before && !before.has(one.id)));
    if (!before || recorded.some(({ id }) => !before.has(id))) byId("recorded").replaceChildren(...rows);
    if (!rows.length) byId("recorded").replaceChildren(made("li", "Nothing yet: click in a message.", "empty"));
  } catch {
    /* offline: the next look tells */
  }
};
look();
setInterval(() => document.hidden || look(), 1000);
