// The draft on the server: what is written is sent after a pause, one at a time, with the version that is known.
// Whoever leaves the page at once sends it as well, and is asked before where it could not be kept then.
const PAUSE = 400; // milliseconds without a change
const MOST = 60 * 1024; // bytes: browsers let 64 KiB outlive their page

/** @param {string} sent */
const outlives = (sent) => "keepalive" in Request.prototype && new Blob([sent]).size < MOST;

/**
 * `page` has heard(answer), says(text) and asks(text, …[words, act]).
 *
 * @param {Json} given
 * @param {Asker} page
 */
export function keeping({ urls, version, beganFrom, mayEdit }, page) {
  /** @type {HTMLInputElement | null} */
  const field = document.querySelector("[name=csrfmiddlewaretoken]");
  const token = field?.value ?? "";
  let known = version;
  let began = beganFrom; // what was written here; what others began from is theirs
  /** @type {string | null} */
  let text = null; // what is yet to be sent
  /** @type {string | null} */
  let underWay = null; // what is being sent
  /** @type {string | null} */
  let refused = null; // what was sent last, where the server did not take it
  let whyNot = "";
  let hasFailed = false;
  /** @type {number | undefined} */
  let timer;

  async function send() {
    clearTimeout(timer);
    if (underWay !== null || text === null || !mayEdit) return;
    const sent = text;
    underWay = sent;
    text = null;
    page.says("Keeping the draft…");
    const body = new FormData();
    for (const [name, value] of Object.entries({
      text: sent,
      version: known,
      beganFrom: began,
      csrfmiddlewaretoken: token,
    }))
      body.append(name, value);
    try {
      const answer = await fetch(urls.keep, { method: "POST", body, keepalive: outlives(sent) });
      if (answer.redirected || !(answer.headers.get("content-type") ?? "").includes("json"))
        throw new Error(`${answer.status}`);
      hear(answer, await answer.json(), sent);
    } catch {
      hasFailed = true;
      text ??= sent;
      page.says((whyNot = "The draft could not be kept just now. It is tried again."));
      timer = setTimeout(send, 5000);
    } finally {
      underWay = null;
    }
    if (text !== null && !timer) send();
  }

  /**
   * @param {Response} answer
   * @param {Json} said
   * @param {string} sent
   */
  function hear(answer, said, sent) {
    timer = undefined;
    hasFailed = false;
    refused = answer.ok ? null : sent;
    if (answer.ok) {
      known = said.version;
      began = said.beganFrom;
      if (text === null) page.heard(said);
      page.says(said.draft ? `Kept. ${said.draft}` : "As published.");
      if (said.objection) page.says(said.objection);
      return;
    }
    page.says((whyNot = said.message));
    if (answer.status !== 409) return;
    page.asks(
      `${said.message} ${said.draft}`,
      [
        "See what is there",
        () => {
          text = refused = null;
          location.reload();
        },
      ],
      [
        "Write over it",
        () => {
          known = said.version;
          text ??= refused;
          send();
        },
      ],
    );
  }

  /** Whether all is kept, or will be though the page is left: not two, as the second needs the version of the first. */
  function mayLeave() {
    const waiting = [underWay, text].filter((one) => one !== null);
    return !hasFailed && refused === null && (waiting.length === 0 || (waiting.length === 1 && outlives(waiting[0])));
  }

  addEventListener("beforeunload", (event) => {
    // What is typed is a change once its field is left.
    /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
    if (!mayLeave()) event.preventDefault();
  });
  addEventListener("submit", ({ target, defaultPrevented }) => {
    // who throws the draft away means all of it
    const version = /** @type {HTMLFormElement} */ (target).elements.namedItem("version");
    if (defaultPrevented || !(version instanceof HTMLInputElement)) return;
    version.value = known;
    text = refused = null;
  });
  addEventListener("pagehide", send);
  addEventListener("visibilitychange", () => document.visibilityState === "hidden" && send(), true);

  return {
    /**
     * What the text comes to for the customer.
     *
     * @param {string} words
     * @param {string} customer
     */
    async preview(words, customer) {
      const sent = new URLSearchParams({ text: words, customer, payload: "", csrfmiddlewaretoken: token });
      const answer = await fetch(urls.preview, { method: "POST", body: sent });
      const said = answer.headers.get("content-type")?.includes("json") ? await answer.json() : {};
      return said.text ?? said.message ?? "It cannot be shown.";
    },
    /** @param {string} next */
    write(next) {
      text = next;
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = undefined;
        send();
      }, PAUSE);
    },
    /** @param {string} words */
    objects: (words) => page.asks(words, ["I see", () => {}]),
    whyNot: () => whyNot,
    /** Whether all is kept. */
    async flushed() {
      for (let turn = 0; turn < 100 && (text !== null || underWay !== null); turn += 1) {
        if (underWay === null) {
          timer = undefined;
          send();
        }
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return text === null && refused === null;
    },
  };
}
