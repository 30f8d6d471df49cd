// A whole session with the client that openapi-typescript describes. At the end it prints every refusal that it got.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

type Failure = components["schemas"]["Failure"];
type Result<Data> = { data?: Data; error?: Failure; response: Response };

const world: Record<
  | "url"
  | "key"
  | "slowKey"
  | "app"
  | "strictApp"
  | "workspaceId"
  | "otherWorkspaceId"
  | "journeyId"
  | "eventJourneyId"
  | "segmentId",
  string
> = JSON.parse(process.env.WORLD ?? "");
const refusals: Record<string, number> = {};

const server = (key: string) =>
  createClient<paths>({ baseUrl: world.url, headers: { Authorization: `Bearer ${key}` } });
const sdk = (app: string) => createClient<paths>({ baseUrl: world.url, headers: { "X-App-Id": app } });

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

async function done<Data>(call: Promise<Result<Data>>, status: number): Promise<NonNullable<Data>> {
  const { data, error, response } = await call;
  check(response.status === status, `${response.url}: ${response.status} ${JSON.stringify(error)}`);
  check(data !== undefined && data !== null, `${response.url}: no data`);
  return data;
}

async function refused(call: Promise<Result<unknown>>): Promise<Failure> {
  const { error, response } = await call;
  check(error !== undefined && !error.success, `${response.url}: ${response.status}`);
  check(error.requestId === response.headers.get("X-Request-Id"), "The request's id is another one.");
  refusals[error.code] = response.status;
  return error;
}

const api = server(world.key);
const TRIGGER = "/api/v1/journeys/{workspaceId}/{journeyId}/trigger";
const CUSTOMERS = "/api/v1/customers/{workspaceId}";
const { workspaceId, journeyId, segmentId } = world;
const here = { path: { workspaceId } };
const journey = { path: { workspaceId, journeyId } };

// Customers -----------------------------------------------------------------------------------------------------------

const created = await done(
  api.PUT(CUSTOMERS, {
    params: here,
    body: { external_id: "ada", email: "ada@example.com", attributes: { plan: "pro", tags: ["a", 1, null] } },
  }),
  201,
);
const ada: components["schemas"]["Customer"] = created.data;
check(ada.attributes.plan === "pro" && ada.phone === null, "The customer is not the one that was sent.");
await done(api.PUT(CUSTOMERS, { params: here, body: { external_id: "ada", phone: null } }), 200);
const batch = await done(
  api.POST("/api/v1/customers/{workspaceId}/batch", {
    params: here,
    body: { customers: [{ external_id: "bob" }, { attributes: { nobody: true } }] },
  }),
  200,
);
const [bob, failed] = batch.data.results;
check(bob?.status === "created" && failed?.status === "failed", JSON.stringify(batch));
check(failed.code === "missing_required_parameter", JSON.stringify(failed));
const found = await done(api.GET(CUSTOMERS, { params: { ...here, query: { external_id: "ada" } } }), 200);
check(found.data.customerId === ada.customerId, "Another customer was found.");
const customer = { path: { workspaceId, customerId: ada.customerId } };
await done(api.GET("/api/v1/customers/{workspaceId}/{customerId}", { params: customer }), 200);
const MEMBERS = "/api/v1/customers/{workspaceId}/segments/{segmentId}/members";
const segment = { path: { workspaceId, segmentId } };
const members = await done(api.POST(MEMBERS, { params: segment, body: { add: ["bob", "nobody"] } }), 200);
check(members.data.unknown[0] === "nobody" && members.data.added === 1, JSON.stringify(members));
const inside = await done(api.GET(MEMBERS, { params: segment }), 200);
check(
  inside.data.members.some((member) => member.external_id === "bob"),
  JSON.stringify(inside),
);
const alike = { ...here, query: { identifier: "external_id" as const, prefix: "ad" } };
const customers = await done(api.GET("/api/v1/customers/{workspaceId}/list", { params: alike }), 200);
check(customers.data.customers.length === 1 && customers.data.next === null, JSON.stringify(customers));

// Triggers ------------------------------------------------------------------------------------------------------------

