// A step's box in the drawing is dragged by the mouse onto the + of a way. Escape leaves it where it was.
const SHAKES = 5; // pixels within which a click stays one
const EDGE = 40; // pixels from the frame's, where it scrolls
const SPEED = 12;

/**
 * `places()` tells of a way whether it may go there, and `drop(way)` puts it there; each + has its `way`.
 *
 * @param {SVGElement} box
 * @param {Host} host
 * @param {{ places: () => (way: Way) => boolean, drop: (way: Way) => void }} acts
 */
export function dragged(box, host, { places, drop }) {
  box.addEventListener("pointerdown", (down) => {
    if (down.pointerType !== "mouse" || down.button !== 0) return;
    const { viewport } = host;
    const svg = /** @type {SVGElement} */ (viewport.firstElementChild);
    const heard = new AbortController();
    /**
     * @template {keyof WindowEventMap} K
     * @param {K} name
     * @param {(event: WindowEventMap[K]) => void} act
     */
    const on = (name, act) => addEventListener(name, act, { capture: true, signal: heard.signal });
    /** @param {MouseEvent} event */
    const placeOf = ({ clientX, clientY }) => [clientX + viewport.scrollLeft, clientY + viewport.scrollTop];
    const from = placeOf(down);
    /** @type {Plus[]} */
    let pluses = []; // those it may go onto, once it is dragged
    /** @type {Plus | undefined} */
    let onto;

    const begin = () => {
      const mayGo = places();
      /** @type {NodeListOf<Plus>} */
      const found = svg.querySelectorAll(".studio-map-plus");
      pluses = [...found].filter(({ way }) => mayGo(way));
      for (const plus of pluses) plus.classList.add("open");
      svg.classList.add("dragging");
      box.classList.add("dragged");
    };
    const end = () => {
      heard.abort();
      for (const plus of pluses) plus.classList.remove("open", "onto");
      svg.classList.remove("dragging");
      box.classList.remove("dragged");
      box.removeAttribute("transform");
    };

    on("pointermove", (event) => {
      const [x, y] = placeOf(event).map((now, axis) => now - from[axis]);
      if (!svg.classList.contains("dragging")) {
        if (Math.hypot(x, y) < SHAKES) return;
        begin();
      }
      box.setAttribute("transform", `translate(${x / host.zoom} ${y / host.zoom})`);
      const under = document.elementFromPoint(event.clientX, event.clientY)?.closest(".studio-map-plus");
      onto?.classList.remove("onto");
      onto = pluses.find((plus) => plus === under);
      onto?.classList.add("onto");
      const { left, right, top, bottom } = viewport.getBoundingClientRect();
      /**
       * @param {number} now
       * @param {number} least
       * @param {number} most
       */
      const beyond = (now, least, most) => (now < least + EDGE ? -SPEED : now > most - EDGE ? SPEED : 0);
      viewport.scrollBy(beyond(event.clientX, left, right), beyond(event.clientY, top, bottom));
    });
    on("pointerup", () => {
      end();
      if (onto) drop(onto.way);
    });
    on("pointercancel", end);
    on("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      end();
    });
  });
}
