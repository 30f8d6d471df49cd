"""How the admin writes dates and times: Django reads the language's formats even with translations off."""
