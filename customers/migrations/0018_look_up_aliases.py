"""Who has an alias is looked up by its value, as who has the identifier is."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("customers", "0017_aliases_of_any_kind")]

    operations = [
        AddIndexConcurrently(
            model_name="alias",
            index=models.Index(
                condition=models.Q((f"{field}__isnull", False)), fields=["workspace", field], name=f"alias_by_{field}"
            ),
        )
        for field in ("external_id", "email", "phone")
    ]
