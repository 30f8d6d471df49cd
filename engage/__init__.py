"""The ground floor: what has nothing to do with customers, journeys or messages.

1. http/: a call, from its bytes to its answer; calls/: what a call is; schema/: how the OpenAPI document describes it.
2. resources/: definitions, whatever they are of: their fields, and the one way in which they are saved.
3. api/: calls about access itself; scopes.py, networks.py: what a key may do, and from where.
4. admin/: the pages of staff, and what those of the other apps are made of.
5. models/: workspaces, keys and apps, on database/: the engine, tenancy, ids, and what makes work repeatable.
6. audit/: who changed what. redis/: what may vanish; json/: what can be stored.
7. errors.py, credentials.py, encryption.py, sealed.py, rates.py, sizes.py, origins.py, plurals.py, zones.py,
   countries.py, known_values.py: words that all of these use; budget.py: how long expressions may take; positions.py:
   of readers; feed.py: what happens, as it is told; request_log.py, middleware.py, bounded_cache.py, alone.py,
   terminal.py, per_process.py: what processes are made of; tracing.py, tracing_sdk.py, error_reports.py: what others
   are told of them.
8. alerts.py, recipients.py: what is wrong, and who is told of it.
9. identity_keys.py, second_factor.py, break_glass.py: keys of apps, phones of staff, a way in. apps.py: for Django.
"""
