"""Failures: the webhooks that failed or keep failing, with the answers, and sending them again.

1. conditions.py: what staff ask for.
2. sending.py: sending again what they have chosen, or all that match.
3. listing.py: the list.
"""

from journeys.delivery.failures import listing

__all__ = ["listing"]
