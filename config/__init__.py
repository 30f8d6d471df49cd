"""How processes start and are watched.

settings.py reads environment.py and server_urls.py. The web process is serving/ with wsgi.py and urls.py, workers are
celery.py, with tasks.py for what is no work of journeys. The admin is admin_app.py with navigation.py; apps.py and
formats/ tell Django of this folder.

- process/: what any process of the service does for itself, from its start to a Redis that is away.
- monitoring/: probes, metrics, and what `manage.py doctor` finds.
- sizing/: the disk and processors that so many customers need, for `manage.py sizing`.
- docs/: the OpenAPI document's page, and the page at `/`.
- local/: what runs on a developer's machine only: embedded servers, `make run`, the demo.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # of the checkout
