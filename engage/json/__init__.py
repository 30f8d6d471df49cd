"""JSON: what can be stored (storable.py), in parts (documents.py), shortly (compact.py), and described (keywords)."""
