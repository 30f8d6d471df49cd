"""May we write to them now? What is known of people's will and of addresses, and the one decision that asks for it.

1. consent.py: acts, and what follows from them; periods.py: for how long. windows.py, caps.py: when, and how often.
2. deciding.py: `may_contact`, over frozen values: reach, consent, windows, caps, in this order. All of these are pure.
3. topics.py: what a workspace writes about; policy.py: what it says of windows and caps, read from what is written;
   saving.py: as a definition.
4. ledger.py: acts in the database, and what follows from them; reach.py: addresses that are not written to.
   suppressed.py: the same by their digests; rings.py: when people were written to, as caps count it.
   beforehand.py: the decision, asked by a call. saying.py: what calls, files and staff say of somebody's will, and what
   holds by now.
"""
