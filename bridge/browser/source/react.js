import { useEffect, useMemo, useRef, useState } from "react";

/* What a message is shown in gets the ref: an element, or a frame with `events` and `attributes` that it may write. */
export function useMessage(engage, id, options = {}) {
  const [element, ref] = useState(null);
  const latest = useRef(options);
  const message = useMemo(() => engage.message(id), [engage, id]);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    if (element)
      return element instanceof HTMLIFrameElement ? message.frame(element, latest.current) : message.attach(element);
  }, [element, message]);
  useEffect(
    () =>
      engage.on("close", ({ messageId }) => {
        if (messageId === id) latest.current.onClose?.();
      }),
    [engage, id],
  );
  return [ref, message];
}
