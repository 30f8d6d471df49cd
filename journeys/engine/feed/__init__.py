"""What was told (engage/feed.py), for whoever asks.

- numbering.py: its readers give it an order to which nothing is added later.
- reading.py: a page of it, with what is joined only then.
"""
