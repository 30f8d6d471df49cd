"""How the admin writes dates and times: Django always asks the language's formats, also without translations."""
