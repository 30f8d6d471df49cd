/* Engage: reports what people do in in-app messages. Written down before it is sent, under a key that stays the same on
   every try, so that nothing is lost while the page goes away, and nothing is done twice. */

const KEPT_MS = 23 * 3600e3, MOST = 200, MOST_CHARS = 256 * 1024;
const CALLS_AT_ONCE = 50, CHARS_AT_ONCE = 40 * 1024, LEAVING_CHARS = 48 * 1024, LEAVING_REQUESTS = 6;
const DOUBLE_MS = 400, LIVE_MS = 2000;
const LINKS = /^(https?|mailto|tel):$/;

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (n) => n.toString(36).padStart(2, "0")).join("");

const storage = (() => {
  try {
    localStorage.setItem("engage?", "");
    localStorage.removeItem("engage?");
    return localStorage;
  } catch {
    const held = new Map();
    return {
      getItem: (name) => held.get(name) ?? null,
      setItem: (name, text) => held.set(name, text),
      removeItem: (name) => held.delete(name),
      key: (place) => [...held.keys()][place],
      get length() { return held.size; },
    };
  }
})();

const json = (text, otherwise) => {
  try { return text ? JSON.parse(text) : otherwise; } catch { return otherwise; }
};

/** A form's values by name: a list for checkboxes of one name and for selects of many; no files. */
export const valuesOf = (form) => {
  const values = {}, data = new FormData(form);
  for (const name of new Set(data.keys())) {
    const all = data.getAll(name).filter((value) => typeof value === "string");
    const fields = [...form.elements].filter((field) => field.name === name);
    const many = all.length > 1 || fields.some((f) => f.multiple || (f.type === "checkbox" && fields.length > 1));
    if (all.length) values[name] = many ? all : all[0];
  }
  return values;
};

export class Engage {
  #name; #address; #token; #debug; #retry; #me; #tokens = new Map(); #listeners = {}; #waiting = new Map();
  #flying = new Set(); #drains = null; #again = false; #timer = 0; #tries = 0; #skew = 0; #skewed = false; #count = 0;

