"""The calls about messages.

`messages`: what their buttons and forms may write.
"""

from bridge.api import messages

__all__ = ["messages"]
