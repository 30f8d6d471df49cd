"""Triggers are numbered among the events, so it is known which events came later. The table stays as it is."""

from django.db import migrations, models
from django.db.models import Func, Value


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0007_serials"),
        ("journeys", "0020_encrypted"),
    ]

    operations = [
        migrations.AddField(
            model_name="trigger", name="serial", field=models.BigIntegerField(editable=False, null=True)
        ),
        migrations.AlterField(
            model_name="trigger",
            name="serial",
            field=models.BigIntegerField(
                db_default=Func(Value("customers_serial"), function="nextval", output_field=models.BigIntegerField()),
                editable=False,
                null=True,
            ),
        ),
    ]
