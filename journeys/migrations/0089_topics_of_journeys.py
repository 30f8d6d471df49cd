"""A journey may say what its messages are about, and what becomes of those who leave that topic."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("journeys", "0088_vacuum_of_large_tables")]

    operations = [
        migrations.AddField(
            model_name="journey",
            name="topic",
            field=models.CharField(
                blank=True,
                help_text="What its messages are about, by its key.",
                max_length=50,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="journey",
            name="on_opt_out",
            field=models.CharField(
                choices=[
                    ("exit", "they leave the journey"),
                    ("skip", "its messages are skipped"),
                ],
                db_default="exit",
                default="exit",
                help_text="What becomes of those inside who leave its topic.",
                max_length=4,
            ),
        ),
    ]
