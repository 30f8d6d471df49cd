"""The bridge: what in-app messages report, by pages that anybody can read.

1. models.py, requests.py: what is recorded, for how long, and what is asked; form_values.py: forms as attributes and
   properties.
2. identity/: whether people are who the page says; messages/: what a message may write.
3. interactions/: from a click or a form to what it does; caps.py: how much; people/: who somebody turned out to be;
   in_app/: what journeys have delivered, as pages fetch it.
4. api/: the calls.
5. browser/: the SDK; admin/: the pages of staff; lately.py: the last seven days. apps.py: for
   Django.
"""
