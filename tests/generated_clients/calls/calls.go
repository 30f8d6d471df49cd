// Triggers, looks up, reports a click and is refused, with the client of openapi-generator's go. Prints the refusal.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	engage "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func check(holds bool, what any) {
	if !holds {
		panic(fmt.Sprintf("%+v", what))
	}
}

func done[Answer any](answer *Answer, _ any, err error) *Answer {
	check(err == nil, err)
	return answer
}

func client(url, header, value string) *engage.APIClient {
	configuration := engage.NewConfiguration()
	configuration.Servers = engage.ServerConfigurations{{URL: url}}
	configuration.AddDefaultHeader(header, value)
	return engage.NewAPIClient(configuration)
}

func main() {
	var world map[string]string
	check(json.Unmarshal([]byte(os.Getenv("WORLD")), &world) == nil, "WORLD")
	api, none := client(world["url"], "Authorization", "Bearer "+world["key"]).JourneysAPI, context.Background()
	trigger := func(request *engage.TriggerRequest) engage.ApiTriggerJourneyRequest {
		return api.TriggerJourney(none, world["workspaceId"], world["journeyId"]).TriggerRequest(*request)
	}
	ada, many, nobody := engage.NewTriggerRequest(), engage.NewTriggerRequest(), engage.NewTriggerRequest()
	ada.SetExternalId("ada")
	many.SetExternalIds([]string{"bob", "nobody"})
	nobody.SetExternalId("nobody")

	dry := done(trigger(ada).DryRun(true).Execute()).Data
	check(dry.Status == "dry_run" && dry.Results["enrolled"] == 1, dry)
	single := done(trigger(ada).Execute()).Data
	check(single.Status == "queued" && single.GetJobId() != "", single)
	bulk := done(trigger(many).Execute()).Data
	check(bulk.GetCustomersEnrolled() == 1 && len(bulk.JobIds) == 1, bulk)

	look := func() engage.Job { return done(api.GetJob(none, world["workspaceId"], single.GetJobId()).Execute()).Data }
	job := look()
	for tries := 0; job.Status == "queued" && tries < 600; tries++ {
		time.Sleep(100 * time.Millisecond)
		job = look()
	}
	check(job.GetResult() == "enrolled" && job.GetEnrollmentId() != "", job)

	click, kind, name := engage.NewActionRequest("sale"), "track_event", "seen"
	click.SetUserId("u-1")
	click.ActionType = &kind
	data := engage.NewActionData()
	data.SetEventName(name)
	click.SetActionData(*data)
	messages := client(world["url"], "X-App-Id", world["app"]).InAppMessagesAPI
	recorded := done(messages.RecordAction(none).ActionRequest(*click).Execute()).Data
	check(recorded.GetEventId() != "", recorded)

	_, answer, err := trigger(nobody).Execute()
	var refused *engage.GenericOpenAPIError
	check(errors.As(err, &refused), err)
	failure := refused.Model().(engage.Failure)
	fmt.Printf("{%q: %d}\n", failure.Code, answer.StatusCode)
}
