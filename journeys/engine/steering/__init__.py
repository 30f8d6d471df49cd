"""Steering: what is done about journeys, calls and hosts while they run. Nothing here wakes workers.

1. acts.py: what was done, by whom and why; every other module records it in the transaction that does it. And what
   that did, or would do, in numbers.
2. holding.py: a journey is held, and resumed. A hold is a column of the journey, which whoever begins a step or an
   attempt looks at (walking/positions.py, webhooks/claims.py); what is due meanwhile is suspended when its turn comes,
   so that nobody else waits behind it, and nothing looks for it while no journey is held.
3. releasing.py: what was suspended becomes due again, some at a time, at a pace if that was asked for.
4. aborting.py: a journey is closed, all who are inside leave, and undecided.py: what is queued is decided.
   cancelling.py: a call is taken back.
   entrances.py: whoever has an entrance leaves.
5. moving.py: those inside go on in a later revision.
6. guards.py: a journey is held because too many of its webhooks fail. hosts.py: hosts are held, and have rates.
7. going_on.py: whatever a process left unfinished that died.
"""
