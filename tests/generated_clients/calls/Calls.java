// Triggers, looks up, reports a click and is refused, with the client of openapi-generator's java. Prints the refusal.

import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.InAppMessagesApi;
import org.openapitools.client.api.JourneysApi;
import org.openapitools.client.model.*;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;

public class Calls {
    static void check(boolean holds, Object what) {
        if (!holds) throw new IllegalStateException(String.valueOf(what));
    }

    static ApiClient client(JsonNode world, String header, String value) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(world.get("url").asText());
        client.setRequestInterceptor(request -> request.setHeader(header, value));
        return client;
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode world = new ObjectMapper().readTree(System.getenv("WORLD"));
        String workspace = world.get("workspaceId").asText(), journey = world.get("journeyId").asText();
        JourneysApi journeys = new JourneysApi(client(world, "Authorization", "Bearer " + world.get("key").asText()));
        TriggerRequest ada = new TriggerRequest().externalId("ada");

        Triggered dry = journeys.triggerJourney(workspace, journey, ada, true, null, null, null).getData();
        check(dry.getStatus() == Triggered.StatusEnum.DRY_RUN && dry.getResults().get("enrolled") == 1, dry);
        Triggered single = journeys.triggerJourney(workspace, journey, ada, null, null, null, null).getData();
        check(single.getStatus() == Triggered.StatusEnum.QUEUED && single.getJobId() != null, single);
        TriggerRequest many = new TriggerRequest().externalIds(List.of("bob", "nobody"));
        Triggered bulk = journeys.triggerJourney(workspace, journey, many, null, null, null, null).getData();
        check(bulk.getCustomersEnrolled() == 1 && bulk.getJobIds().size() == 1, bulk);

        Job job = journeys.getJob(workspace, single.getJobId(), null).getData();
        for (int tries = 0; job.getStatus().equals("queued") && tries < 600; tries++) {
            Thread.sleep(100);
            job = journeys.getJob(workspace, single.getJobId(), null).getData();
        }
        check("enrolled".equals(job.getResult()) && job.getEnrollmentId() != null, job);

        ActionRequest click = new ActionRequest().messageId("sale").userId("u-1")
            .actionType(ActionRequest.ActionTypeEnum.TRACK_EVENT).actionData(new ActionData().eventName("seen"));
        InAppMessagesApi messages = new InAppMessagesApi(client(world, "X-App-Id", world.get("app").asText()));
        check(messages.recordAction(click, null, null).getData().getEventId() != null, click);

        try {
            journeys.triggerJourney(workspace, journey, new TriggerRequest().externalId("nobody"), null, null, null, null);
        } catch (ApiException refused) {
            String code = new ObjectMapper().readTree(refused.getResponseBody()).get("code").asText();
            System.out.println("{\"" + code + "\": " + refused.getCode() + "}");
        }
    }
}
