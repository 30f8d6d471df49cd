"""What the bridge allows to prune: interactions, on which nothing else depends."""

from engage.database.pruning import Prunable

INTERACTIONS = Prunable(
    what="interactions", table="bridge_interaction", key=("id",), may_go="old.created_at < %(before)s"
)
