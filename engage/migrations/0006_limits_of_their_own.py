"""Calls about customers and reports of events get limits of their own; without one, ten times that of triggers."""

from django.db import migrations, models

import engage.rates


def _limit(calls: str) -> models.CharField:
    return models.CharField(
        blank=True,
        help_text=f"{calls}. Empty: ten times as many as triggers.",
        max_length=20,
        null=True,
        validators=[engage.rates.validate_rate],
    )


class Migration(migrations.Migration):
    dependencies = [
        ("engage", "0005_what_is_wrong_with_a_rate"),
    ]

    operations = [
        migrations.AddField("apikey", "customers_rate_limit", _limit("Calls about customers")),
        migrations.AddField("apikey", "events_rate_limit", _limit("Reports of events")),
        migrations.AlterField(
            "apikey",
            "rate_limit",
            models.CharField(
                default="100/m",
                help_text="Triggers, such as 100/m.",
                max_length=20,
                validators=[engage.rates.validate_rate],
            ),
        ),
    ]
