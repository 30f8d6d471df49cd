"""Who gets in: passwords.py, known_devices.py, second_factor/, openid/, break_glass.py; and out: idle_sessions.py."""
