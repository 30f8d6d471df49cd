"""The schema of version 1.0.0; functions and triggers of the database are in the .sql file beside."""

from pathlib import Path

import django.contrib.postgres.fields
import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.object_ids
import engage.database.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('customers', name) for name in (
        '0001_initial', '0002_chain_of_events', '0003_names_in_the_admin', '0004_no_newline_after_keys',
        '0005_claims', '0006_tombstones', '0007_serials', '0008_events_since', '0009_events_of_messages',
        '0010_one_spelling', '0011_aliases', '0012_names', '0013_search_by_name', '0014_source_is_api',
    )]

    initial = True

    dependencies = [
        ('engage', '0001_version_1_0_0'),
    ]

    operations = [
        migrations.RunSQL('CREATE SEQUENCE customers_serial'),
        migrations.CreateModel(
            name='Customer',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('external_id', models.CharField(blank=True, max_length=255, null=True)),
                ('email', models.CharField(blank=True, max_length=254, null=True)),
                ('phone', models.CharField(blank=True, max_length=64, null=True)),
                ('user_id', models.CharField(blank=True, max_length=255, null=True)),
                ('attributes', models.JSONField(blank=True, default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
                ('claimed_attributes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list, editable=False, help_text='The names of the attributes that in-app messages wrote last.', size=None)),
                ('claimed_identifiers', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), db_default=[], default=list, editable=False, help_text='The identifiers that only in-app messages have named so far.', size=None)),
                ('name', models.CharField(editable=False, help_text='As servers wrote it into the attributes.', max_length=200, null=True)),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('external_id__isnull', False)), fields=('workspace', 'external_id'), name='customer_external_id'),
                    models.UniqueConstraint(condition=models.Q(('email__isnull', False)), fields=('workspace', 'email'), name='customer_email'),
                    models.UniqueConstraint(condition=models.Q(('phone__isnull', False)), fields=('workspace', 'phone'), name='customer_phone'),
                    models.UniqueConstraint(condition=models.Q(('user_id__isnull', False)), fields=('workspace', 'user_id'), name='customer_user_id'),
                ],
            },
        ),
        migrations.AddConstraint(
            model_name='customer',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='customer_in_workspace'),
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('properties', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('source', models.CharField(choices=[('bridge_action', 'Bridge Action'), ('bridge_capture', 'Bridge Capture'), ('api', 'API'), ('journey', 'Journey')], max_length=20)),
                ('occurred_at', models.DateTimeField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.customer')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
                ('chain', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='How many events in a row led to it by way of journeys; 0: none did.')),
                ('serial', models.BigIntegerField(db_default=models.Func(models.Value('customers_serial'), function='nextval', output_field=models.BigIntegerField()), editable=False, null=True)),
                ('message_id', models.CharField(editable=False, help_text='The in-app message that it came from.', max_length=255, null=True)),
                ('verified', models.BooleanField(editable=False, help_text='Whether the customer was proven; unknown where nobody asks for a proof.', null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('serial__isnull', False)), fields=['customer', 'serial'], name='event_by_serial')],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'id'), name='event_in_workspace'),
                    engage.database.tenancy.WorkspaceForeignKey(field='customer', name='event_customer', on_delete='CASCADE', table='customers_customer'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['workspace', 'customer', '-occurred_at'], name='event_by_customer'),
        ),
        migrations.CreateModel(
            name='Segment',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*\\Z', 'Use lower-case letters, digits, - and _.')])),
                ('name', models.CharField(max_length=200)),
                ('conditions', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'id'), name='segment_in_workspace'),
                    models.UniqueConstraint(fields=('workspace', 'key'), name='segment_key'),
                ],
            },
        ),
        migrations.CreateModel(
            name='SegmentMembership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('added_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.customer')),
                ('segment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='customers.segment')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'verbose_name': 'segment member',
                'constraints': [
                    engage.database.tenancy.WorkspaceForeignKey(field='segment', name='membership_segment', on_delete='CASCADE', table='customers_segment'),
                    engage.database.tenancy.WorkspaceForeignKey(field='customer', name='membership_customer', on_delete='CASCADE', table='customers_customer'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='segmentmembership',
            index=models.Index(fields=['workspace', 'customer'], name='membership_by_customer'),
        ),
        migrations.AddConstraint(
            model_name='segmentmembership',
            constraint=models.UniqueConstraint(fields=('segment', 'customer'), name='membership_once'),
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('digest', models.CharField(max_length=64)),
                ('erased_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'digest'), name='tombstone_once')],
            },
        ),
        migrations.CreateModel(
            name='Alias',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('user_id', models.CharField(max_length=255)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('customer', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='aliases', to='customers.customer')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'verbose_name_plural': 'aliases',
                'indexes': [models.Index(fields=['workspace', 'customer'], name='alias_by_customer')],
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'user_id'), name='alias_once'),
                    engage.database.tenancy.WorkspaceForeignKey(field='customer', name='alias_customer', on_delete='CASCADE', table='customers_customer'),
                ],
            },
        ),
        migrations.RunSQL(Path(__file__).with_suffix('.sql').read_text()),
    ]
