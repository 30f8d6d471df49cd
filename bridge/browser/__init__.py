"""The SDK for browsers: its files as they are served, and their manifest.

1. `static/bridge/sdk/` holds what is written by hand: `engage.js`, `frame.js`, `engage.d.ts`.
2. `files.py` makes the script-tag form and the manifest of them (`manage.py build_sdk`), and reads the manifest.
3. `views.py` serves them under `/sdk/v1/`.
"""