const payload = { orderId: "A-1042", items: [{ sku: 7 }] };
const dry = await done(
  api.POST(TRIGGER, { params: { ...journey, query: { dryRun: true } }, body: { external_id: "ada", payload } }),
  200,
);
check(dry.data.status === "dry_run", JSON.stringify(dry));
check(dry.data.results?.enrolled === 1 && dry.data.rehearsal?.steps[0]?.type === "delay", JSON.stringify(dry));
const excluded = await done(
  api.POST(TRIGGER, { params: journey, body: { external_id: "ada", exclude_external_ids: ["ada"] } }),
  200,
);
check(excluded.data.status === "excluded" && excluded.data.jobId === null, JSON.stringify(excluded));

const once = { ...journey, header: { "Idempotency-Key": crypto.randomUUID() } };
const single = await done(api.POST(TRIGGER, { params: once, body: { external_id: "ada", payload } }), 202);
const { jobId, triggerId } = single.data;
check(single.data.status === "queued" && !!jobId && !!triggerId, JSON.stringify(single));
const again = await done(api.POST(TRIGGER, { params: once, body: { external_id: "ada", payload } }), 202);
check(again.data.jobId === jobId, "The call was carried out twice.");
await refused(api.POST(TRIGGER, { params: once, body: { external_id: "bob" } }));

const bulk = await done(
  api.POST(TRIGGER, { params: journey, body: { external_ids: ["bob", "nobody"], segment_ids: [segmentId] } }),
  202,
);
check(bulk.data.customersEnrolled === 1 && bulk.data.customerIds?.length === 1, JSON.stringify(bulk));

// What became of them -------------------------------------------------------------------------------------------------

const JOB = "/api/v1/journeys/{workspaceId}/jobs/{jobId}";
const look = () => done(api.GET(JOB, { params: { path: { workspaceId, jobId } } }), 200);
const me = await done(api.GET("/api/v1/me"), 200);
check(me.data.workspace.workspaceId === workspaceId, "The key is of another workspace.");
const deadline = Date.now() + 60_000;
let job: components["schemas"]["Job"] = (await look()).data;
while (job.status === "queued") {
  check(Date.now() < deadline, "The job is not decided.");
  await new Promise((resolve) => setTimeout(resolve, 50));
  job = (await look()).data;
}
check(job.result === "enrolled" && job.enrollmentId !== null, JSON.stringify(job));
const triggered = { path: { workspaceId, triggerId } };
const trigger = await done(api.GET("/api/v1/journeys/{workspaceId}/triggers/{triggerId}", { params: triggered }), 200);
check(trigger.data.results.enrolled === 1, JSON.stringify(trigger));
const jobs = await done(
  api.GET("/api/v1/journeys/{workspaceId}/triggers/{triggerId}/jobs", {
    params: { ...triggered, query: { limit: 1 } },
  }),
  200,
);
check(jobs.data.jobs[0]?.jobId === jobId && jobs.data.next === null, JSON.stringify(jobs));
const enrolled = { path: { workspaceId, enrollmentId: job.enrollmentId } };
const ENROLLMENT = "/api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}";
const history = await done(api.GET(ENROLLMENT, { params: enrolled }), 200);
check(history.data.customerId === ada.customerId, JSON.stringify(history));
const journeys = await done(
  api.GET("/api/v1/customers/{workspaceId}/{customerId}/journeys", { params: customer }),
  200,
);
check(journeys.data.triggers[0]?.enrollment?.enrollmentId === job.enrollmentId, JSON.stringify(journeys));
const sent = await done(api.GET("/api/v1/customers/{workspaceId}/{customerId}/deliveries", { params: customer }), 200);
check(sent.data.next === null, JSON.stringify(sent));

// Events, and messages in the app -------------------------------------------------------------------------------------

