"""Interactions have the name by which the admin's sidebar knows them; the database stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("bridge", "0002_event_of_an_interaction"),
    ]

    operations = [
        migrations.AlterModelOptions(name="interaction", options={"verbose_name": "in-app interaction"}),
    ]
