/* What people do in in-app messages: written down before it is sent, under a key that stays the same on every try. */
import { ask, buttonOf, held, heldAround, isFirst, listen, of } from "./forms.js";

/* Servers render pages as well: there it constructs, keeps nothing and refuses. */
const IN_BROWSER = typeof document !== "undefined";
const KEPT_MS = 23 * 3600e3,
  MOST = 200,
  MOST_BYTES = 256 * 1024;
const CALLS_AT_FIRST = 5,
  CALLS_AT_ONCE = 50,
  BYTES_AT_ONCE = 40 * 1024,
  RECENT_MS = 2000;
const LEAVING_BYTES = 48 * 1024,
  LEAVING_REQUESTS = 6,
  TOKEN_MS = 10e3,
  FRAME_CALLS = 100,
  ACTIVE_MS = 5e3;

const random = () => crypto.getRandomValues(new Uint32Array(4)).join("");
const anonymous = () => `anon-${random()}`;
const bytes = (text) => new TextEncoder().encode(text).length;
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const refused = (code) => ({ status: "refused", code });
const sizeOf = (entries) => entries.reduce((sum, { size }) => sum + size, 0);
const json = (text, otherwise) => {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
};

const storage = (() => {
  try {
    return (IN_BROWSER && localStorage) || {};
  } catch {
    return {};
  }
})();

/* Killed browsers forget the last seconds of localStorage, but not of IndexedDB: what waits is in both. */
const disk = new Promise((done) => {
  const asked = indexedDB.open("engage");
  asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
  asked.onsuccess = () => done(asked.result);
}).catch(() => {});
const onDisk = async (work) => {
  try {
    work((await disk).transaction("kept", "readwrite").objectStore("kept"));
  } catch {}
};
/* What localStorage has no room for, or says so for a moment, as Firefox does while several tabs write. */
const spare = {};
const kept = (name) => storage[name] ?? spare[name];
const put = (name, text) => {
  try {
    storage[name] ??= text;
  } catch {
    spare[name] ??= text;
  }
};
const keep = (name, text) =>
  onDisk((store) => {
    store.put(text, name).transaction.commit?.();
  });
