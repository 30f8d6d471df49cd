"""The feed pushed to servers, by the sender of webhooks (journeys/engine/webhooks/).

1. cutting.py: what is told is cut into pushes, as far as a subscription has room.
2. claims.py and results.py: pushes as the sender claims them, and writes what came of them; outbox.py: both, for it.
"""
