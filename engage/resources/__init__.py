"""Definitions: what authors write in a workspace, as items of seed files, calls and pages. Each kind is a Resource.

1. fields.py: what an item may say, written once for readers, defaults, bodies and what is written out; columns.py: what
   is wrong by the rules of the table.
2. resource.py: a kind: its table, fields and rules, and the one way in which it is saved and deleted.
3. definitions.py: one definition, read, replaced or deleted by whoever has seen it (ETag, If-Match, dry runs).
"""
