"""Alerts: what people are told of, once per cause and once when it is over."""

import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0019_what_the_feed_keeps'),
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('rule', models.CharField(help_text='Which alert it is.', max_length=60)),
                ('about', models.CharField(blank=True, help_text="What it is about: a journey's id, or a host.", max_length=300)),
                ('says', models.TextField()),
                ('began_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When its cause was found last.')),
                ('ended_at', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('told_at', models.DateTimeField(null=True)),
                ('over_told_at', models.DateTimeField(null=True, verbose_name='told that it is over at')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['rule'], name='alert_standing'), models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='alert_due')],
            },
        ),
    ]
