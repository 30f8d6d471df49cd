"""People who are identified: an anonymous user id turns out to be somebody.

1. merging.py: all apps' parts of merging two customers, in their order, for pages as well as for servers.
2. identifying.py: what a page says once somebody has logged in; held to the app's identity tokens as every bridge call.
"""
