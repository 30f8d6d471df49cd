"""The calls of the bridge.

1. `senders`: who sends what pages send, and how it is known when it is sent again.
2. `in_app`: what journeys have delivered; `interactions`: clicks and forms (`interaction_bodies`);
   `batch`: many of them, which waited.
3. `people`: who somebody turned out to be, for pages and for servers.
4. `messages`: what their buttons and forms may write.
"""

from bridge.api import batch, in_app, interactions, messages, people

__all__ = ["batch", "in_app", "interactions", "messages", "people"]
