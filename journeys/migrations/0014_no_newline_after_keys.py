"""Keys take no newline at the end any more. The database stays as it is."""

from django.core.validators import RegexValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("journeys", "0013_forget_payloads_of_the_erased"),
    ]

    operations = [
        migrations.AlterField(
            model_name="journey",
            name="key",
            field=models.CharField(
                max_length=100,
                validators=[RegexValidator("^[a-z0-9][a-z0-9_-]*\\Z", "Use lower-case letters, digits, - and _.")],
            ),
        ),
    ]
