// How many would belong to a segment, counted while its conditions are written: one request at a time.
const PAUSE = 400; // milliseconds without a change

/**
 * `heard(answer)` is given {told} or {mistakes}; null where it could not be counted.
 *
 * @param {HTMLTextAreaElement} area
 * @param {string} url
 * @param {(answer: Json) => void} heard
 */
export function counting(area, url, heard) {
  /** @type {number | undefined} */
  let timer;
  let underWay = false;
  let again = false;

  async function count() {
    again = underWay;
    if (underWay) return;
    underWay = true;
    const text = area.value;
    const answer = await asked().catch(() => null);
    underWay = false;
    if (area.value === text) heard(answer);
    if (again) count();
  }

  async function asked() {
    const answer = await fetch(url, { method: "POST", body: new FormData(area.form ?? undefined) });
    return answer.ok && answer.headers.get("content-type")?.includes("json") ? answer.json() : null;
  }

  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(count, PAUSE);
  };
  area.addEventListener("input", later);
  return later;
}
