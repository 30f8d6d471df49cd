"""What became due while its journey was held is found by the journey. No row is in these indexes while none is held."""

from django.db import migrations, models

from engage.database.repeatable import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("journeys", "0034_steering")]

    operations = [
        AddIndexConcurrently(
            model_name='enrollment',
            index=models.Index(condition=models.Q(('was_due_at__isnull', False)), fields=['journey', 'was_due_at'], name='enrollment_parked'),
        ),
        AddIndexConcurrently(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('state', 'held')), fields=['held_for', 'due_at'], name='delivery_held'),
        ),
    ]
