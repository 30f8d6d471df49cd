// What was, what is, and what was undone: values that are never changed.
const MOST = 50;

export const begun = (now) => ({ past: [], now, future: [] });

export function done(history, next) {
  if (next === history.now) return history;
  return { past: [...history.past, history.now].slice(-MOST), now: next, future: [] };
}

export function undone({ past, now, future }) {
  if (!past.length) return { past, now, future };
  return { past: past.slice(0, -1), now: past.at(-1), future: [now, ...future] };
}

export function redone({ past, now, future }) {
  if (!future.length) return { past, now, future };
  return { past: [...past, now], now: future[0], future: future.slice(1) };
}
