"""The page of a journey.

1. page.py, form.py: the record and its form; help.py, drafts.py: what is told while it is written; differences.py.
2. views.py: pages beside it; trying.py: a trial; payload_field.py; sending.py, send_form.py: sending by hand;
   studio.py, suggestions.py, preview.py: editing step by step.
"""
