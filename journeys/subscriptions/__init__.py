"""Subscriptions: the feed (journeys/feed/) pushed to servers, by the sender of webhooks (journeys/webhooks/).

1. saving.py: what one is, and the rules by which it is saved; tried and resumed.
2. cutting.py: what is told is cut into pushes, as far as a subscription has room.
3. claims.py and results.py: pushes as the sender claims them, and writes what came of them; outbox.py: both, for it.
"""
