"""In-app messages that journeys have delivered, as pages get them.

1. readers.py: who may read whose messages.
2. due.py: what is due for them, read in one statement, rendered, and told from what a page has already.
"""
