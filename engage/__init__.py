"""The ground floor: what has nothing to do with customers, journeys or messages.

1. http/: a call, from its bytes to its answer; calls/: what a call is, how the OpenAPI document describes it, and those
   about access itself.
2. resources/: definitions, whatever they are of: their fields, and the one way in which they are saved.
3. admin/: the pages of staff, and what those of the other apps are made of.
4. models/: workspaces, keys and apps, on database/: the engine, tenancy, ids, and what makes work repeatable.
5. audit/: who changed what. redis/: what may vanish; json/: what can be stored; notations/: how small things are
   written.
6. credentials/: what proves who calls, and what is encrypted. process/: what processes are made of, and what they
   tell.
7. errors.py: refusals; scopes.py: what a key may do; feed.py: what happens, as it is told; alerts.py: what is wrong,
   and who is told of it. api.py, apps.py: where Django looks.
"""
