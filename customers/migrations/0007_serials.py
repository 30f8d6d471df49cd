"""Events are numbered as they are recorded. Those that are there already have no number, and the table stays as it is.

The default is set on the column after it was added: with it, PostgreSQL would write the table anew.
"""

from django.db import migrations, models
from django.db.models import Func, Value


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0006_tombstones"),
    ]

    operations = [
        migrations.RunSQL("CREATE SEQUENCE customers_serial", "DROP SEQUENCE customers_serial"),
        migrations.AddField(
            model_name="event", name="serial", field=models.BigIntegerField(editable=False, null=True)
        ),
        migrations.AlterField(
            model_name="event",
            name="serial",
            field=models.BigIntegerField(
                db_default=Func(Value("customers_serial"), function="nextval", output_field=models.BigIntegerField()),
                editable=False,
                null=True,
            ),
        ),
    ]
