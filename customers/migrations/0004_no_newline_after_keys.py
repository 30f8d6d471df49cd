"""Keys take no newline at the end any more. The database stays as it is."""

from django.core.validators import RegexValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0003_names_in_the_admin"),
    ]

    operations = [
        migrations.AlterField(
            model_name="segment",
            name="key",
            field=models.CharField(
                max_length=100,
                validators=[RegexValidator("^[a-z0-9][a-z0-9_-]*\\Z", "Use lower-case letters, digits, - and _.")],
            ),
        ),
    ]
