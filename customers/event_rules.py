"""What an event may be called. The same rule for whoever records events or waits for them."""

MAX_EVENT_NAME_LENGTH = 255
