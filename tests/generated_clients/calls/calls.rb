# Triggers, looks up, reports a click and is refused, with the client of openapi-generator's ruby. Prints the refusal.

require 'json'
require 'openapi_client'
include OpenapiClient

def check(holds, what) = holds || raise(what.inspect)

WORLD = JSON.parse(ENV.fetch('WORLD'))

def client
  configuration = Configuration.new
  configuration.scheme, configuration.host = WORLD['url'].split('://')
  configuration.base_path = configuration.server_index = nil
  configuration.access_token = WORLD['key']
  configuration.api_key['X-App-Id'] = configuration.api_key['appId'] = WORLD['app']
  ApiClient.new(configuration)
end

API = JourneysApi.new(client)

def trigger(options = {}, **fields)
  API.trigger_journey(WORLD['workspaceId'], WORLD['journeyId'], TriggerRequest.new(fields), options)
end

dry = trigger({ dry_run: true }, external_id: 'ada').data
check(dry.status == 'dry_run' && dry.results['enrolled'] == 1, dry)
single = trigger(external_id: 'ada').data
check(single.status == 'queued' && single.job_id, single)
bulk = trigger(external_ids: %w[bob nobody]).data
check(bulk.customers_enrolled == 1 && bulk.job_ids.size == 1, bulk)

job = nil
600.times do
  job = API.get_job(WORLD['workspaceId'], single.job_id).data
  break if job.status != 'queued'

  sleep 0.1
end
check(job.result == 'enrolled' && job.enrollment_id, job)

click = ActionRequest.new(message_id: 'sale', user_id: 'u-1', action_type: 'track_event',
                          action_data: ActionData.new(event_name: 'seen'))
recorded = InAppMessagesApi.new(client).record_action(click).data
check(recorded.event_id, recorded)

begin
  trigger(external_id: 'nobody')
rescue ApiError => e
  puts JSON.generate({ JSON.parse(e.response_body)['code'] => e.code })
end
