"""The studio, in which a journey is edited step by step: page.py, with suggestions.py and help.py.

views.py: what is asked while somebody edits; preview.py: what a text comes to; trying.py: *Try it*.
"""
