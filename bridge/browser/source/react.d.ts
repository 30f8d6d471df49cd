import type { Declared, Engage, Message } from "./engage.js";

/**
 * The ref of a message's element or frame, and the message: `const [ref, message] = useMessage(engage, "spring-sale")`.
 * It is attached as long as the element is there. `events` and `attributes` are what a frame may write.
 */
export declare function useMessage<Shown extends Element = HTMLElement>(
  engage: Engage,
  id: string,
  options?: Declared & { onClose?: () => void },
): [ref: (element: Shown | null) => void, message: Message];
