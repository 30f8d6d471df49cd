/* Draws what journeys deliver: banners, modals and cards, in a shadow of their own. Whatever a text holds is text. */
import { messages } from "./messages.js";

const STYLE = `\
:host{--_b:var(--engage-background,#fff);--_c:var(--engage-color,#1f2328);--_a:var(--engage-accent,#0b57d0);\
--_o:var(--engage-on-accent,#fff);--_e:var(--engage-border,#747b83);display:block;color-scheme:light dark}\
@media (prefers-color-scheme:dark){:host{--_b:var(--engage-background,#1f2328);--_c:var(--engage-color,#f0f3f6);\
--_a:var(--engage-accent,#a8c7fa);--_o:var(--engage-on-accent,#062e6f);--_e:var(--engage-border,#8b949e)}}\
*{box-sizing:border-box}\
section,dialog{font:var(--engage-font,16px/1.5 system-ui,sans-serif);background:var(--_b);color:var(--_c);\
border:1px solid var(--_e);border-radius:var(--engage-radius,12px);padding:16px;padding-inline-end:48px;\
position:relative;overflow-wrap:anywhere;animation:in .2s}\
.banner{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center}.banner>div:first-of-type{flex:1 1 16em}\
.card{max-inline-size:24em;margin-block:8px}\
dialog{inline-size:min(32em,100vw - 32px);max-block-size:calc(100dvh - 32px)}\
dialog::backdrop{background:#0008}h2{font-size:1.15em;margin:0}p{margin:4px 0;white-space:pre-line}\
iframe{inline-size:100%;block-size:20em;border:0}\
img{max-inline-size:100%;max-block-size:40vh;border-radius:8px;display:block}.banner img{max-inline-size:96px}\
.b{display:flex;flex-wrap:wrap;gap:8px;margin-block-start:8px}.banner .b{margin:0}\
a,button,input,select{font:inherit;min-block-size:44px;border-radius:8px;border:1px solid var(--_a)}\
a,button{padding:8px 16px;background:var(--_b);color:var(--_a);cursor:pointer;text-decoration:none}\
.b>:first-child,form button{background:var(--_a);color:var(--_o)}\
:focus-visible{outline:3px solid var(--_a);outline-offset:2px}label{display:block;margin-block:8px}\
input,select{background:var(--_b);color:var(--_c);border-color:var(--_e);inline-size:100%;padding:4px 8px}\
[type=checkbox]{inline-size:24px;min-block-size:24px;vertical-align:middle}\
.x{position:absolute;top:4px;inset-inline-end:4px;border:0;background:none;color:inherit;padding:0;inline-size:44px}\
@keyframes in{from{opacity:0;translate:0 8px}}@media (prefers-reduced-motion:reduce){section,dialog{animation:none}}`;

let sheet;
const node = (name, attributes, ...inside) => {
  const made = document.createElement(name);
  for (const key in attributes) if ((attributes[key] ?? false) !== false) made.setAttribute(key, attributes[key]);
  made.append(...inside.filter(Boolean));
  return made;
};
const leads = (href) => {
  try {
    return /^(https?|mailto|tel):$/.test(new URL(href).protocol);
  } catch {}
};

const button = ({ actions }, { action, text, href }) => {
  const listed = actions.find(({ id }) => id === action),
    isLink = leads(href);
  return node(
    isLink ? "a" : "button",
    {
      part: "button",
      dir: "auto",
      href: isLink && href,
      type: !isLink && "button",
      "data-engage-action": listed?.type ?? action,
      "data-engage-id": listed && action,
    },
    text,
  );
};
/* RE2 has what JavaScript has not, and the service refuses by it anyway. */
const known = (pattern) => {
  try {
    return new RegExp(pattern, "u") && pattern;
  } catch {}
};
const field = ([
  name,
  { type, values, options = values, label = name, placeholder, multiline, many, required, max, pattern },
]) =>
  node(
    "label",
    {},
    `${label} `,
    options
      ? node(
          "select",
          { name, required, multiple: many },
          !many && node("option", { value: "" }),
          ...options.map((one) => node("option", { value: `${one.value ?? one}` }, `${one.label ?? one}`)),
        )
      : node(multiline ? "textarea" : "input", {
          name,
          placeholder,
          required: required && type !== "boolean",
          max,
          maxlength: max,
          pattern: known(pattern),
          step: "any",
          type: type === "boolean" ? "checkbox" : type,
        }),
  );
