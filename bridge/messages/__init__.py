"""Messages that the service knows: what their buttons and forms may write, and what becomes of a call that writes more.

1. A definition is JSON that is written by staff, seed files and the API (saving.py; definition.py, rules.py; what a
   message shows: content.py); a page's call is held against it, purely (matching.py, problems.py).
2. policy.py is what a bridge call asks. With an app whose policy is `open`, and no `actionId`, that is one comparison.
   Otherwise the definition is looked up, at most once a second for each message and process (known.py).
3. `enforce` refuses before anything is looked up about the person, so the answer does not tell whether there is one.
   `report` lets the call through and marks its interaction with what would have been refused.
4. What was recorded in the last seven days is told to staff from bounded ranges of an index: a number for each message
   (figures.py), and by button, day and person (usage.py). From that a definition can be learned (recorded.py,
   learning.py). markup.py writes a definition as HTML.
"""
