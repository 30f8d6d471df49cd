"""Celery with a clock that is wrong: `python -m tests.chaos.skewed SECONDS worker …`."""

import sys
from datetime import UTC, datetime, timedelta

import time_machine
from celery.__main__ import main

if __name__ == "__main__":
    seconds = float(sys.argv.pop(1))
    time_machine.travel(datetime.now(UTC) + timedelta(seconds=seconds), tick=True).start()
    main()
