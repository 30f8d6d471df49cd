"""What definitions name that is not in them. Nothing here walks enrollments or sends anything.

1. variables.py: a workspace's variables, saved and deleted.
2. using.py: which definitions name what: what is used cannot be deleted.
3. known.py: what may be named when a definition is saved.
4. providers.py: connections, parsed; presets/: those that many want, as data.
5. messages.py: messages that journeys deliver.
6. surroundings.py: all of it as the steps of a batch read it.
"""
