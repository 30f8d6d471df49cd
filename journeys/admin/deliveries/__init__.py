"""What was sent: sent.py (all of it), failures/, left_alone.py (what is left alone), webhook_secrets.py.

subscriptions.py: what is pushed.
"""
