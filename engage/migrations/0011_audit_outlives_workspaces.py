"""An entry of the audit outlives its workspace."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0010_audit'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace'),
        ),
    ]
