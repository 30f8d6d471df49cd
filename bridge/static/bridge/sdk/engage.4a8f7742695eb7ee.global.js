(() => {

const KEPT_MS = 23 * 3600e3, MOST = 200, MOST_BYTES = 256 * 1024;
const CALLS_AT_FIRST = 5, CALLS_AT_ONCE = 50, BYTES_AT_ONCE = 40 * 1024, RECENT_MS = 2000;
const LEAVING_BYTES = 48 * 1024, LEAVING_REQUESTS = 6, TOKEN_MS = 10e3;

const random = () => crypto.getRandomValues(new Uint32Array(4)).join("");
const bytes = (text) => new TextEncoder().encode(text).length;
const sizeOf = (entries) => entries.reduce((sum, { size }) => sum + size, 0);
const json = (text, otherwise) => {
  try { return JSON.parse(text); } catch { return otherwise; }
};

const storage = (() => {
  try {
    localStorage["engage?"] = "";
    delete localStorage["engage?"];
    return localStorage;
  } catch { return {}; }
})();

const disk = new Promise((done) => {
  const asked = indexedDB.open("engage");
  asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
  asked.onsuccess = () => done(asked.result);
}).catch(() => {});
const onDisk = async (work) => {
  try { work((await disk).transaction("kept", "readwrite").objectStore("kept")); } catch {}
};
const keep = (name, text) => {
  storage[name] = text;
  onDisk((store) => { store.put(text, name); store.transaction.commit?.(); });
};
const drop = (name) => {
  delete storage[name];
  onDisk((store) => store.delete(name));
};

const valuesIn = ([all, several]) => {
  const values = { __proto__: null };
  for (const [name, value] of all) if (typeof value === "string") (values[name] ??= []).push(value);
  for (const name in values) {
    if (values[name].length < 2 && several.filter((other) => other === name).length < 2) [values[name]] = values[name];
  }
  return values;
};
const held = (form) => [
  [...new FormData(form)],
  [...form.elements].flatMap(({ name, multiple, type }) => (multiple ? [name, name] : type === "checkbox" ? name : [])),
];

const valuesOf = (form) => valuesIn(held(form));

class Engage {
  #name; #address; #token; #debug; #retry; #mine; #tokens = new Map(); #listeners = {}; #waiting = new Map();
  #flying = new Set(); #drains = null; #again = false; #timer = 0; #until = 0; #tries = 0; #skew = 0; #skewed = false;
  #page = random(); #count = 1e6; #most = CALLS_AT_FIRST;

  constructor({ app, host, token, debug, retry = { first: 1000, most: 300e3 } }) {
    this.#name = `engage:${app}:`;
    this.#address = (call) => `${host.replace(/\/$/, "")}/api/v1/sdk/${call}?app=${app}`;
    this.#token = token;
    this.#debug = debug;
    this.#retry = retry;
    const leave = () => this.#leave();
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", () => (document.hidden ? leave() : this.flush()));
    for (const again of ["pageshow", "online"]) addEventListener(again, () => { this.#tries = 0; this.flush(); });
    onDisk((store) => {
      store.openCursor().onsuccess = ({ target: { result: at } }) => {
        if (!at) return this.flush();
        if (at.key.startsWith(this.#name)) try { storage[at.key] ??= at.value; } catch {}
        at.continue();
      };
    });
    this.flush();
  }

  #read(name) { return storage[this.#name + name]; }
  #write(name, text) { drop(this.#name + name); try { keep(this.#name + name, text); } catch {} }
  get #me() { return json(this.#read("me")) ?? this.#mine ?? this.reset(); }
  #become(me) { this.#write("me", JSON.stringify(me)); return (this.#mine = me); }
  #say(...what) { if (this.#debug) console.debug("engage:", ...what); }

  on(what, fn) { (this.#listeners[what] ??= []).push(fn); return this; }
  #tell(what, told) {
    this.#say(what, told);
    for (const fn of this.#listeners[what] ?? []) try { fn(told); } catch (error) { this.#say(error); }
  }

  async identify(known) {
    const me = {}, before = this.#me;
    for (const name of ["external_id", "email", "phone"]) if (known?.[name]) me[name] = String(known[name]);
    if (Object.keys(me).length && JSON.stringify(me) !== JSON.stringify(before)) {
      this.#become(me);
      if (before.userId) return this.#add("identify", { ...before, ...me });
    }
    return { status: "sent" };
  }

  reset() { return this.#become({ userId: `anon-${random()}` }); }

  optOut(out = true) {
    if (out) {
      for (const entry of this.#entries()) this.#end(entry, "refused", { code: "opted_out" });
      this.#write("out", "1");
    } else drop(`${this.#name}out`);
  }

  message(id) { return new Message(id, this.#add.bind(this), this.#tell.bind(this)); }

  #entries() {
    const begin = `${this.#name}q:`;
    return Object.keys(storage).filter((name) => name.startsWith(begin)).sort().flatMap((name) => {
      const text = storage[name], entry = json(text);
      if (entry && !this.#read("out") && Date.now() - entry.at < KEPT_MS) return [{ ...entry, name, size: bytes(text) + 200 }];
      drop(name);
      return [];
    });
  }

  async #add(call, body) {
    if (this.#read("out")) return { status: "refused", code: "opted_out" };
    const at = Date.now(), key = `${this.#count++}-${this.#page}`, me = this.#me;
    const name = `${this.#name}q:${at}-${key}`;
    const text = JSON.stringify({ at, key, who: JSON.stringify(me), call, body: call === "identify" ? body : { ...body, ...me } });
    try { this.#room(bytes(text)); keep(name, text); } catch { return { status: "refused", code: "too_large" }; }
    this.#tell("queued", { key, call, body });
    const outcome = new Promise((resolve) => this.#waiting.set(name, resolve));
    this.flush();
    return outcome;
  }

  #room(size) {
    if (size > LEAVING_BYTES) throw size;
    const entries = this.#entries();
    while (entries.length >= MOST || size + sizeOf(entries) > MOST_BYTES) this.#end(entries.shift(), "refused", { code: "queue_full" });
  }

  #end({ name, key, call }, status, told) {
    drop(name);
    this.#tell(status, { key, call, ...told });
    this.#answer(name, { status, ...told });
  }
  #answer(name, outcome) {
    this.#waiting.get(name)?.(outcome);
    this.#waiting.delete(name);
  }

  flush() {
    this.#again = true;
    const work = async () => {
      while (this.#again) {
        this.#again = false;
        while (await this.#turn());
      }
    };
    return this.#drains ??= (storage instanceof Storage && navigator.locks ? navigator.locks.request(`${this.#name}send`, work) : work())
      .catch((error) => this.#say(error)).finally(() => { this.#drains = null; });
  }

  #next([oldest], from, room) {
    const batch = [];
    for (const entry of from) {
      const [first] = batch, alone = entry.call === "identify" || first?.call === "identify" || first?.who !== entry.who;
      room -= entry.size;
      if (first && (alone || room < 0 || batch.length === CALLS_AT_ONCE)) break;
      batch.push(entry);
    }
    return batch[0]?.call === "identify" && batch[0] !== oldest ? [] : batch;
  }

  #request(batch, keepalive) {
    const identify = batch[0].call === "identify";
    const calls = batch.map(({ at, key, call, body }) => ({
      ...body, idempotencyKey: key, call: identify ? undefined : call,
      occurredAt: identify || Date.now() - at < RECENT_MS ? undefined : new Date(at + this.#skew),
    }));
    return fetch(this.#address(identify ? "identify" : "bridge/batch"), {
      method: "POST", keepalive, credentials: "omit", signal: AbortSignal.timeout?.(60e3),
      body: JSON.stringify({ ...(identify ? calls[0] : { calls }), identityToken: this.#tokens.get(batch[0].who) || undefined }),
    });
  }

  async #turn() {
    for (const name of this.#waiting.keys()) if (!storage[name]) this.#answer(name, { status: "sent" });
    const now = Date.now(), wait = this.#until - now, entries = this.#entries();
    const due = entries.filter(({ name, at }) => !this.#flying.has(name) && (name.endsWith(this.#page) || Math.abs(now - at) > RECENT_MS));
    const batch = this.#next(entries, due.slice(0, this.#most), BYTES_AT_ONCE);
    if (!entries.length) return false;
    if (wait > 0 || !batch.length) return this.#later(wait);
    const { who } = batch[0];
    if (this.#token && !this.#tokens.has(who) && who === JSON.stringify(this.#me)) {
      try {
        await Promise.race([
          Promise.resolve(this.#token()).then((token) => this.#tokens.set(who, token)),
          new Promise((_, late) => setTimeout(late, TOKEN_MS, "no token")),
        ]);
      } catch (error) { this.#say(error); }
    }
    if (await this.#send(batch, sizeOf(batch) < LEAVING_BYTES / 3)) return true;
    return this.#later(this.#until - Date.now(), this.#tries++);
  }

  async #send(batch, keepalive) {
    let answer, told;
    batch = batch.filter(({ name }) => storage[name]);
    batch.forEach(({ name }) => this.#flying.add(name));
    try {
      answer = await this.#request(batch, keepalive);
      told = await answer.json();
    } catch (error) { this.#say(error); }
    batch.forEach(({ name }) => this.#flying.delete(name));
    const date = Date.parse(answer?.headers.get("Date")), after = answer?.headers.get("Retry-After");
    if (date) this.#skew = Math.abs(date - Date.now()) > 5000 ? date - Date.now() : 0;
    if (after) this.#until = Date.now() + after * 1000;
    const results = told?.data?.results ?? batch.map(() => ({ ...told, status: told && answer.status }));
    const kept = batch.filter((entry, place) => !this.#settle(entry, results[place] ?? {}));
    if (kept.length) return false;
    this.#tries = 0;
    this.#most = CALLS_AT_ONCE;
    return true;
  }

  #settle(entry, { status, code, message, data }) {
    const tokenless = status === 401 && /^identity_token_(missing|expired)$/.test(code) && this.#token &&
      (this.#tokens.delete(entry.who) || entry.who === JSON.stringify(this.#me));
    if (!status || status >= 500 || status === 408 || status === 429 || code === "request_in_progress" || tokenless) return false;
    if (status === 400 && /^occurredAt/.test(message) && !this.#skewed) return !(this.#skewed = true);
    if (status < 300) this.#end(entry, "sent", { data });
    else this.#end(entry, "refused", { status, code, message });
    return true;
  }

  #later(ms, tries = 0) {
    for (const name of this.#waiting.keys()) this.#answer(name, { status: "queued" });
    clearTimeout(this.#timer);
    const most = Math.min(this.#retry.most, this.#retry.first * 2 ** tries);
    this.#timer = setTimeout(() => this.flush(), Math.max(ms, most * (0.5 + Math.random() / 2)));
    return false;
  }

  #leave() {
    const entries = this.#entries();
    let waits = entries.filter(({ name }) => !this.#flying.has(name) && name.endsWith(this.#page)), left = LEAVING_BYTES;
    for (let n = 0; waits.length && this.#until < Date.now() && n < LEAVING_REQUESTS; n++) {
      const batch = this.#next(entries, waits, left);
      left -= sizeOf(batch);
      if (left < 0 || !batch.length) return;
      this.#send(batch, true);
      waits = waits.slice(batch.length);
    }
  }
}

class Message {
  #add; #tell; #last = new WeakMap();

  constructor(id, add, tell) { this.id = id; this.#add = add; this.#tell = tell; }

  #act(actionType, more) { return this.#add("action", { messageId: this.id, actionType, ...more }); }

  track(eventName, eventProperties = {}, formData, actionId) {
    return this.#act("track_event", { actionData: { eventName, eventProperties }, formData, actionId });
  }
  update(profileAttributes, actionId) { return this.#act("update_profile", { actionData: { profileAttributes }, actionId }); }
  capture(form, submitAction, actionId) {
    const formData = Array.isArray(form) ? valuesIn(form) : form instanceof HTMLFormElement ? valuesOf(form) : form;
    return this.#add("capture", { messageId: this.id, formData, submitAction, actionId });
  }
  close(actionId) { const done = this.#act("close", { actionId }); this.#tell("close", { messageId: this.id }); return done; }

  async open(url, { newTab, actionId } = {}) {
    if (!this.#leads(url)) return { status: "refused", code: "link_not_allowed" };
    const done = this.#act("link", { actionId });
    if (newTab) window.open(url, "_blank", "noopener"); else location.assign(url);
    return done;
  }
  #leads(url) {
    try { if (/^(https?|mailto|tel):$/.test(new URL(url ?? "x:", location.href).protocol)) return true; } catch {}
    this.#tell("no link", url);
    return false;
  }

  attach(element) {
    element.addEventListener("click", (event) => {
      const button = event.target.closest?.("[data-engage-action]");
      if (!button || !element.contains(button)) return;
      const { dataset } = button, form = button.form ?? button.closest("form"), isLink = dataset.engageAction === "link";
      const url = dataset.engageHref ?? button.getAttribute("href");
      if (isLink && !this.#leads(url)) event.preventDefault();
      else if (!this.#first(button, dataset.engageAction)) return;
      else if (isLink && button.tagName === "A") this.#act("link", { actionId: dataset.engageId });
      else this._clicked(dataset, url, form && held(form));
    });
    element.addEventListener("submit", (event) => {
      const { target } = event;
      if (target.dataset?.engageCapture === undefined) return;
      event.preventDefault();
      if (this.#first(target, "capture")) this._sent(target.dataset, held(target));
    });
    return this;
  }

  #first(element, action) {
    const now = Date.now(), last = this.#last.get(element);
    this.#last.set(element, { action, now });
    return last?.action !== action || now - last.now >= 400;
  }

  _clicked({ engageAction: action, engageEvent, engageProperties, engageId }, url, form, options) {
    const values = json(engageProperties, {});
    if (action === "track_event") return this.track(engageEvent, values, form && valuesIn(form), engageId);
    if (action === "update_profile") return this.update(values, engageId);
    if (action === "close") return this.close(engageId);
    if (action === "link") return this.open(url, { ...options, actionId: engageId });
    this.#tell("no action", action);
  }
  _sent({ engageCapture: type, engageEvent: eventName, engageId }, form) {
    return this.capture(form, !engageId && (type || eventName) ? { type: type || "track_event", eventName } : undefined, engageId);
  }

  frame(iframe) {
    addEventListener("message", (event) => {
      if (event.source !== iframe.contentWindow || event.data !== "engage:frame") return;
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = async ({ data: [number, call, ...given] }) => {
        if (/^(track|update|capture|close|open|_clicked|_sent)$/.test(call)) port1.postMessage([number, await this[call](...given)]);
      };
      event.source.postMessage("engage:port", "*", [port2]);
    });
    return this;
  }
}
globalThis.Engage = Engage;
})();
