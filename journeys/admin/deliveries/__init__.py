"""Webhooks: failures/ (those that failed), left_alone.py (what is left alone), webhook_secrets.py;
subscriptions.py (what is pushed)."""
