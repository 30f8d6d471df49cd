"""Event journeys may leave out what in-app messages report."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0006_limits_of_their_own'),
        ('journeys', '0023_turns_of_walkers'),
    ]

    operations = [
        migrations.AddField(
            model_name='journey',
            name='event_from_bridge',
            field=models.BooleanField(db_default=True, default=True, help_text='Do events that in-app messages report count? Anybody can send those.', verbose_name='from in-app messages, too'),
        ),
        migrations.AddConstraint(
            model_name='journey',
            constraint=models.CheckConstraint(condition=models.Q(('event_from_bridge', True), ('trigger_type', 'event'), _connector='OR'), name='journey_event_from_bridge'),
        ),
    ]
