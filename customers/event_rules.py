"""What an event may be called and hold. The same rules apply to recording events, keeping them and waiting for them."""

from engage.sizes import KIB

MAX_EVENT_NAME_LENGTH = 255
MAX_EVENT_PROPERTIES_BYTES = 64 * KIB  # of JSON
MAX_MESSAGE_ID_LENGTH = 255
