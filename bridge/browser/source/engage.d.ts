/** What the service has recorded: the event that was made, the attributes that were written, who somebody is. */
export interface Recorded {
  eventId?: string;
  updated?: true;
  attributes?: string[];
  attributesUpdated?: string[];
  closed?: true;
  opened?: true;
  shown?: true;
  /** What is due now, where the call named a delivery. */
  due?: Record<string, unknown>[];
  identified?: true;
  /** Of `identify`: the names of the identifiers that were taken. */
  added?: string[];
}
export interface Sent {
  /** `kept`: the service heard `identify`, and took none of what was new. */
  status: "sent" | "kept";
  /** Missing if another tab has sent it, and if there was nothing to send. */
  data?: Recorded;
}
export interface Queued {
  status: "queued";
}
export interface Refused {
  status: "refused";
  /** The service's, or one of the SDK's own, such as `opted_out`, `closed` and `no_browser`. More may come. */
  code: string;
  message?: string;
}
export type Outcome = Sent | Queued | Refused;

/** A call that `on` tells of; its key stays the same on every try. */
export interface Told {
  key: string;
  call: "action" | "capture" | "identify" | "shown";
  body: Record<string, unknown>;
}
/** What `on` tells, by its name. */
export interface Tells {
  queued: Told;
  sent: Told & { data?: Recorded };
  /** `status` is HTTP's; it is missing if the SDK itself has refused. */
  refused: Told & { status?: number; code: string; message?: string };
  close: { messageId: string };
  /** Somebody else is the person of this browser now, more or less is known of who they are, or they have opted out. */
  me: undefined;
}

/** All that is known of who somebody is. */
export interface Known {
  external_id?: string;
  email?: string;
  phone?: string;
}
export interface SubmitAction {
  type: "track_event" | "update_profile" | "both";
  eventName?: string;
  eventProperties?: Record<string, unknown>;
  profileAttributes?: Record<string, unknown>;
}
export interface Options {
  app: string;
  host: string;
  /** An identity token of whoever is logged in; empty if nobody is. It is asked for again if it throws. */
  token?: (() => string | null | undefined | Promise<string | null | undefined>) | null;
  debug?: boolean;
  /** The first pause between tries and the longest, in milliseconds. */
  retry?: { first: number; most: number };
}
/** What a frame may write without an id that the service knows. */
export interface Declared {
  events?: readonly string[];
  attributes?: readonly string[];
}
export interface Message {
  readonly id: string;
  /** An element has one message, the newest. Returns what takes it back. */
  attach(element: Element | null): () => void;
  /** As `attach`, for a message in a frame. */
  frame(iframe: HTMLIFrameElement | null, declared?: Declared): () => void;
  track(eventName: string, eventProperties?: Record<string, unknown>, formData?: Record<string, unknown>, actionId?: string): Promise<Outcome>;
  update(profileAttributes: Record<string, unknown>, actionId?: string): Promise<Outcome>;
  capture(form: HTMLFormElement | Record<string, unknown>, submitAction?: SubmitAction, actionId?: string): Promise<Outcome>;
  close(actionId?: string): Promise<Outcome>;
  open(url: string, options?: { newTab?: boolean; actionId?: string }): Promise<Outcome>;
}
export declare class Engage {
  constructor(options: Options);
  identify(known: Known): Promise<Outcome>;
  reset(): void;
  /** With a `deliveryId`, what is done in the message ends that delivery. */
  message(id: string, delivery?: { deliveryId: string }): Message;
  /** Returns what takes it back. */
  on<Name extends keyof Tells>(what: Name, fn: (told: Tells[Name]) => void): () => void;
  flush(): Promise<void>;
  optOut(out?: boolean): void;
  /** Ends listening and sending, and takes all messages back. What waits goes out with the next one of this app. */
  close(): void;
}
export declare function valuesOf(form: HTMLFormElement): Record<string, string | string[]>;
