// Triggers, looks up, reports a click and is refused, with openapi-generator's typescript-axios. Prints the refusal.

import { isAxiosError } from "axios";
import { Configuration, InAppMessagesApi, JourneysApi, type TriggerRequest } from "./client/index.js";

declare const process: { env: Record<string, string> };

const world: Record<string, string> = JSON.parse(process.env.WORLD!);
const { url: basePath, workspaceId, journeyId } = world as { url: string; workspaceId: string; journeyId: string };
const api = new JourneysApi(new Configuration({ basePath, accessToken: world.key! }));

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

const trigger = async (request: TriggerRequest, dryRun?: boolean) =>
  (await api.triggerJourney(workspaceId, journeyId, request, dryRun)).data.data;

const dry = await trigger({ external_id: "ada" }, true);
check(dry.status === "dry_run" && dry.results?.enrolled === 1, dry);
const single = await trigger({ external_id: "ada" });
const { jobId } = single;
check(single.status === "queued" && !!jobId, single);
const bulk = await trigger({ external_ids: ["bob", "nobody"] });
check(bulk.customersEnrolled === 1 && bulk.jobIds?.length === 1, bulk);

const look = async () => (await api.getJob(workspaceId, jobId)).data.data;
let job = await look();
for (let tries = 0; job.status === "queued" && tries < 600; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  job = await look();
}
check(job.result === "enrolled" && !!job.enrollmentId, job);

const messages = new InAppMessagesApi(new Configuration({ basePath, apiKey: world.app! }));
const recorded = await messages.recordAction({
  messageId: "sale",
  userId: "u-1",
  actionType: "track_event",
  actionData: { eventName: "seen" },
});
check(!!recorded.data.data.eventId, recorded.data);

try {
  await trigger({ external_id: "nobody" });
} catch (refused) {
  check(isAxiosError(refused), refused);
  console.log(JSON.stringify({ [refused.response!.data.code]: refused.response!.status }));
}
