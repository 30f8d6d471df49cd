#!/usr/bin/env python
"""Django's command line."""

import sys

from config.process.command_line import main

if __name__ == "__main__":
    sys.exit(main())
