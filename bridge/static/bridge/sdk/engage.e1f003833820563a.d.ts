export interface Outcome { status: "sent" | "queued" | "refused"; code?: string; message?: string; data?: Record<string, unknown> }
export interface Known { external_id?: string; email?: string; phone?: string }
export interface SubmitAction {
  type: "track_event" | "update_profile" | "both";
  eventName?: string;
  eventProperties?: Record<string, unknown>;
  profileAttributes?: Record<string, unknown>;
}
export interface Options {
  app: string;
  host: string;
  token?: (() => string | Promise<string>) | null;
  debug?: boolean;
  retry?: { first: number; most: number };
}
export declare class Message {
  readonly id: string;
  attach(element: Element): this;
  track(eventName: string, eventProperties?: Record<string, unknown>, formData?: Record<string, unknown>, actionId?: string): Promise<Outcome>;
  update(profileAttributes: Record<string, unknown>, actionId?: string): Promise<Outcome>;
  capture(form: HTMLFormElement | Record<string, unknown>, submitAction?: SubmitAction, actionId?: string): Promise<Outcome>;
  close(actionId?: string): Promise<Outcome>;
  open(url: string, options?: { newTab?: boolean; actionId?: string }): Promise<Outcome>;
  frame(iframe: HTMLIFrameElement): this;
}
export declare class Engage {
  constructor(options: Options);
  identify(known: Known): Promise<Outcome>;
  reset(): void;
  message(id: string): Message;
  on(what: "sent" | "queued" | "refused" | "close", fn: (told: Record<string, unknown>) => void): this;
  flush(): Promise<void>;
  optOut(out?: boolean): void;
}
export declare function valuesOf(form: HTMLFormElement): Record<string, string | string[]>;