  constructor({ app, host, token = null, debug = false, retry = { first: 1000, most: 300e3 } }) {
    this.#name = `engage:${app}:`;
    this.#address = (call) => `${host.replace(/\/$/, "")}/api/v1/sdk/${call}?app=${encodeURIComponent(app)}`;
    this.#token = token;
    this.#debug = debug;
    this.#retry = retry;
    this.#me = json(this.#read("me"), null);
    if (!this.#me) this.#become({ userId: `anon-${random()}` });
    const leave = () => this.#leave();
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", () => (document.hidden ? leave() : this.flush()));
    addEventListener("pageshow", (event) => { if (event.persisted) { this.#flying.clear(); this.flush(); } });
    addEventListener("online", () => { this.#tries = 0; this.flush(); });
    this.flush();
  }

  #read(name) { return storage.getItem(this.#name + name); }
  #become(me) { this.#me = me; try { storage.setItem(`${this.#name}me`, JSON.stringify(me)); } catch { /* full */ } }
  #say(...what) { if (this.#debug) console.debug("engage:", ...what); }

  on(what, fn) { (this.#listeners[what] ??= []).push(fn); return this; }
  #tell(what, told) {
    this.#say(what, told);
    for (const fn of this.#listeners[what] ?? []) try { fn(told); } catch (error) { this.#say(error); }
  }

  identify(known) {
    const me = {};
    for (const name of ["external_id", "email", "phone"]) if (known?.[name]) me[name] = String(known[name]);
    if (!Object.keys(me).length || JSON.stringify(me) === JSON.stringify(this.#me)) return Promise.resolve({ status: "sent" });
    const before = this.#me;
    this.#become(me);
    return before.userId ? this.#add("identify", { ...before, ...me }) : Promise.resolve({ status: "sent" });
  }

  reset() { this.#become({ userId: `anon-${random()}` }); }

  optOut(out = true) {
    if (out) {
      for (const { name } of this.#entries()) storage.removeItem(name);
      try { storage.setItem(`${this.#name}out`, "1"); } catch { /* full */ }
    } else storage.removeItem(`${this.#name}out`);
  }

  message(id) { return new Message(id, this.#add.bind(this), this.#tell.bind(this), this.#say.bind(this)); }


  #entries() {
    const begin = `${this.#name}q:`, names = [];
    for (let place = 0; place < storage.length; place++) {
      const name = storage.key(place);
      if (name?.startsWith(begin)) names.push(name);
    }
    return names.sort().flatMap((name) => {
      const text = storage.getItem(name), entry = json(text, null);
      if (entry && Date.now() - entry.at < KEPT_MS) return [{ ...entry, name, size: text.length }];
      storage.removeItem(name);
      return [];
    });
  }

  #add(call, body) {
    if (this.#read("out")) return Promise.resolve({ status: "refused", code: "opted_out" });
    const at = Date.now(), key = random(), who = JSON.stringify(this.#me);
    const name = `${this.#name}q:${at.toString(36).padStart(9, "0")}${(this.#count++).toString(36).padStart(5, "0")}${key}`;
    const text = JSON.stringify({ at, key, who, call, body: call === "identify" ? body : { ...body, ...this.#me } });
    try { this.#room(text.length); storage.setItem(name, text); } catch { return Promise.resolve({ status: "refused", code: "too_large" }); }
    this.#tell("queued", { key, call, body });
    const outcome = new Promise((resolve) => this.#waiting.set(name, resolve));
    this.flush();
    return outcome;
  }

  #room(size) {
    const entries = this.#entries();
    if (size > LEAVING_CHARS) throw new RangeError("too large");
    let left = entries.reduce((sum, entry) => sum + entry.size, size), many = entries.length + 1;
    for (const entry of entries) {
      if (left <= MOST_CHARS && many <= MOST) return;
      left -= entry.size; many--;
      this.#end(entry, "refused", { code: "queue_full" });
    }
  }

  #end(entry, status, told = {}) {
    if (status !== "queued") { storage.removeItem(entry.name); this.#tell(status, { key: entry.key, call: entry.call, ...told }); }
    this.#waiting.get(entry.name)?.({ status, ...told });
    this.#waiting.delete(entry.name);
  }


  flush() {
    this.#again = true;
    this.#drains ??= this.#alone(async () => {
      while (this.#again) {
        this.#again = false;
        while (await this.#turn());
      }
    }).catch((error) => this.#say(error)).finally(() => { this.#drains = null; });
    return this.#drains;
  }

  async #alone(work) {
    try {
      if (navigator.locks) return await navigator.locks.request(`${this.#name}send`, work);
    } catch (error) {
      if (error?.name !== "SecurityError") throw error;
    }
    return work();
  }

  #next(from, chars = CHARS_AT_ONCE) {
    const batch = [];
    for (const entry of from) {
      const alone = entry.call === "identify" || batch[0]?.call === "identify" || batch[0]?.who !== (batch[0] && entry.who);
      chars -= entry.size + 200;
      if (batch.length && (alone || chars < 0 || batch.length === CALLS_AT_ONCE)) break;
      batch.push(entry);
    }
    return batch;
  }

  #request(batch, keepalive) {
    const [first] = batch, who = first.who, token = this.#tokens.get(who);
    const calls = batch.map(({ at, key, call, body }) => ({
      ...(call === "identify" ? {} : { call }), ...body, idempotencyKey: key,
      ...(Date.now() - at > LIVE_MS ? { occurredAt: new Date(at + this.#skew).toISOString() } : {}),
    }));
    const identify = first.call === "identify";
    if (identify) delete calls[0].occurredAt;
    const body = { ...(identify ? calls[0] : { calls }), ...(token ? { identityToken: token } : {}) };
    return fetch(this.#address(identify ? "identify" : "bridge/batch"), {
      method: "POST", body: JSON.stringify(body), keepalive, credentials: "omit", referrerPolicy: "origin",
      ...(keepalive || !AbortSignal.timeout ? {} : { signal: AbortSignal.timeout(60e3) }),
    });
  }

  async #turn() {
    const batch = this.#next(this.#entries());
    if (!batch.length) return false;
    const who = batch[0].who;
    if (this.#token && !this.#tokens.has(who) && who === JSON.stringify(this.#me)) {
      try { this.#tokens.set(who, await this.#token()); } catch (error) { this.#say(error); }
    }
    const size = batch.reduce((sum, entry) => sum + entry.size, 0);
    batch.forEach((entry) => this.#flying.add(entry.name));
    let answer, told;
    try {
      answer = await this.#request(batch, size < LEAVING_CHARS / 2);
      told = await answer.json();
    } catch (error) { this.#say(error); }
    batch.forEach((entry) => this.#flying.delete(entry.name));
    const date = Date.parse(answer?.headers.get("Date") ?? "");
    if (date) this.#skew = Math.abs(date - Date.now()) > 5000 ? date - Date.now() : 0;
    const results = told?.data?.results ?? batch.map(() => ({ ...told, status: told ? answer.status : 0 }));
    const kept = batch.filter((entry, place) => !this.#settle(entry, results[place] ?? { status: 0 }));
    if (!kept.length) { this.#tries = 0; return true; }
    this.#later(Number(answer?.headers.get("Retry-After")) * 1000);
    return false;
  }

  #settle(entry, { status, code, message, data }) {
    if (status >= 200 && status < 300) { this.#end(entry, "sent", { data }); return true; }
    if (status === 400 && /^occurredAt/.test(message) && !this.#skewed) { this.#skewed = true; return false; }
    const tokenless = status === 401 && /^identity_token_(missing|expired)$/.test(code) && this.#token && (this.#tokens.delete(entry.who) || entry.who === JSON.stringify(this.#me));
    if (!status || status >= 500 || status === 408 || status === 429 || code === "request_in_progress" || tokenless) {
      this.#end(entry, "queued", { code });
      return false;
    }
    this.#end(entry, "refused", { status, code, message });
    return true;
  }

  #later(ms) {
    clearTimeout(this.#timer);
    const most = Math.min(this.#retry.most, this.#retry.first * 2 ** this.#tries++);
    this.#timer = setTimeout(() => this.flush(), Math.max(ms || 0, most * (0.5 + Math.random() / 2)));
  }

  /** The page goes away: what is not on its way goes out now. */
  #leave() {
    let waits = this.#entries().filter((entry) => !this.#flying.has(entry.name)), left = LEAVING_CHARS;
    for (let n = 0; waits.length && n < LEAVING_REQUESTS; n++) {
      const batch = this.#next(waits, left);
      if (batch[0].call === "identify" && this.#flying.size) return;
      left -= batch.reduce((sum, entry) => sum + entry.size + 200, 0);
      if (left < 0) return;
      batch.forEach((entry) => this.#flying.add(entry.name));
      this.#request(batch, true).then((answer) => answer.json()).then((told) => batch.forEach((entry, place) => {
        this.#flying.delete(entry.name);
        const result = told?.data?.results?.[place];
        if (result) this.#settle(entry, result);
      })).catch(() => batch.forEach((entry) => this.#flying.delete(entry.name)));
      waits = waits.slice(batch.length);
    }
  }
}

class Message {
  #add; #tell; #say; #last = new WeakMap();

  constructor(id, add, tell, say) { this.id = id; this.#add = add; this.#tell = tell; this.#say = say; }

  #act(actionType, more = {}) { return this.#add("action", { messageId: this.id, actionType, ...more }); }

  track(eventName, eventProperties = {}, formData, actionId) {
    return this.#act("track_event", { actionData: { eventName, eventProperties }, formData, actionId });
  }
  update(profileAttributes, actionId) { return this.#act("update_profile", { actionData: { profileAttributes }, actionId }); }
  capture(form, submitAction, actionId) {
    const formData = typeof HTMLFormElement !== "undefined" && form instanceof HTMLFormElement ? valuesOf(form) : form;
    return this.#add("capture", { messageId: this.id, formData, submitAction, actionId });
  }
  close(actionId) { const done = this.#act("close", { actionId }); this.#tell("close", { messageId: this.id }); return done; }

  open(url, { newTab = false, actionId } = {}) {
    if (!this.#leads(url)) return Promise.resolve({ status: "refused", code: "link_not_allowed" });
    const done = this.#act("link", { actionId });
    if (newTab) window.open(url, "_blank", "noopener"); else location.assign(url);
    return done;
  }
  #leads(url) {
    try { if (LINKS.test(new URL(url, location.href).protocol)) return true; } catch { /* no address */ }
    this.#say("no link to", url);
    return false;
  }

  attach(element) {
    element.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-engage-action]");
      if (button && element.contains(button)) this.#clicked(button, event);
    });
    element.addEventListener("submit", (event) => {
      const form = event.target;
      if (form.dataset?.engageCapture === undefined) return;
      event.preventDefault();
      const { engageCapture: type, engageEvent: eventName, engageId } = form.dataset;
      const submit = !engageId && (type || eventName) ? { type: type || "track_event", ...(eventName ? { eventName } : {}) } : undefined;
      if (this.#first(form, "capture")) this.capture(form, submit, engageId);
    });
    return this;
  }

  #first(element, action) {
    const now = Date.now(), last = this.#last.get(element);
    this.#last.set(element, { action, now });
    return last?.action !== action || now - last.now >= DOUBLE_MS;
  }

  #clicked(button, event) {
    const { engageAction: action, engageEvent, engageProperties, engageHref, engageId } = button.dataset;
    const url = engageHref ?? button.getAttribute("href");
    if (action === "link" && !this.#leads(url)) { event.preventDefault(); return; }
    if (!this.#first(button, action)) return;
    const values = json(engageProperties, {}), form = button.form ?? button.closest("form");
    if (action === "track_event") this.track(engageEvent, values, form ? valuesOf(form) : undefined, engageId);
    else if (action === "update_profile") this.update(values, engageId);
    else if (action === "close") this.close(engageId);
    else if (action === "link" && button.tagName === "A") this.#act("link", { actionId: engageId });
    else if (action === "link") this.open(url, { actionId: engageId });
    else this.#say("no action", action);
  }

  /** Only the frame's window gets the channel. */
  frame(iframe) {
    const methods = new Set(["track", "update", "capture", "close", "open"]);
    addEventListener("message", (event) => {
      if (event.source !== iframe.contentWindow || event.data !== "engage:frame") return;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = async ({ data: [number, method, ...given] }) => {
        const done = methods.has(method) ? await this[method](...given) : { status: "refused", code: "no_such_method" };
        port1.postMessage([number, done]);
      };
      iframe.contentWindow.postMessage("engage:port", "*", [port2]);
    });
    return this;
  }
}
