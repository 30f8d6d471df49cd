"""What is done about journeys and hosts while they run: they are held, resumed, aborted; and by whom and why."""

import django.core.validators
import django.db.models.deletion
import engage.database.object_ids
import engage.database.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('customers', '0011_aliases'),
        ('engage', '0007_checks_of_the_bridge'),
        ('journeys', '0033_archived'),
    ]

    operations = [
        migrations.CreateModel(
            name='GuardedResults',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('journey', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey')),
                ('latest', models.TextField(default='')),
            ],
        ),
        migrations.CreateModel(
            name='SteeredHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(help_text='With the port: mail.example:443.', max_length=260)),
                ('held_at', models.DateTimeField(editable=False, null=True)),
                ('held_by', models.CharField(blank=True, editable=False, max_length=200)),
                ('held_because', models.TextField(blank=True, editable=False)),
                ('per_second', models.FloatField(blank=True, help_text='How many requests begin in a second; empty: as many as there is room for.', null=True, validators=[django.core.validators.MinValueValidator(0.01), django.core.validators.MaxValueValidator(1000)])),
                ('next_at', models.DateTimeField(editable=False, help_text='When the next one may begin.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='SteeringAct',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('host', models.CharField(blank=True, max_length=260)),
                ('kind', models.CharField(choices=[('hold', 'Hold'), ('resume', 'Resume'), ('close', 'Close'), ('activate', 'Activate'), ('abort', 'Abort'), ('cancel', 'Cancel'), ('hold_host', 'Hold Host'), ('release_host', 'Release Host'), ('rate_host', 'Rate Host')], max_length=12)),
                ('actor', models.CharField(help_text="Who did it, in words: a key, staff, or the journey's guard.", max_length=200)),
                ('reason', models.TextField(blank=True)),
                ('numbers', models.JSONField(default=dict, help_text='What it did.')),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='enrollment',
            name='was_due_at',
            field=models.DateTimeField(help_text='While its journey is held: when it became due. It is due again once it is released.', null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='aborted_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='guards',
            field=models.JSONField(blank=True, help_text='When so many of its webhooks fail, it is held.', null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='held_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='held_because',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
        migrations.AddField(
            model_name='journey',
            name='held_by',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name='journey',
            name='next_release_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='per_minute',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='journey',
            name='resumed_at',
            field=models.DateTimeField(editable=False, help_text='Set until all of them are released.', null=True),
        ),
        migrations.AddField(
            model_name='webhookdelivery',
            name='held_for',
            field=models.CharField(help_text='Its journey, while it is held.', max_length=24, null=True),
        ),
        migrations.AlterField(
            model_name='webhookdelivery',
            name='state',
            field=models.CharField(choices=[('waiting', 'Waiting'), ('held', 'Held'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('dropped', 'Dropped')], default='waiting', max_length=10),
        ),
        migrations.AddIndex(
            model_name='journey',
            index=models.Index(condition=models.Q(('held_at__isnull', False), ('resumed_at__isnull', False), _connector='OR'), fields=['id'], name='journey_steered'),
        ),
        migrations.AddIndex(
            model_name='journey',
            index=models.Index(condition=models.Q(('guards__isnull', False)), fields=['id'], name='journey_guarded'),
        ),
        migrations.AddConstraint(
            model_name='journey',
            constraint=models.CheckConstraint(condition=models.Q(('aborted_at__isnull', True), ('active', False), _connector='OR'), name='journey_aborted_inactive'),
        ),
        migrations.AddField(
            model_name='guardedresults',
            name='workspace',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace'),
        ),
        migrations.AddField(
            model_name='steeredhost',
            name='workspace',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace'),
        ),
        migrations.AddField(
            model_name='steeringact',
            name='journey',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.journey'),
        ),
        migrations.AddField(
            model_name='steeringact',
            name='trigger',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='journeys.trigger'),
        ),
        migrations.AddField(
            model_name='steeringact',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='engage.workspace'),
        ),
        migrations.AddConstraint(
            model_name='guardedresults',
            constraint=engage.database.tenancy.WorkspaceForeignKey(field='journey', name='guarded_journey', on_delete='CASCADE', table='journeys_journey'),
        ),
        migrations.AddConstraint(
            model_name='steeredhost',
            constraint=models.UniqueConstraint(fields=('workspace', 'host'), name='steered_host'),
        ),
        migrations.AddIndex(
            model_name='steeringact',
            index=models.Index(fields=['journey', '-id'], name='act_by_journey'),
        ),
        migrations.AddIndex(
            model_name='steeringact',
            index=models.Index(condition=models.Q(('trigger__isnull', False)), fields=['trigger'], name='act_by_trigger'),
        ),
        migrations.AddConstraint(
            model_name='steeringact',
            constraint=engage.database.tenancy.WorkspaceForeignKey(field='journey', name='act_journey', on_delete='CASCADE', table='journeys_journey'),
        ),
        migrations.AddConstraint(
            model_name='steeringact',
            constraint=engage.database.tenancy.WorkspaceForeignKey(field='trigger', name='act_trigger', on_delete='SET NULL', table='journeys_trigger'),
        ),
    ]
