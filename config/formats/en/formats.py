"""To the second, sortable by eye, and with the zone."""

DATETIME_FORMAT = "Y-m-d H:i:s T"
DATE_FORMAT = "Y-m-d"
