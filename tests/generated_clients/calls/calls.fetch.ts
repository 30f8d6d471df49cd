// Triggers, looks up, reports a click and is refused, with openapi-generator's typescript-fetch. Prints the refusal.

import { Configuration, InAppMessagesApi, JourneysApi, ResponseError, type TriggerRequest } from "./client/index.js";

declare const process: { env: Record<string, string> };

const world: Record<string, string> = JSON.parse(process.env.WORLD!);
const { url: basePath, workspaceId, journeyId } = world as { url: string; workspaceId: string; journeyId: string };
const api = new JourneysApi(new Configuration({ basePath, accessToken: world.key! }));

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

const trigger = async (triggerRequest: TriggerRequest, dryRun?: boolean) =>
  (await api.triggerJourney({ workspaceId, journeyId, triggerRequest, dryRun })).data;

const dry = await trigger({ externalId: "ada" }, true);
check(dry.status === "dry_run" && dry.results?.enrolled === 1, dry);
const single = await trigger({ externalId: "ada" });
const { jobId } = single;
check(single.status === "queued" && !!jobId, single);
const bulk = await trigger({ externalIds: ["bob", "nobody"] });
check(bulk.customersEnrolled === 1 && bulk.jobIds?.length === 1, bulk);

const look = async () => (await api.getJob({ workspaceId, jobId })).data;
let job = await look();
for (let tries = 0; job.status === "queued" && tries < 600; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  job = await look();
}
check(job.result === "enrolled" && !!job.enrollmentId, job);

const messages = new InAppMessagesApi(new Configuration({ basePath, apiKey: world.app! }));
const recorded = await messages.recordAction({
  actionRequest: { messageId: "sale", userId: "u-1", actionType: "track_event", actionData: { eventName: "seen" } },
});
check(!!recorded.data.eventId, recorded);

try {
  await trigger({ externalId: "nobody" });
} catch (refused) {
  check(refused instanceof ResponseError, refused);
  console.log(JSON.stringify({ [(await refused.response.json()).code]: refused.response.status }));
}
