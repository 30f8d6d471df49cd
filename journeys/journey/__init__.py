"""A journey: what it is, how it is saved, and its faces.

1. fields.py, written.py, resource.py: what files and calls say of one. authoring.py: the one way to save it, with
   conditions.py, warnings.py and past_moments.py; asked.py: what authors are asked for beside the steps.
2. keeping.py, opening.py: what else is done with one; listening.py: which of them listen to an event; starters.py: what
   an author may begin with.
3. draft/: what is edited before it is published; studio/: where; send/: triggered by hand.
4. page.py, with form.py, differences.py, map.py, how_to_trigger.py, payload_field.py and acts/: the page.
5. calls.py, steering.py, statistics.py: the calls.
"""
