"""Who gets in: passwords.py, new_passwords.py, known_devices.py, second_factor/, openid/, invitations.py,
break_glass.py.

And who gets out: idle_sessions.py.
"""
