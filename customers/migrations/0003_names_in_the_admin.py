"""Memberships have the name by which the admin's sidebar knows them; the database stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("customers", "0002_chain_of_events"),
    ]

    operations = [
        migrations.AlterModelOptions(name="segmentmembership", options={"verbose_name": "segment member"}),
    ]
