"""What proves who calls, and what is stored encrypted.

api_keys.py: keys; identity_keys.py: what verifies identity tokens; break_glass.py: a link that lets an account in.
encryption.py, sealed.py: what is stored encrypted, and what nobody can open.
"""
