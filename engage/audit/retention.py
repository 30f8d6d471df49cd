"""Which entries of the audit may be deleted: those that the database lets go."""

from engage.database.pruning import Prunable

AUDIT = Prunable(
    what="entries of the audit",
    table="engage_auditentry",
    key=("id",),
    may_go="old.at < %(before)s AND old.kept_until <= statement_timestamp()",
)
