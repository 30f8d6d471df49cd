"""The service's own settings, with the views that do nothing in the place of its own."""

from config.settings import *  # noqa: F403 - all of them, so that the floor is the same server

ROOT_URLCONF = "tests.benchmarks.floor"
