"""Foreign keys over (workspace, id), so that PostgreSQL itself refuses a row that links two workspaces."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

OnDelete = Literal["CASCADE", "RESTRICT", "SET NULL"]


class WorkspaceForeignKey(models.BaseConstraint):
    """`FOREIGN KEY (workspace_id, <field>_id) REFERENCES <table> (workspace_id, id)`.

    Belongs beside a Django ForeignKey with `db_constraint=False`, which has no constraint of its own. The referenced
    table needs `unique_in_workspace()`.

    `within` lists further references that both tables have and that must agree: a job's journey is its trigger's. This
    one key ties them to their workspace, too; the referenced table then needs a unique constraint that includes them.
    """

    def __init__(self, *, name: str, field: str, table: str, on_delete: OnDelete, within: Sequence[str] = ()) -> None:
        super().__init__(name=name)
        self.field, self.table, self.on_delete, self.within = field, table, on_delete, tuple(within)

    def _definition(self, editor: BaseDatabaseSchemaEditor) -> str:
        quote = editor.quote_name
        column = quote(self.field + "_id")
        shared = ", ".join(["workspace_id", *(quote(f"{name}_id") for name in self.within)])
        # Only the reference becomes NULL; workspace_id stays.
        on_delete = f"SET NULL ({column})" if self.on_delete == "SET NULL" else self.on_delete
        return (
            f"CONSTRAINT {quote(self.name)} FOREIGN KEY ({shared}, {column}) "
            f"REFERENCES {quote(self.table)} ({shared}, id) ON DELETE {on_delete}"
        )

    def constraint_sql(self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        return self._definition(schema_editor)

    def create_sql(self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        table = schema_editor.quote_name(model._meta.db_table)
        return f"ALTER TABLE {table} ADD {self._definition(schema_editor)}"

    def remove_sql(self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor) -> str:  # type: ignore[override]
        table = schema_editor.quote_name(model._meta.db_table)
        return f"ALTER TABLE {table} DROP CONSTRAINT {schema_editor.quote_name(self.name)}"

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: PostgreSQL checks the constraint on write, and no form edits such a reference."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkspaceForeignKey) and self.deconstruct() == other.deconstruct()

    __hash__ = None  # type: ignore[assignment]

    def deconstruct(self) -> tuple[str, tuple[Any, ...], Mapping[str, Any]]:  # type: ignore[override]
        path, args, kwargs = super().deconstruct()
        kwargs |= {"field": self.field, "table": self.table, "on_delete": self.on_delete}
        return path, tuple(args), {**kwargs, "within": self.within} if self.within else kwargs


def unique_in_workspace(name: str) -> models.UniqueConstraint:
    """The constraint that a WorkspaceForeignKey refers to. Its index also serves lookups by workspace and id."""
    return models.UniqueConstraint(fields=["workspace", "id"], name=name)