const drop = (name) => {
  delete storage[name];
  delete spare[name];
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

export const valuesOf = (form) => valuesIn(held(form));

/* What is clicked or sent in HTML, as a method of its message and what that is given. */
const clicked = ({ engageAction, engageEvent, engageProperties, engageId }, url, form) => {
  const values = json(engageProperties, {});
  switch (engageAction) {
    case "track_event":
      return ["track", engageEvent, values, form && valuesIn(form), engageId];
    case "update_profile":
      return ["update", values, engageId];
    case "close":
      return ["close", engageId];
    case "link":
      return ["open", url, { actionId: engageId }];
  }
  return ["no action", engageAction];
};
const sent = ({ engageCapture: type, engageEvent: eventName, engageId }, form) => [
  "capture",
  valuesIn(form),
  !engageId && (type || eventName) ? { type: type || "track_event", eventName } : undefined,
  engageId,
];

/* What an element's newest message is taken back with. */
const attached = new WeakMap();
/* Which of a frame's documents the page has set. */
const documentOf = ({ src, srcdoc }) => src + srcdoc;
/* When somebody has acted on the page: what they activate then is not a frame's. */
let acted = 0;

export class Engage {
  #name;
  #mine;
  #tokens = new Map();
  #listeners = { __proto__: null };
  #waiting = new Map();
  #flying = new Set();
  #drains = null;
  #again = false;
  #timer = 0;
  #until = 0;
  #tries = 0;
  #skew = 0;
  #skewed = false;
  #page = IN_BROWSER && random();
  #count = 1e6;
  #most = CALLS_AT_FIRST;
  #gone = !IN_BROWSER && "no_browser";
  #undone = new Set();

  constructor(given) {
    this.given = given;
    this.#name = `engage:${given.app}:`;
    if (this.#gone) return;
    const again = () => {
        this.#tries = 0;
        this.flush();
      },
      act = () => {
        acted = Date.now();
      },
      see = ({ target }) => {
        target.engaged = documentOf(target);
      };
    this.#undone.add(
      listen(
        window,
        {
          pagehide: () => this.#leave(),
          pageshow: again,
          online: again,
          pointerdown: act,
          pointerup: act,
          keydown: act,
        },
        true,
      ),
    );
    this.#undone.add(
      listen(document, { visibilitychange: () => (document.hidden ? this.#leave() : this.flush()), load: see }, true),
    );
    onDisk((store) => {
      store.openCursor().onsuccess = ({ target: { result: at } }) => {
        if (!at) return this.flush();
        if (at.key.startsWith(this.#name)) put(at.key, at.value);
        at.continue();
      };
    });
    this.flush();
  }

  #read(name) {
    return kept(this.#name + name);
  }
  /* Never gone in between: another tab would take itself for somebody new. */
  #write(name, text) {
    name = this.#name + name;
    try {
      storage[name] = text;
      keep(name, text);
    } catch {
      drop(name);
    }
  }
  get me() {
    return json(this.#read("me")) ?? this.#mine ?? this.reset();
  }
  #become(me) {
    this.#write("me", JSON.stringify(me));
    this.#tell("me");
    return (this.#mine = me);
  }
  #say(...what) {
    if (this.given.debug) console.debug("engage:", ...what);
  }

  on(what, fn) {
    const fns = (this.#listeners[what] ??= new Set()),
      told = [fn];
    fns.add(told);
    return () => {
      fns.delete(told);
    };
  }
  #tell(what, told) {
    this.#say(what, told);
    for (const [fn] of this.#listeners[what] ?? [])
      try {
        fn(told);
      } catch (error) {
        this.#say(error);
      }
  }

  async identify(known) {
    if (this.#gone) return refused(this.#gone);
    const before = this.me,
      said = {};
    for (const name of ["external_id", "email", "phone"]) if (known?.[name]) said[name] = String(known[name]);
    const news = Object.keys(said).filter((name) => said[name] !== before[name]);
    if (!news.length) return { status: "sent" };
    const isSame = before.external_id && (said.external_id ?? before.external_id) === before.external_id;
    /* The anonymous id leads to whom it has become. Another person gets one of their own. */
    const userId = before.userId ?? ((isSame && this.#read("was")) || anonymous());
    const me = isSame ? { ...before, ...said } : said;
    this.#write("was", userId);
    this.#become(me);
    return this.add("identify", { userId, ...me }, isSame ? news : undefined, before);
  }

  reset() {
    return this.#gone ? {} : this.#become({ userId: anonymous() });
  }

  optOut(out = true) {
    if (!IN_BROWSER) return;
    if (out) {
      for (const entry of this.#entries()) this.#end(entry, "refused", { code: "opted_out" });
      this.#write("out", 1);
    } else drop(`${this.#name}out`);
    this.#tell("me");
  }

  close() {
    this.#gone ||= "closed";
    clearTimeout(this.#timer);
    for (const undo of this.#undone) undo();
    this.#rest();
  }

  message(messageId, delivery) {
    return new Message(
      messageId,
      (call, body) => this.add(call, { messageId, ...delivery, ...body }),
      this.#tell.bind(this),
      this.#hold.bind(this),
    );
  }

  /* One message per element: the newest. What is returned takes it back. */
  #hold(element, undo) {
    attached.get(element)?.();
    const back = () => {
      undo();
      this.#undone.delete(back);
      if (attached.get(element) === back) attached.delete(element);
    };
    attached.set(element, back);
    this.#undone.add(back);
    return back;
  }

  #entries() {
    const begin = `${this.#name}q:`;
    return Object.keys({ ...storage, ...spare })
      .filter((name) => name.startsWith(begin))
      .sort()
      .flatMap((name) => {
        const text = kept(name),
          entry = json(text);
        if (entry && !this.#read("out") && Date.now() - entry.at < KEPT_MS)
          return { ...entry, name, size: bytes(text) + 200 };
        drop(name);
        return [];
      });
  }

  async add(call, body, news, before) {
    const gone = this.#gone || (this.#read("out") && "opted_out");
    const key = `${this.#count++}-${this.#page}`;
    const refuse = (code) => {
      this.#tell("refused", { key, call, body, code });
      return refused(code);
    };
    if (gone) return refuse(gone);
    const at = Date.now(),
      name = `${this.#name}q:${at}-${key}`,
      me = this.me,
      who = JSON.stringify(me);
    try {
      const text = JSON.stringify({
        at,
        key,
        who,
        call,
        news,
        before,
        body: call === "identify" ? body : { ...body, ...me },
      });
      this.#room(bytes(text));
      put(name, text);
      keep(name, text);
    } catch (error) {
      return refuse(error instanceof TypeError ? "not_json" : "too_large");
    }
    this.#tell("queued", { key, call, body });
    const outcome = new Promise((resolve) => this.#waiting.set(name, resolve));
    this.flush();
    return outcome;
  }

  #room(size) {
    if (size > LEAVING_BYTES) throw size;
    const entries = this.#entries();
    while (entries.length >= MOST || size + sizeOf(entries) > MOST_BYTES)
      this.#end(entries.shift(), "refused", { code: "queue_full" });
  }

  #end({ name, ...entry }, status, told) {
    drop(name);
    this.#tell(status === "kept" ? "sent" : status, { ...entry, ...told });
    this.#answer(name, { ...told, status });
  }
  #answer(name, outcome) {
    this.#waiting.get(name)?.(outcome);
    this.#waiting.delete(name);
  }

  async flush() {
    if (this.#gone) return;
    this.#again = true;
    const work = async () => {
      while (this.#again) {
        this.#again = false;
        while (!this.#gone && (await this.#turn()));
      }
    };
    await (this.#drains ??= (
      storage instanceof Storage && navigator.locks ? navigator.locks.request(`${this.#name}send`, work) : work()
    )
      .catch((error) => this.#say(error))
      .finally(() => {
        this.#drains = null;
      }));
  }

  #next([oldest], from, room) {
    const batch = [];
    for (const entry of from) {
      const [first] = batch,
        alone = entry.call === "identify" || first?.call === "identify" || first?.who !== entry.who;
      room -= entry.size;
      if (first && (alone || room < 0 || batch.length === CALLS_AT_ONCE)) break;
      batch.push(entry);
    }
    /* Who somebody is waits for all that is older: it was done by an anonymous person, whom nobody may name later. */
    return batch[0]?.call === "identify" && batch[0] !== oldest ? [] : batch;
  }

  #request(batch, keepalive) {
    const identify = batch[0].call === "identify",
      { app, host } = this.given;
    const calls = batch.map(({ at, key, call, body }) => ({
      ...body,
      idempotencyKey: key,
      call: identify ? undefined : call,
      occurredAt: identify || Date.now() - at < RECENT_MS ? undefined : new Date(at + this.#skew),
    }));
    return fetch(`${host.replace(/\/$/, "")}/api/v1/sdk/${identify ? "identify" : "bridge/batch"}?app=${app}`, {
      method: "POST",
      keepalive,
      credentials: "omit",
      signal: AbortSignal.timeout?.(60e3),
      body: JSON.stringify({
        ...(identify ? calls[0] : { calls }),
        identityToken: this.#tokens.get(batch[0].who) || undefined,
      }),
    });
  }

  async #turn() {
    for (const name of this.#waiting.keys()) if (!kept(name)) this.#answer(name, { status: "sent" });
    const now = Date.now(),
      wait = this.#until - now,
      entries = this.#entries();
    /* Other pages send theirs, unless they are gone; and what this one sends as it is hidden is on its way. */
    const due = entries.filter(
      ({ name, at }) => !this.#flying.has(name) && (name.endsWith(this.#page) || Math.abs(now - at) > RECENT_MS),
    );
    const batch = this.#next(entries, due.slice(0, this.#most), BYTES_AT_ONCE);
    if (!entries.length) return false;
    if (wait > 0 || !batch.length) return this.#later(wait);
    const { who } = batch[0];
    if (this.given.token && !this.#tokens.has(who) && who === JSON.stringify(this.me)) {
      /* All tabs wait meanwhile. A token that comes later is there for the next try. */
      try {
        await Promise.race([
          (async () => {
            const given = await this.given.token();
            const text = String(given ?? "").trim();
            /* An error page is no token, and one for somebody who has left is not theirs who came. */
            if (who === JSON.stringify(this.me) && /^$|^[\w=-]+(\.[\w=-]+){2}$/.test(text)) this.#tokens.set(who, text);
            else this.#say("no token", given);
          })(),
          new Promise((_, late) => setTimeout(late, TOKEN_MS)),
        ]);
      } catch (error) {
        this.#say("no token", error);
      }
    }
    if (!this.#gone && (await this.#send(batch, sizeOf(batch) < LEAVING_BYTES / 3))) return true;
    return this.#later(this.#until - Date.now(), this.#tries++);
  }

  async #send(batch, keepalive) {
    let answer, told;
    /* While the token was asked for, they may have opted out, or pushed it out. */
    batch = batch.filter(({ name }) => kept(name));
    for (const { name } of batch) this.#flying.add(name);
    try {
      answer = await this.#request(batch, keepalive);
      told = await answer.json();
    } catch (error) {
      this.#say(error);
    }
    for (const { name } of batch) this.#flying.delete(name);
    const date = Date.parse(answer?.headers.get("Date")),
      after = answer?.headers.get("Retry-After");
    if (date) this.#skew = Math.abs(date - Date.now()) > 5000 ? date - Date.now() : 0;
    if (after)
      this.#until = Date.now() + Math.min(after * 1000 || Date.parse(after) - Date.now() - this.#skew || 0, KEPT_MS);
    const results = told?.data?.results ?? batch.map(() => ({ ...told, status: told && answer.status }));
    if (batch.filter((entry, place) => !this.#settle(entry, results[place] ?? {}))[0]) return false;
    this.#tries = 0;
    this.#most = CALLS_AT_ONCE;
    return true;
  }

  #settle(entry, { status, code, message, data }) {
    if (
      !status ||
      status >= 500 ||
      status === 408 ||
      status === 429 ||
      code === "request_in_progress" ||
      this.#isSlip(entry, { status, code, message })
    )
      return false;
    if (status === 400 && /^occurredAt/.test(message) && !this.#skewed) return !(this.#skewed = true);
    const { news, before, who } = entry;
    if (status < 300)
      this.#end(entry, news && data?.added && !news.some((name) => data.added.includes(name)) ? "kept" : "sent", {
        data,
      });
    else {
      /* Whatever is said in a malformed person's name would be refused as well. */
      if (status === 400 && before && who === JSON.stringify(this.me)) this.#become(before);
      this.#end(entry, "refused", { status, code, message });
    }
    return true;
  }

  /* What is refused for the sender's sake, not the call's own, waits until a mistake in the deployment is mended. */
  #isSlip({ who }, { status, code, message }) {
    if (status !== 401) return status === 403 && code !== "message_not_registered";
    if (!/^identity_token/.test(code)) return true;
    const had = this.#tokens.get(who);
    this.#tokens.delete(who);
    /* Nobody can prove who has left. And what a token does not allow to write, the next one will not either. */
    return (
      (had && code === "identity_token_expired") || (who === JSON.stringify(this.me) && !/ attribute /.test(message))
    );
  }

  #later(ms, tries = 0) {
    this.#rest();
    clearTimeout(this.#timer);
    const { first, most } = this.given.retry ?? { first: 1000, most: 300e3 },
      longest = Math.min(most, first * 2 ** tries);
    if (!this.#gone) this.#timer = setTimeout(() => this.flush(), Math.max(ms, (longest * (1 + Math.random())) / 2));
    return false;
  }
  #rest() {
    for (const name of this.#waiting.keys()) if (!this.#flying.has(name)) this.#answer(name, { status: "queued" });
  }

  #leave() {
    const entries = this.#entries();
    let waits = entries.filter(({ name }) => !this.#flying.has(name) && name.endsWith(this.#page)),
      left = LEAVING_BYTES;
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
  #add;
  #tell;
  #hold;

  constructor(id, add, tell, hold) {
    this.id = id;
    this.#add = add;
    this.#tell = tell;
    this.#hold = hold;
  }

  #act(actionType, more) {
    return this.#add("action", { actionType, ...more });
  }

  track(eventName, eventProperties = {}, formData, actionId) {
    return this.#act("track_event", { actionData: { eventName, eventProperties }, formData, actionId });
  }
  update(profileAttributes, actionId) {
    return this.#act("update_profile", { actionData: { profileAttributes }, actionId });
  }
  capture(form, submitAction, actionId) {
    const formData = IN_BROWSER && form instanceof HTMLFormElement ? valuesOf(form) : form;
    return this.#add("capture", { formData, submitAction, actionId });
  }
  close(actionId) {
    const done = this.#act("close", { actionId });
    this.#tell("close", { messageId: this.id });
    return done;
  }

  async open(url, { newTab, actionId } = {}) {
    if (IN_BROWSER && !this.#leads(url)) return refused("link_not_allowed");
    const done = this.#act("link", { actionId });
    if (IN_BROWSER) newTab ? window.open(url, "_blank", "noopener") : location.assign(url);
    return done;
  }
  #leads(url) {
    try {
      if (/^(https?|mailto|tel):$/.test(new URL(url ?? "x:", location.href).protocol)) return true;
    } catch {}
    this.#tell("no link", url);
    return false;
  }
  #do([method, ...given]) {
    return this[method] ? this[method](...given) : this.#tell(method, ...given);
  }

  attach(element) {
    return element
      ? this.#hold(
          element,
          listen(element, {
            click: (event) => {
              const button = buttonOf(event);
              if (!button || event.engaged || !ask(element, "contains", button)) return;
              /* For outer elements, and for another copy of this script. */
              event.engaged = true;
              const dataset = of(button, "dataset"),
                href = ask(button, "getAttribute", "href"),
                url = href ?? dataset.engageHref;
              const isLink = dataset.engageAction === "link";
              if (isLink && !this.#leads(url)) event.preventDefault();
              else if (!isFirst(button)) return;
              else if (isLink && href !== null) this.#act("link", { actionId: dataset.engageId });
              else this.#do(clicked(dataset, url, heldAround(button)));
            },
            submit: (event) => {
              const form = event.target,
                dataset = of(form, "dataset");
              if (dataset?.engageCapture === undefined || event.engaged) return;
              event.engaged = true;
              event.preventDefault();
              if (isFirst(form)) this.#do(sent(dataset, held(form, event.submitter)));
            },
          }),
        )
      : () => {};
  }

  frame(iframe, { events = [], attributes = [] } = {}) {
    if (!iframe) return () => {};
    /* The port is of the document that is there at the first load, which is due. Where that leads to gets none, however
       early it asks. Where nobody has seen whether it has loaded (2), it may ask. */
    let port,
      calls,
      due = iframe.isConnected && iframe.engaged === undefined ? 2 : 1;
    const shut = () => {
      port?.postMessage([0]);
      port?.close();
    };
    const give = () => {
      const { port1, port2 } = new MessageChannel(),
        { origin } = new URL(iframe.src || location, location);
      calls = 0;
      due = 1;
      port = port1;
      port.onmessage = async ({ data: posted }) => {
        let answer = refused("too_many_calls");
        try {
          const [number, ...call] = posted;
          if (calls++ < FRAME_CALLS) answer = await this.#framed(call, iframe, events, attributes);
          port1.postMessage([number, answer]);
        } catch (error) {
          this.#tell("no call", error);
        }
      };
      iframe.contentWindow.postMessage(
        "engage:port",
        origin === "null" || iframe.hasAttribute("sandbox") ? "*" : origin,
        [port2],
      );
    };
    const load = () => {
      due ? port || give() : shut();
      due = 0;
    };
    /* What the page itself sets as the frame's document gets a port once more. */
    const watch = new MutationObserver(() => {
      shut();
      port = null;
      due = 1;
    });
    const off = listen(window, {
      message: ({ source, data }) => due > 1 && data === "engage:frame" && source === iframe.contentWindow && give(),
    });
    const deaf = listen(iframe, { load });
    if (iframe.engaged === documentOf(iframe)) load();
    watch.observe(iframe, { attributeFilter: ["src", "srcdoc"] });
    return this.#hold(iframe, () => {
      off();
      deaf();
      watch.disconnect();
      shut();
    });
  }

  /* A frame's script may post anything. What it declares nowhere else needs an id, which the service holds to its
     message. */
  async #framed([method, ...given], iframe, events, attributes) {
    if (method === "_clicked") [method, ...given] = clicked(...given);
    if (method === "_sent") [method, ...given] = sent(...given);
    const writes = (values) => Object.keys(values).every((name) => attributes.includes(name));
    const values = (form) => (Array.isArray(form) ? valuesIn(form) : (form ?? {}));
    const may = (id, isDeclared, ...records) =>
      records.every(isRecord) && (id == null ? isDeclared : typeof id === "string");
    let [what, how, form, id] = given;
    switch (method) {
      case "open": {
        const isActing =
          iframe.getRootNode().activeElement === iframe &&
          navigator.userActivation?.isActive !== false &&
          Date.now() - acted > ACTIVE_MS;
        if (!isActing) return refused("link_without_click");
        if (may(how?.actionId, typeof what === "string"))
          return this.open(what, { newTab: true, actionId: how?.actionId });
        break;
      }
      case "close":
        if (may(what, true)) return this.close(what);
        break;
      case "update":
        if (may(how, isRecord(what) && writes(what), what ?? {})) return this.update(what, how);
        break;
      case "track":
        form = form && values(form);
        if (may(id, events.includes(what), how ?? {}, form ?? {})) return this.track(what, how, form, id);
        break;
      case "capture": {
        what = values(what);
        const { type, eventName, profileAttributes } = how ?? {};
        const isDeclared =
          (type === "update_profile" || !type || events.includes(eventName)) &&
          (type === "track_event" || writes(profileAttributes ?? what));
        if (may(form, isDeclared, what, how ?? {})) return this.capture(what, how, form);
      }
    }
    this.#tell("not declared", [method, ...given]);
    return refused("not_declared");
  }
}
