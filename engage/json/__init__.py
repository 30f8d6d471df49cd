"""JSON.

1. Values: what can be stored (storable.py), what is wrong with one (mistakes.py), in parts (documents.py), shortly
   (compact.py), changed by others (merge_patch.py); points in time: instants.py, and between them: durations.py.
2. Typed objects: what their fields say (fields.py), how they are read (reading.py) and written (writing.py); those of
   definitions: described.py.
3. What the OpenAPI document says of them: keywords.py.
4. What people write: the order of its names (key_order.py), and where its values stand (positions.py).
"""
