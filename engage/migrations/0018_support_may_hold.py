"""Whether the role support may hold journeys is a setting of the workspace."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0017_workspaces_with_a_feed'),
    ]

    operations = [
        migrations.AddField(
            model_name='workspace',
            name='support_may_hold',
            field=models.BooleanField(db_default=False, default=False, help_text='The role support may hold journeys, and have them go on.'),
        ),
    ]
