/* What journeys deliver to the person of this browser: asked for while the page is looked at, told when it changes. */
const KEPT = 200,
  LEAST = 10e3,
  TOKEN_MS = 10e3,
  ANSWERS_MS = 30e3,
  DISK_MS = 2e3;
const stored = (key) => {
  try {
    return localStorage[key];
  } catch {}
};
const json = (text) => {
  try {
    return JSON.parse(text);
  } catch {}
};
/* The delivery that a call acts on or closes. */
const endedBy = ({ call, body }) => call !== "shown" && body?.deliveryId;

export function messages(engage, tell, { every = 60 } = {}) {
  if (typeof document === "undefined") return () => {};
  const { app, host, token } = engage.given,
    name = `engage:${app}:`,
    gap = Math.min(LEAST, every * 1000);
  const channel = typeof BroadcastChannel === "undefined" ? {} : new BroadcastChannel(`${name}messages`);
  const items = new Map(),
    sent = new Set(),
    refused = new Set();
  const ended = new Set(),
    over = `${name}over:`;
  let who,
    list = [],
    etag,
    proof,
    asked = -gap,
    told = "[]",
    skew = 0,
    timer,
    controller,
    gone;

  /* What was acted on or closed here is never shown here again, whatever the service has heard of it. Each has a key of
     its own: of a list, a tab would write back what it had read before another tab wrote. */
  const isOver = (id) => ended.has(id) || stored(over + id);
  const end = (told) => {
    const id = endedBy(told);
    if (!id) return;
    try {
      localStorage[over + id] = Date.now();
      const known = Object.keys(localStorage)
        .filter((key) => key.startsWith(over))
        .sort((one, other) => localStorage[one] - localStorage[other]);
      for (const key of known.slice(0, -KEPT)) delete localStorage[key];
    } catch {
      ended.add(id);
    }
    show();
  };

  /* A browser that was killed may have forgotten this, but not what waits: that is there once engage.js has read the
     disk, before whatever asks the disk later. */
  const restored = new Promise((done) => {
    setTimeout(done, DISK_MS);
    const opened = indexedDB.open("engage");
    opened.onsuccess = () => {
      opened.result.transaction("kept").objectStore("kept").count().onsuccess = done;
    };
  })
    .catch(() => {})
    .then(() => {
      for (const key in localStorage) end((key.startsWith(`${name}q:`) && json(localStorage[key])) || {});
    })
    .catch(() => {});

  const item = (one) => {
    const { messageId, deliveryId } = one,
      message = engage.message(messageId, { deliveryId });
    return {
      ...one,
      message,
      shown: () => sent.has(deliveryId) || !sent.add(deliveryId) || engage.add("shown", { messageId, deliveryId }),
      attach: (element) => message.attach(element),
      close: (actionId) => message.close(actionId),
    };
  };
  /* One object for each delivery, as long as it says the same. */
  const show = () => {
    const now = Date.now() + skew,
      due = list.filter(({ deliveryId, expiresAt }) => !isOver(deliveryId) && Date.parse(expiresAt) > now);
    const text = JSON.stringify(due);
    if (gone || document.hidden || text === told) return;
    told = text;
    const shown = due.map((one) => {
      const key = JSON.stringify(one);
      return items.get(key) ?? items.set(key, item(one)).get(key);
    });
    for (const [key, one] of items) if (!shown.includes(one)) items.delete(key);
    tell(shown);
  };

  /* Who has opted out is nobody. */
  const person = () => {
    const me = !stored(`${name}out`) && JSON.stringify(engage.me);
    if (me === who) return;
    controller?.abort();
    who = me;
    list = [];
    etag = proof = undefined;
    asked = -gap;
    if (told !== "[]") {
      told = "[]";
      tell([]);
    }
  };
  const prove = async () => {
    if (proof !== undefined || !token) return proof;
    let given = await Promise.race([
      Promise.resolve().then(token),
      new Promise((done) => setTimeout(done, TOKEN_MS)),
    ]).catch(() => {});
    given = String(given).trim();
    return (proof = /^[\w=-]+(\.[\w=-]+){2}$/.test(given) ? given : "");
  };
  const share = () => channel.postMessage?.({ who, list, etag, skew, at: Date.now() });
  const fetched = async (isAgain) => {
    const mine = who,
      identityToken = await prove();
    await restored;
    const answer = await fetch(`${host.replace(/\/$/, "")}/api/v1/sdk/messages?app=${app}`, {
      method: "POST",
      credentials: "omit",
      signal: controller.signal,
      body: JSON.stringify({ ...json(who), identityToken: identityToken || undefined, etag }),
    });
    const { data, code } = await answer.json();
    if (mine !== who) return;
    skew = Date.parse(answer.headers.get("Date")) - Date.now() || 0;
    if (answer.status === 401) {
      proof = undefined;
      /* Expired or invalid, not missing or of somebody else: what is due stays so while another one is asked for. */
      if (identityToken && !isAgain && /d$/.test(code)) return fetched(true);
      list = [];
      etag = undefined;
    }
    if (data?.messages) {
      list = data.messages;
      etag = answer.headers.get("ETag") ?? undefined;
    }
    if (data) share();
    show();
  };
  /* In the tab that is looked at: one request at a time in all tabs, and what it tells is for all. */
  const ask = async () => {
    clearTimeout(timer);
    if (gone || document.hidden) return;
    person();
    const wait = asked + gap - performance.now();
    timer = setTimeout(ask, wait > 0 ? wait : every * 1000);
    if (wait > 0 || controller || !who) return;
    asked = performance.now();
    controller = new AbortController();
    const late = setTimeout(() => controller?.abort(), ANSWERS_MS);
    try {
      await (navigator.locks
        ? navigator.locks.request(`${name}messages`, { signal: controller.signal }, () => fetched())
        : fetched());
    } catch {}
    clearTimeout(late);
    controller = undefined;
  };

  channel.onmessage = ({ data }) => {
    person();
    if (data.who !== who || Math.abs(Date.now() - data.at) > gap) return;
    ({ list, etag, skew } = data);
    asked = performance.now();
    show();
  };
  const seen = () => {
    if (!document.hidden) {
      show();
      ask();
    }
  };
  const elsewhere = ({ key, newValue }) => {
    if (key?.startsWith(over)) show();
    else if (key === `${name}me` && newValue) seen();
  };
  document.addEventListener("visibilitychange", seen);
  addEventListener("online", seen);
  addEventListener("storage", elsewhere);
  const undo = [
    engage.on("me", () =>
      queueMicrotask(() => {
        if (!gone) {
          person();
          ask();
        }
      }),
    ),
    engage.on("queued", end),
    /* Nothing has come of it, so it is due. Where a page acts by itself, it is asked about before it is shown again. */
    engage.on("refused", (told) => {
      const id = told.status && endedBy(told);
      if (!id) return;
      ended.delete(id);
      try {
        delete localStorage[over + id];
      } catch {}
      if (!refused.has(id)) setTimeout(show);
      refused.add(id);
      ask();
    }),
    engage.on("sent", ({ call, body, data, who: theirs }) => {
      if (call === "identify") proof = undefined;
      /* What was done before somebody else came tells what is due for whoever did it. */
      if (data?.due && theirs === who) {
        list = data.due;
        etag = undefined;
        share();
        show();
      } else if (call === "identify" || body.deliveryId) ask();
    }),
  ];
  ask();
  return () => {
    gone = true;
    clearTimeout(timer);
    controller?.abort();
    channel.close?.();
    for (const back of undo) back();
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", seen);
    removeEventListener("storage", elsewhere);
  };
}