const EVENTS = "/api/v1/customers/{workspaceId}/events";
const reported = await done(
  api.POST(EVENTS, {
    params: here,
    body: {
      external_id: "ada",
      eventName: "ordered",
      eventProperties: { total: 59.9 },
      occurredAt: new Date().toISOString(),
    },
  }),
  202,
);
check(reported.data.eventId !== undefined, JSON.stringify(reported));
const many = await done(
  api.POST(EVENTS, {
    params: here,
    body: {
      events: [
        { external_id: "ada", eventName: "a" },
        { external_id: "nobody", eventName: "b" },
      ],
    },
  }),
  202,
);
check(many.data.results?.[1]?.status === "failed", JSON.stringify(many));
const wouldDo = await done(
  api.POST(EVENTS, {
    params: { ...here, query: { dryRun: true } },
    body: { external_id: "ada", eventName: "ordered" },
  }),
  200,
);
const [triedEvent] = wouldDo.data.events ?? [];
check(triedEvent?.status === "tried" && triedEvent.goals?.length === 0, JSON.stringify(wouldDo));

const app = sdk(world.app);
const ACTION = "/api/v1/sdk/bridge/action";
const CAPTURE = "/api/v1/sdk/bridge/capture";
const clicked = await done(
  app.POST(ACTION, {
    body: { messageId: "sale", userId: "u-1", actionType: "track_event", actionData: { eventName: "seen" } },
  }),
  200,
);
check(clicked.data.eventId !== undefined, JSON.stringify(clicked));
const closed = await done(app.POST(ACTION, { body: { messageId: "sale", userId: "u-1", actionType: "close" } }), 200);
check(closed.data.closed === true, JSON.stringify(closed));
const captured = await done(
  app.POST(CAPTURE, {
    body: {
      messageId: "sale",
      userId: "u-1",
      formData: { city: "Ulm" },
      submitAction: { type: "both", eventName: "sent" },
    },
  }),
  200,
);
check(captured.data.attributesUpdated[0] === "city" && captured.data.eventId !== undefined, JSON.stringify(captured));
const calls = [{ call: "action", messageId: "sale", userId: "u-1", actionType: "link" }, { call: "neither" }];
const inOne = await done(app.POST("/api/v1/sdk/bridge/batch", { body: { calls } }), 200);
check(inOne.data.results[0]?.status === 200 && inOne.data.results[1]?.status === 400, JSON.stringify(inOne));

// Who an anonymous person is ------------------------------------------------------------------------------------------

const IDENTIFY = "/api/v1/sdk/identify";
const identified = await done(app.POST(IDENTIFY, { body: { userId: "u-1", external_id: "bob" } }), 200);
check(identified.data.identified, JSON.stringify(identified));
const merged = await done(
  api.POST("/api/v1/customers/{workspaceId}/merge", {
    params: here,
    body: { anonymous: { userId: "u-1" }, into: { external_id: "bob" } },
  }),
  200,
);
check(!merged.data.merged && merged.data.moved.events === 0, JSON.stringify(merged));
await refused(app.POST(IDENTIFY, { body: { userId: "u-1", external_id: "ada" } }));

// Messages that are known ---------------------------------------------------------------------------------------------

const MESSAGE = "/api/v1/messages/{workspaceId}/{key}";
const sale = { path: { workspaceId, key: "sale" } };
const put = await done(
  api.PUT(MESSAGE, {
    params: sale,
    body: { status: "active", actions: [{ id: "cta", type: "track_event", eventName: "clicked" }] },
  }),
  201,
);
check(put.data.key === "sale" && put.data.revision === 1, JSON.stringify(put));
const got = await done(api.GET(MESSAGE, { params: sale }), 200);
check(got.data.revision === put.data.revision, JSON.stringify(got));
const listed = await done(api.GET("/api/v1/messages/{workspaceId}", { params: here }), 200);
check(listed.data.messages[0]?.key === "sale", JSON.stringify(listed));
await done(api.DELETE(MESSAGE, { params: sale }), 200);
await refused(api.GET(MESSAGE, { params: sale }));
await refused(api.PUT(MESSAGE, { params: sale, body: { actions: [{ id: "cta", type: "dance" }] } }));

// Definitions and subscriptions ---------------------------------------------------------------------------------------

