"""What runs on a developer's machine only: `make run`, and the embedded servers of tests and commands.

1. launch.py: `make run`, from the embedded servers to the first screen; processes.py: the Procfile's processes.
2. embedded.py: PostgreSQL and Redis for whoever needs them, as long as somebody does; locks.py: who does;
   servers.py: their programs, folders and settings.
3. demo.py, tour.py: what there is to try; first_screen.py and info.py: how it is told, and told again;
   receiver.py: takes the demo's webhooks; message_demo.py: a page with in-app messages,
   of which offer.py has one that a journey delivers.
4. development.py: a secret key that lasts; licences.py: what the dependencies' licences are;
   materials.py: the bill of what a release is made of.
"""
