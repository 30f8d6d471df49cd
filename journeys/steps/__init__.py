"""Steps: a file per kind, and the engine that walks them. Nothing here does I/O.

1. definition.py: the steps of a revision, parsed; kinds.py is what every kind says of itself, written.py what the
   parsers of all kinds share.
2. course.py: walks an enrollment from one step to the next until it stops; rehearsal.py does so on a virtual clock.
3. context.py: what steps read, and surroundings.py, what of that belongs to the workspace; results.py: what they come
   to, as values that the caller writes. links.py: the links by which people leave.
4. exit_rules.py: what ends an enrollment whichever step it is at; goals.py: what it is counted for; events.py: which
   events match; conditions.py and durations.py: as definitions have them.
5. graph.py: all of that as a graph in words, to be drawn and counted by; description.py: the kinds as data, for an
   editor.
6. The kinds: webhook.py and send.py (sending.py), in_app.py, delay.py (moments.py, times_of_day.py), wait_for_event.py,
   wait_until.py, branch.py, split.py, update_profile.py, track_event.py and exit.py; templated.py is what those with
   templates share. contacting.py: what those share that write to people, and ask contact.py whether they may.
7. request.py: what is sent, with webhook_url.py, webhook_headers.py, request_auth.py, webhook_targets.py, and
   secrets.py for what of it nobody reads again; answer_rules.py: what is made of the answer; provider.py: a
   connection, which is a request with inputs.py.
8. schemas.py: JSON Schema, which says what inputs and payloads.py must be.
"""
