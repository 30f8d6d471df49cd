"""Keys and rates take no newline at the end any more. The columns stay as they are."""

from django.core.validators import RegexValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("engage", "0003_rates"),
    ]

    operations = [
        # "100/m\n" was taken from a seed file, and failed at every call.
        migrations.RunSQL(
            r"UPDATE engage_apikey SET rate_limit = rtrim(rate_limit, E'\n') WHERE rate_limit LIKE E'%\n'",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name="apikey",
            name="rate_limit",
            field=models.CharField(
                default="100/m",
                max_length=20,
                validators=[
                    RegexValidator(
                        "^[1-9]\\d{0,8}/([1-9]\\d{0,3})?[smhd]\\Z", "Write a rate as 100/m, 5/s or 1000/h."
                    )
                ],
            ),
        ),
        migrations.AlterField(
            model_name="workspace",
            name="key",
            field=models.CharField(
                help_text="A short name for files.",
                max_length=100,
                unique=True,
                validators=[RegexValidator("^[a-z0-9][a-z0-9_-]*\\Z", "Use lower-case letters, digits, - and _.")],
            ),
        ),
    ]
