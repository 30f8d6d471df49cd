"""The variables of workspaces. The version before knows none, and renders what reads one as empty."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import engage.database.object_ids


class Migration(migrations.Migration):
    dependencies = [("journeys", "0044_what_fails_at_a_host")]

    operations = [
        migrations.CreateModel(
            name="Variable",
            fields=[
                (
                    "id",
                    engage.database.object_ids.ObjectIdField(
                        default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=100,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[A-Za-z_][A-Za-z0-9_]*\\Z", "Use letters, digits and _; begin with no digit."
                            )
                        ],
                    ),
                ),
                (
                    "value",
                    models.JSONField(
                        help_text='A text such as "Garden", or other JSON. No secret: everybody reads it.'
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="engage.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("workspace", "name"), name="variable_name")],
            },
        ),
    ]
