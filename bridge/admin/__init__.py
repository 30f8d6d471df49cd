"""The admin's pages about the bridge: apps with their keys, in-app messages, and what customers did in them.

1. Apps, and the keys of those that ask for proof of who somebody is (apps.py, identity_keys.py).
2. Messages: the list with the figures of a week (messages.py), the form (message_form.py), what stands below it
   (message_page.py), with a definition that is learned.
3. Interactions (interactions.py).
"""

from bridge.admin import apps, identity_keys, interactions, messages

__all__ = ["apps", "identity_keys", "interactions", "messages"]
