"""Migration operations for a migration with `atomic = False`, so that it can be run again after it was killed.

They keep what an earlier run has created. To drop and create it again would remove an index that the earlier run may
already have turned into a constraint, and a constraint cannot be dropped once a foreign key needs it.
"""

from typing import Any, cast

from django.contrib.postgres import operations
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState
from django.db.models import BaseConstraint, Field, Model, UniqueConstraint


class AddIndexConcurrently(operations.AddIndexConcurrently):
    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if not index_exists(schema_editor, self.index.name):
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class RemoveIndexConcurrently(operations.RemoveIndexConcurrently):
    """Django removes an index where there is one; the way back needs care."""

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if not index_exists(schema_editor, self.name):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class AddConstraint(migrations.AddConstraint):
    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model) and not _constraint_exists(
            schema_editor, model, self.constraint
        ):
            self.make(schema_editor, model)

    def make(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        schema_editor.add_constraint(model, self.constraint)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _remove(schema_editor, model, self.constraint)


class AddConstraintNotValid(AddConstraint):
    """For foreign keys as well as checks; Django's ValidateConstraint comes after it, and may be repeated as it is."""

    def make(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        schema_editor.execute(f"{self.constraint.create_sql(model, schema_editor)} NOT VALID", params=None)


class AddUniqueConcurrently(AddConstraint):
    """For a UniqueConstraint that is a list of fields and nothing else."""

    constraint: UniqueConstraint

    def make(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        quote = schema_editor.quote_name
        table, name = quote(model._meta.db_table), quote(self.constraint.name)
        if not index_exists(schema_editor, self.constraint.name):
            fields = [cast("Field[Any, Any]", model._meta.get_field(name)) for name in self.constraint.fields]
            columns = ", ".join(quote(str(field.column)) for field in fields)
            schema_editor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {table} ({columns})")
        schema_editor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}")


class AddUniqueIndexConcurrently(AddConstraint):
    """For a UniqueConstraint with a condition or an expression, which is an index and nothing else."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        if not index_exists(schema_editor, self.constraint.name):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def make(self, schema_editor: BaseDatabaseSchemaEditor, model: type[Model]) -> None:
        sql = str(self.constraint.create_sql(model, schema_editor))
        schema_editor.execute(sql.replace("UNIQUE INDEX", "UNIQUE INDEX CONCURRENTLY", 1), params=None)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.constraint.name)}")


class RemoveUniqueIndexConcurrently(migrations.RemoveConstraint):
    """The same the other way round."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.name)}")

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        constraint = to_state.models[app_label, self.model_name_lower].get_constraint_by_name(self.name)
        again = AddUniqueIndexConcurrently(self.model_name, constraint)
        again.database_forwards(app_label, schema_editor, from_state, to_state)


class RemoveConstraint(migrations.RemoveConstraint):
    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            before = from_state.models[app_label, self.model_name_lower]
            _remove(schema_editor, model, before.get_constraint_by_name(self.name))

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        constraint = to_state.models[app_label, self.model_name_lower].get_constraint_by_name(self.name)
        if not _constraint_exists(schema_editor, model, constraint):
            super().database_backwards(app_label, schema_editor, from_state, to_state)


def index_exists(schema_editor: BaseDatabaseSchemaEditor, name: str) -> bool:
    """Whether it is whole. What an interrupted CONCURRENTLY leaves serves no query, and is cleared away."""
    valid = _asked(
        schema_editor, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(quote_ident(%s))", name
    )
    if valid is False:
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(name)}")
    return bool(valid)


def _constraint_exists(schema_editor: BaseDatabaseSchemaEditor, model: type[Model], constraint: BaseConstraint) -> bool:
    known = "SELECT TRUE FROM pg_constraint WHERE conrelid = to_regclass(quote_ident(%s)) AND conname = %s"
    return bool(_asked(schema_editor, known, model._meta.db_table, constraint.name))


def _asked(schema_editor: BaseDatabaseSchemaEditor, query: str, *parameters: str) -> Any:
    if schema_editor.collect_sql:
        return None  # sqlmigrate writes down what is done where nothing was done before
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(query, parameters)
        row = cursor.fetchone()
    return row and row[0]


def _remove(schema_editor: BaseDatabaseSchemaEditor, model: type[Model], constraint: BaseConstraint) -> None:
    removal = str(constraint.remove_sql(model, schema_editor))
    schema_editor.execute(removal.replace("DROP CONSTRAINT", "DROP CONSTRAINT IF EXISTS", 1), params=None)
