"""The SDK for browsers: its files as they are served, and their manifest.

1. `source/` holds what is written by hand: a module and its types each, and what goes into the package for npm.
2. building.py makes of it what is served (`manage.py build_sdk`), with the programs that `tools/` names.
3. files.py reads what was made: `static/bridge/sdk/` has the files of this version and those of released ones.
4. views.py serves them under `/sdk/v1/`.
"""
