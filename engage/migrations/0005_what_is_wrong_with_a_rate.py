"""A rate's validator says what is wrong with it. The column stays as it is."""

from django.db import migrations, models

import engage.rates


class Migration(migrations.Migration):
    dependencies = [
        ("engage", "0004_no_newline_after_keys_and_rates"),
    ]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="rate_limit",
            field=models.CharField(default="100/m", max_length=20, validators=[engage.rates.validate_rate]),
        ),
    ]
