// The overview's charts, in the browser's zone. Chart is Chart.js, which Unfold loads.

/** @type {Record<string, string>} */
const COLOURS = { enrolled: "#16a34a", "not enrolled": "#94a3b8", delivered: "#2563eb", failed: "#dc2626" };
const HOUR_MS = 3_600_000;
const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const whole = new Intl.NumberFormat("en");

/** @type {NodeListOf<HTMLElement>} */
const spans = document.querySelectorAll("[data-hour]");
for (const span of spans) span.textContent = hour.format(new Date(span.dataset.hour ?? ""));

/** @param {Element} canvas */
function draw(canvas) {
  const shown = JSON.parse(canvas.closest(".engage-hours")?.nextElementSibling?.textContent ?? "");
  /** @type {Date[]} */
  const begins = shown.hours.map((/** @type {string} */ text) => new Date(text));
  /** @param {number} place */
  const open = (place) => {
    const url = new URL(shown.leads_to, window.location.href);
    url.searchParams.set("since", begins[place].toISOString());
    url.searchParams.set("before", new Date(begins[place].getTime() + HOUR_MS).toISOString());
    window.location.assign(url.href);
  };
  // @ts-expect-error It is a script of the page.
  return new Chart(canvas, {
    type: "bar",
    data: {
      labels: begins.map((begin) => hour.format(begin)),
      datasets: Object.entries(shown.numbers).map(([name, data]) => ({
        label: name,
        data,
        backgroundColor: COLOURS[name],
        maxBarThickness: 18,
      })),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      plugins: { legend: { position: "bottom", labels: { boxWidth: 10, boxHeight: 10 } } },
      scales: {
        x: { stacked: true, grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 12 } },
        y: {
          stacked: true,
          beginAtZero: true,
          ticks: { precision: 0, callback: (/** @type {number} */ value) => whole.format(value) },
        },
      },
      onClick: (/** @type {unknown} */ _event, /** @type {any[]} */ hit) =>
        shown.leads_to && hit.length && open(hit[0].index),
      onHover: (/** @type {any} */ event, /** @type {any[]} */ hit) => {
        event.native.target.style.cursor = shown.leads_to && hit.length ? "pointer" : "default";
      },
    },
  });
}

/** @param {any[]} charts */
function colour(charts) {
  const dark = document.documentElement.classList.contains("dark");
  for (const chart of charts) {
    chart.options.color = dark ? "#d1d5db" : "#4b5563";
    for (const axis of Object.values(chart.options.scales)) {
      axis.ticks.color = chart.options.color;
      axis.grid.color = dark ? "#374151" : "#e5e7eb";
    }
    chart.update();
  }
}

const charts = [...document.querySelectorAll(".engage-hours canvas")].map(draw);
colour(charts);
new MutationObserver(() => colour(charts)).observe(document.documentElement, { attributeFilter: ["class"] });
