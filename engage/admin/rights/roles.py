"""What each role may do in the workspaces whose members have it, as the tables say (docs/access.md tells it)."""

from functools import cache

from engage.database.table import right_to, tables


@cache
def rights_of_role(role: str, *, support_may_hold: bool = False) -> frozenset[str]:
    """The permissions of the role, as "app.action_model"; `support_may_hold` as the workspace says."""
    return frozenset(
        right_to(action, model)
        for model, table in tables()
        if table.rights
        for action in table.rights.of(role, support_may_hold=support_may_hold)
    )
