"""Leaving and coming back: what people decide themselves, by the links in their messages, without a login.

1. links.py: the token of a link, which says of whom, and of which message.
2. choices.py: what somebody may choose, what holds at the moment, and what is recorded of what they choose.
3. languages.py: the texts of the pages in eight languages (texts/), and which of them somebody reads.
4. shown.py: what pages show of somebody; pages.py: the addresses below /contact/, which know no sessions or cookies.
"""
