"""What definitions name that is not in them. Nothing here walks enrollments or sends anything.

1. using.py: which definitions name what: what is used cannot be deleted.
2. known.py: what may be named when a definition is saved.
3. providers.py: connections, parsed; messages.py: messages that journeys deliver; links.py: the links in messages.
4. surroundings.py: all of it as the steps of a batch read it; contacts.py: what they ask before they write to people.
"""