const JOURNEYS = "/api/v1/journeys/{workspaceId}";
const first = await done(api.GET(JOURNEYS, { params: { ...here, query: { limit: 1 } } }), 200);
check(first.data.journeys.length === 1 && first.data.next !== null, JSON.stringify(first));
const rest = await done(api.GET(JOURNEYS, { params: { ...here, query: { after: first.data.next } } }), 200);
check(rest.data.journeys.length === 1 && rest.data.next === null, JSON.stringify(rest));
const segments = await done(api.GET("/api/v1/segments/{workspaceId}", { params: here }), 200);
check(segments.data.segments[0]?.segmentId === segmentId, JSON.stringify(segments));
const DEFINITION = "/api/v1/journeys/{workspaceId}/{journeyId}";
const would = await done(
  api.PUT(DEFINITION, {
    params: { ...journey, query: { dryRun: true, moveInside: true } },
    body: { steps: [{ id: "wait", type: "delay", for: "P2D" }] },
  }),
  200,
);
check(would.data.moving?.revision === 2 && would.data.moving.moves === 2, JSON.stringify(would));
await refused(api.PUT(DEFINITION, { params: journey, body: { steps: [{ id: "wait", type: "sleep" }] } }));
const SUBSCRIPTIONS = "/api/v1/subscriptions/{workspaceId}";
const SUBSCRIPTION = "/api/v1/subscriptions/{workspaceId}/{subscriptionId}";
const crm = { path: { workspaceId, subscriptionId: "crm" } };
const url = "https://crm.example/events";
const made = await done(
  api.POST(SUBSCRIPTIONS, { params: here, body: { key: "crm", url, types: ["job.decided"] } }),
  201,
);
check(made.data.key === "crm", JSON.stringify(made));
await refused(api.POST(SUBSCRIPTIONS, { params: here, body: { key: "crm", url } }));
await refused(api.PUT(SUBSCRIPTION, { params: crm, body: { url, batch: 7 } }));
const anyVersion = { ...crm, header: { "If-Match": "*" } };
const changed = await done(api.PUT(SUBSCRIPTION, { params: anyVersion, body: { url, batch: 7 } }), 200);
check(changed.data.outcome === "changed", JSON.stringify(changed));
const subscribed = await done(api.GET(SUBSCRIPTIONS, { params: here }), 200);
check(subscribed.data.subscriptions[0]?.batch === 7, JSON.stringify(subscribed));
const tried = await done(api.POST(`${SUBSCRIPTION}/test`, { params: crm }), 202);
const pushed = await done(api.GET(`${SUBSCRIPTION}/deliveries`, { params: crm }), 200);
check(pushed.data.deliveries[0]?.deliveryId === tried.data.deliveryId, JSON.stringify(pushed));
const wentOn = await done(api.POST(`${SUBSCRIPTION}/resume`, { params: crm }), 200);
check(!wentOn.data.changed, JSON.stringify(wentOn));
await done(api.DELETE(SUBSCRIPTION, { params: anyVersion }), 200);
await refused(api.GET(SUBSCRIPTION, { params: crm }));

// Steering ------------------------------------------------------------------------------------------------------------

const steered = { path: { workspaceId, journeyId: job.journeyId } };
const HOLD = "/api/v1/journeys/{workspaceId}/{journeyId}/hold";
const held = await done(api.POST(HOLD, { params: steered, body: { reason: "A moment, please." } }), 200);
check(held.data.state === "held" && held.data.changed, JSON.stringify(held));
const RESUME = "/api/v1/journeys/{workspaceId}/{journeyId}/resume";
const resumed = await done(api.POST(RESUME, { params: steered, body: { perMinute: 600 } }), 200);
check(resumed.data.state === "active" && resumed.data.released === 0, JSON.stringify(resumed));
const CANCEL = "/api/v1/journeys/{workspaceId}/triggers/{triggerId}/cancel";
const taken = await done(
  api.POST(CANCEL, {
    params: { path: { workspaceId, triggerId: job.triggerId }, query: { dryRun: true } },
    body: { enrollments: "keep" },
  }),
  200,
);
check(taken.data.cancelled + taken.data.alreadyDecided === taken.data.customers, JSON.stringify(taken));
const OF_ENTRANCE = "/api/v1/journeys/{workspaceId}/{journeyId}/entrances/{entranceId}/exit";
const ofOrder = { path: { ...steered.path, entranceId: "order-17" } };
const gone = await done(api.POST(OF_ENTRANCE, { params: ofOrder, body: { external_id: "ada" } }), 200);
check(gone.data.entranceId === "order-17" && gone.data.exited === 0, JSON.stringify(gone));

