"""What of the bridge may be deleted once it is old enough: nothing depends on an interaction."""

from engage.pruning import Prunable

INTERACTIONS = Prunable(
    what="interactions", table="bridge_interaction", key=("id",), may_go="old.created_at < %(before)s"
)
