"""A job whose customer was merged is looked up by the id under which it was queued."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('journeys', '0029_merged_customers'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='enrollmentjob',
            index=models.Index(condition=models.Q(('queued_as__isnull', False)), fields=['queued_as'], name='job_queued_as'),
        ),
    ]
