"""What was sent, as calls and staff see it: calls.py; sent.py, all of it; failures/; in_app.py, what was shown.

left_alone.py: what is left alone because it keeps failing; hosts.py: hosts that are held; webhook_secrets.py.
"""
