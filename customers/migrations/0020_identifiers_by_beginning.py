"""Identifiers are unique by an index in the order of their bytes, which also finds those that begin alike."""

from django.db import migrations, models

from engage.database.repeatable import AddUniqueIndexConcurrently, RemoveUniqueIndexConcurrently

_IDENTIFIERS = ("external_id", "email", "phone", "user_id")


def _once(field: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(
        fields=("workspace", field),
        condition=models.Q((f"{field}__isnull", False)),
        opclasses=["text_ops", "varchar_pattern_ops"],
        name=f"customer_{field}_once",
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("customers", "0019_imports")]

    operations = [
        operation
        for field in _IDENTIFIERS
        for operation in (
            AddUniqueIndexConcurrently(model_name="customer", constraint=_once(field)),
            RemoveUniqueIndexConcurrently(model_name="customer", name=f"customer_{field}"),
        )
    ]
