// While webhooks are being sent again, the page says how far that has come.

const EVERY_MS = 2_000;

async function refresh() {
  const section = document.getElementById("sending-again");
  if (!section?.querySelector("[data-going-on]")) return;
  try {
    const answer = await fetch(section.dataset.href ?? "", { credentials: "same-origin" });
    const fetched = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("sending-again");
    if (answer.ok && fetched) section.replaceWith(fetched);
  } catch {
    // Offline for a moment; the next look tells.
  }
  setTimeout(refresh, EVERY_MS);
}

setTimeout(refresh, EVERY_MS);
