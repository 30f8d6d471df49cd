"""The calls about definitions, each as the item of a seed file: made, read, changed, in parts as well, and deleted.

1. calls.py: what they have in common, from If-Match to a dry run; bodies.py: what they take and answer.
2. each.py: four calls for each kind that says what they are.
3. reading.py: what all items of a seed file share.
"""