// Refusals ------------------------------------------------------------------------------------------------------------

const EXIT = "/api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}/exit";
const exited = await done(api.POST(EXIT, { params: enrolled, body: { reason: "Asked to." } }), 200);
check(exited.data.state === "exited", JSON.stringify(exited));
await refused(api.POST(EXIT, { params: enrolled, body: { reason: "Asked to." } }));
await refused(api.DELETE(JOB, { params: { path: { workspaceId, jobId } } }));

const nothing = "0".repeat(24);
await refused(server("wrong").GET(CUSTOMERS, { params: { ...here, query: { external_id: "ada" } } }));
await refused(sdk("wrong").POST(ACTION, { body: { messageId: "sale", userId: "u-1", actionType: "close" } }));
await refused(
  sdk(world.strictApp).POST(ACTION, {
    body: { messageId: "sale", userId: "u-1", actionType: "close" },
    headers: { Origin: "https://elsewhere.example" },
  }),
);
await refused(
  api.GET(CUSTOMERS, { params: { path: { workspaceId: world.otherWorkspaceId }, query: { email: "a@b.example" } } }),
);
await refused(api.GET(CUSTOMERS, { params: { ...here, query: { external_id: "nobody" } } }));
await refused(api.GET(JOB, { params: { path: { workspaceId, jobId: "none" } } }));
await refused(
  api.GET("/api/v1/journeys/{workspaceId}/triggers/{triggerId}", {
    params: { path: { workspaceId, triggerId: nothing } },
  }),
);
await refused(api.GET(ENROLLMENT, { params: { path: { workspaceId, enrollmentId: nothing } } }));
await refused(api.GET(ENROLLMENT, { params: { ...enrolled, query: { cursor: "none" } } }));
await refused(api.POST(MEMBERS, { params: { path: { workspaceId, segmentId: nothing } }, body: { add: ["ada"] } }));
await refused(
  api.POST(TRIGGER, { params: { path: { workspaceId, journeyId: nothing } }, body: { external_id: "ada" } }),
);
await refused(
  api.POST(TRIGGER, {
    params: { path: { workspaceId, journeyId: world.eventJourneyId } },
    body: { external_id: "ada" },
  }),
);
await refused(api.POST(TRIGGER, { params: journey, body: {} }));
await refused(api.POST(TRIGGER, { params: journey, body: { external_ids: Array(1001).fill("ada") } }));
await refused(api.POST(TRIGGER, { params: journey, body: { segment_ids: [nothing] } }));
await refused(api.POST(TRIGGER, { params: journey, body: { external_id: "ada" }, headers: { Accept: "text/html" } }));
await refused(
  api.POST(TRIGGER, { params: journey, body: { external_id: "ada" }, headers: { "Content-Type": "text/plain" } }),
);
await refused(
  api.POST(TRIGGER, { params: journey, body: { external_id: "ada", payload: { text: "x".repeat(2 ** 20) } } }),
);
await refused(api.POST(TRIGGER, { params: journey, body: {}, bodySerializer: () => "{" }));
const conflict = await refused(
  api.PUT(CUSTOMERS, { params: here, body: { external_id: "bob", email: "ada@example.com" } }),
);
check(conflict.details?.[0]?.customerId !== undefined, JSON.stringify(conflict));

const slow = server(world.slowKey);
await done(slow.POST(TRIGGER, { params: { ...journey, query: { dryRun: true } }, body: { external_id: "ada" } }), 200);
await refused(slow.POST(TRIGGER, { params: journey, body: { external_id: "ada" } }));

await done(api.DELETE("/api/v1/customers/{workspaceId}/{customerId}", { params: customer }), 200);
await refused(api.GET("/api/v1/customers/{workspaceId}/{customerId}", { params: customer }));

const FEED = "/api/v1/feed/{workspaceId}";
const told = await done(api.GET(FEED, { params: { ...here, query: { types: "customer.erased" } } }), 200);
check(told.data.events[0]?.type === "customer.erased", JSON.stringify(told));
await done(api.GET(FEED, { params: { ...here, query: { after: told.data.next } } }), 200);

console.log(JSON.stringify(refusals));
