"""Webhooks, from a committed delivery to its end. Nothing here walks enrollments or wakes workers.

1. sending.py: requests, signed (signing.py, signing_secrets.py), in threads, one thread for the database; resending.py
   makes a failed one due again.
2. claims.py: a committed claim of what is due, in one statement (claim_statements.py), at the hosts that are noted
   (due_hosts.py), as far as they have room (host_slots.py) and are well (circuits.py); by_connection.py: what goes by a
   connection as that is now; asking_again.py: whether it may still be sent, else dropping.py ends it.
3. client.py: one request, to a public address (addresses.py), in a bounded time (deadlines.py).
4. outcomes.py, answers.py, schedule.py: what came of it, what its step makes of the answer, and what follows:
   delivered, tried again and when, or failed for good; giving_up.py: what is too late to be tried.
5. results.py: attempts, ends and circuits of many deliveries, in one transaction.
6. waiting.py: what webhooks wait for, and what is left alone, in words; sources.py: what has a circuit of its own;
   failures.py: those that failed.
"""
