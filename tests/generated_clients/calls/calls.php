<?php
// Triggers, looks up, reports a click and is refused, with the client of openapi-generator's php. Prints the refusal.

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $file = __DIR__ . '/client/lib/' . str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) {
        require $file;
    }
});

use OpenAPI\Client\Api\{InAppMessagesApi, JourneysApi};
use OpenAPI\Client\{ApiException, Configuration};
use OpenAPI\Client\Model\{ActionData, ActionRequest, TriggerRequest};

function check(bool $holds, mixed $what): void
{
    $holds || throw new RuntimeException(print_r($what, true));
}

$world = json_decode(getenv('WORLD'), true);
$configuration = fn () => (new Configuration())->setHost($world['url']);
$api = new JourneysApi(null, $configuration()->setAccessToken($world['key']));
$trigger = fn (array $fields, ?bool $dry = null) =>
    $api->triggerJourney($world['workspaceId'], $world['journeyId'], new TriggerRequest($fields), $dry);

$dry = $trigger(['external_id' => 'ada'], true)->getData();
check($dry->getStatus() === 'dry_run' && $dry->getResults()['enrolled'] === 1, $dry);
$single = $trigger(['external_id' => 'ada'])->getData();
check($single->getStatus() === 'queued' && $single->getJobId() !== null, $single);
$bulk = $trigger(['external_ids' => ['bob', 'nobody']], false)->getData();
check($bulk->getCustomersEnrolled() === 1 && count($bulk->getJobIds()) === 1, $bulk);

for ($tries = 0; $tries < 600; $tries++) {
    $job = $api->getJob($world['workspaceId'], $single->getJobId())->getData();
    if ($job->getStatus() !== 'queued') {
        break;
    }
    usleep(100_000);
}
check($job->getResult() === 'enrolled' && $job->getEnrollmentId() !== null, $job);

$click = new ActionRequest(['message_id' => 'sale', 'user_id' => 'u-1', 'action_type' => 'track_event',
    'action_data' => new ActionData(['event_name' => 'seen'])]);
$messages = new InAppMessagesApi(null, $configuration()->setApiKey('X-App-Id', $world['app']));
check($messages->recordAction($click)->getData()->getEventId() !== null, $click);

try {
    $trigger(['external_id' => 'nobody']);
} catch (ApiException $refused) {
    echo json_encode([json_decode($refused->getResponseBody())->code => $refused->getCode()]);
}
