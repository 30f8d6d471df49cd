"""May we write to them now? What is known of people's will and of addresses, and the one decision that asks for it.

1. consent.py: acts, and what follows from them. windows.py, caps.py: when, and how often. All three are pure.
2. deciding.py: `may_contact`, over frozen values: reach, consent, windows, caps, in this order.
"""