const form = ({ forms, content }, send) => {
  const listed = forms.find(({ id }) => id === content.form);
  if (!listed) return;
  const fields = Object.entries(listed.fields),
    made = node("form", { part: "form", "data-engage-capture": "", "data-engage-id": listed.id });
  made.onformdata = ({ formData }) =>
    fields.map(
      ([name, { type, required }]) =>
        required && type === "boolean" && !formData.has(name) && formData.set(name, false),
    );
  made.append(...fields.map(field), node("button", { part: "button" }, send));
  return made;
};

/* Markup has a document of its own, without the page's origin. A Blob's address needs no trusted type. */
const framed = ({ kind, content: { title, data }, messageId }) =>
  kind === "custom" &&
  typeof data?.html === "string" &&
  node("iframe", {
    part: "frame",
    title: title ?? messageId,
    sandbox: "allow-scripts allow-forms",
    src: URL.createObjectURL(new Blob([data.html], { type: "text/html;charset=utf-8" })),
  });

let count = 0;
const draw = (item, frame, { close = "Close", send = "Send" }) => {
  const {
      kind,
      content: { title, text, image, buttons = [] },
    } = item,
    id = `t${count++}`,
    isModal = kind === "modal";
  const shut = node(
    "button",
    { class: "x", part: "close", type: "button", "aria-label": close, "data-engage-action": "close" },
    "\u00d7",
  );
  return node(
    isModal ? "dialog" : "section",
    { class: kind, part: `message ${kind}`, "aria-labelledby": title && id, "aria-label": !title && item.messageId },
    leads(image) && node("img", { part: "image", src: image, alt: "" }),
    node(
      "div",
      {},
      title && node("h2", { id, part: "title", dir: "auto" }, title),
      text && node("p", { part: "text", dir: "auto" }, text),
    ),
    frame,
    form(item, send),
    buttons[0] && node("div", { class: "b", part: "buttons" }, ...buttons.map((one) => button(item, one))),
    shut,
  );
};

const opened = (slot) => {
  const host = node("div", {}),
    root = host.attachShadow({ mode: "open" });
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
  }
  root.adoptedStyleSheets = [sheet];
  slot.append(host);
  return root;
};
/* As a message would look, for whoever writes it: nothing is asked or said. */
export const preview = (item, slot) => {
  const element = draw(item, framed(item), {});
  opened(slot).append(element);
  element.showModal?.();
};

export function show(engage, { in: where, kinds = {}, every, labels = {} } = {}) {
  if (typeof document === "undefined") return () => {};
  const slot = (typeof where === "string" ? document.querySelector(where) : where) ?? document.body;
  const root = opened(slot),
    drawn = new Map();

  const own = (item) => {
    const frame = framed(item);
    if (item.kind === "custom" && !frame) return;
    const element = draw(item, frame, labels),
      backs = [item.attach(element)];
    if (frame) backs.push(item.message.frame(frame), () => URL.revokeObjectURL(frame.src));
    root.append(element);
    if (item.kind === "modal") {
      element.oncancel = (event) => {
        event.preventDefault();
        item.close();
      };
      element.showModal();
    }
    return () => {
      for (const back of backs) back();
      /* A dialog gives the focus back as it is closed, not as it is taken away. */
      element.close?.();
      element.remove();
    };
  };
  const update = (list) => {
    const modals = list.filter(({ kind }) => kind === "modal"),
      modal = modals.find(({ deliveryId }) => drawn.has(deliveryId)) ?? modals[0];
    const due = list.filter((item) => item.kind !== "modal" || item === modal);
    for (const [id, one] of drawn)
      if (!due.includes(one.item)) {
        drawn.delete(id);
        one.undo?.();
      }
    for (const item of due) {
      if (drawn.has(item.deliveryId)) continue;
      const theirs = Object.hasOwn(kinds, item.kind);
      try {
        const undo = (theirs ? kinds[item.kind] : own)(item, slot);
        if (!theirs && !undo) continue;
        drawn.set(item.deliveryId, { item, undo });
        item.shown();
      } catch (error) {
        reportError(error);
      }
    }
  };
  const stop = messages(engage, update, { every });
  return () => {
    stop();
    update([]);
    root.host.remove();
  };
}
