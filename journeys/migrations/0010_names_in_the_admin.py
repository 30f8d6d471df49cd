"""Names by which the admin's sidebar knows the records, and help texts; the database stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("journeys", "0009_large_triggers_keep_progress"),
    ]

    operations = [
        migrations.AlterModelOptions(name="chunk", options={"verbose_name": "waiting chunk"}),
        migrations.AlterModelOptions(name="enrollmentjob", options={"verbose_name": "job"}),
        migrations.AlterField(
            model_name="enrollment",
            name="due_at",
            field=models.DateTimeField(help_text="Unset while a webhook is being sent, and after the end.", null=True),
        ),
        migrations.AlterField(
            model_name="enrollment",
            name="step_began_at",
            field=models.DateTimeField(
                help_text="When it began the step; unset while the step is ahead, and after the end.", null=True
            ),
        ),
    ]
