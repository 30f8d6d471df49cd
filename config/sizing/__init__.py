"""What a machine has to have for so many customers and calls, as `manage.py sizing` tells it.

- figures.py: what one of each thing costs, read from figures.json, which `make sizing` measures and writes.
- needs.py: those costs times volumes, and the outcome in words.
"""
