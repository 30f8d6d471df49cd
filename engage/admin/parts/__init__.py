"""What pages of all apps are made of.

1. records.py: lists and pages of records; edits.py and audited.py: refused edits, the audit's entry; differences.py.
   definitions.py: those of definitions, saved as calls save them.
2. columns.py, filters.py, panels.py, acts.py, timeline.py: what stands on them; json_field.py, times.py,
   origins.py, managed.py: fields.
"""
