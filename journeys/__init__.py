"""Journeys: the engine, and above it a folder for each thing that staff and callers know.

1. models/: the tables. rules/, steps/ and rendering/ know none of them: what a journey consists of.
2. engine/: a customer's way, from a call or an event to the last step. It knows no call, page or command.
3. Definitions: each folder with a resource.py is a kind of them, with its rules, calls and page. kinds.py: all of
   them, in order; definitions/: what their calls share.
4. trigger/, enrollment/, delivery/, events/: what happens, as calls and staff see it. overview/: the first page.
5. faces/: what calls and pages share. seeding/: a workspace from a file; management/: commands.
6. api.py, admin.py, apps.py, tasks.py: where Django and Celery look.
"""
