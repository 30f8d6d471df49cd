#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from config.process.command_line import execute

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    sys.exit(execute(sys.argv))
