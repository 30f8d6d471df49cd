"""The schema of version 1.0.0; functions and triggers of the database are in the .sql file beside."""

from pathlib import Path

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.encrypted_fields
import engage.database.object_ids
import engage.database.tenancy
import engage.notations.rates
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('engage', name) for name in (
        '0001_initial', '0002_idempotency_records', '0003_rates', '0004_no_newline_after_keys_and_rates',
        '0005_what_is_wrong_with_a_rate', '0006_limits_of_their_own', '0007_checks_of_the_bridge',
        '0008_rights_of_keys', '0009_memberships', '0010_audit', '0011_audit_outlives_workspaces', '0012_phones',
    )]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('otp_totp', '0003_add_timestamps'),
    ]

    operations = [
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('key', models.CharField(help_text='A short name for files.', max_length=100, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9_-]*\\Z', 'Use lower-case letters, digits, - and _.')])),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ['key'],
            },
        ),
        migrations.CreateModel(
            name='App',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('enabled', models.BooleanField(default=True)),
                ('allowed_origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), blank=True, default=list, help_text='Origins such as https://shop.example that may call; empty allows every origin.', size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='apps', to='engage.workspace')),
                ('anonymous', models.CharField(choices=[('allow', 'allow: a person with a userId alone needs no token'), ('deny', 'deny: everybody needs a token')], db_default='allow', default='allow', help_text='Whether a person who has only a userId needs a token, too.', max_length=10)),
                ('identity', models.CharField(choices=[('off', 'off: people are who the page says'), ('report', 'report: count who is not proven'), ('enforce', 'enforce: refuse who is not proven')], db_default='off', default='off', help_text='Whether calls must prove with a token who the person is.', max_length=10)),
                ('message_policy', models.CharField(choices=[('open', 'open: pages may write what they like'), ('report', 'report: count what messages do not list'), ('enforce', 'enforce: refuse what messages do not list')], db_default='open', default='open', help_text='Whether in-app messages may do only what their definition lists.', max_length=10)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='app_name')],
            },
        ),
        migrations.AddConstraint(
            model_name='app',
            constraint=models.UniqueConstraint(fields=('workspace', 'id'), name='app_in_workspace'),
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('prefix', models.CharField(editable=False, help_text="The key's first characters, to recognise it by.", max_length=20)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('rate_limit', models.CharField(default='100/m', help_text='Triggers, such as 100/m.', max_length=20, validators=[engage.notations.rates.validate_rate])),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, help_text='Within a minute.', null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='engage.workspace')),
                ('customers_rate_limit', models.CharField(blank=True, help_text='Calls about customers. Empty: ten times as many as triggers.', max_length=20, null=True, validators=[engage.notations.rates.validate_rate])),
                ('events_rate_limit', models.CharField(blank=True, help_text='Reports of events. Empty: ten times as many as triggers.', max_length=20, null=True, validators=[engage.notations.rates.validate_rate])),
                ('journeys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=24), blank=True, null=True, size=None)),
                ('last_used_from', models.GenericIPAddressField(editable=False, help_text='At that time.', null=True)),
                ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=43), blank=True, null=True, size=None)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, null=True, size=None)),
            ],
            options={
                'verbose_name': 'API key',
                'constraints': [
                    models.UniqueConstraint(fields=('workspace', 'name'), name='api_key_name'),
                    models.UniqueConstraint(fields=('workspace', 'id'), name='api_key_in_workspace'),
                ],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('call_digest', models.BinaryField(help_text='SHA-256 of the path and the key.', max_length=32)),
                ('body_digest', models.BinaryField(help_text="SHA-256 of the body's value.", max_length=32)),
                ('status', models.PositiveSmallIntegerField()),
                ('headers', models.JSONField(default=dict)),
                ('body', models.TextField(help_text='JSON as it was answered; null where it is streamed again.', null=True)),
                ('facts', models.JSONField(help_text='What it takes to stream the answer again.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('api_key', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.apikey')),
                ('app', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.app')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(condition=models.Q(('api_key__isnull', False)), fields=('api_key', 'call_digest'), name='idempotency_by_api_key'),
                    models.UniqueConstraint(condition=models.Q(('app__isnull', False)), fields=('app', 'call_digest'), name='idempotency_by_app'),
                    models.CheckConstraint(condition=models.Q(('api_key__isnull', True), ('app__isnull', True), _connector='XOR'), name='idempotency_one_caller'),
                    models.CheckConstraint(condition=models.Q(('body__isnull', True), ('facts__isnull', True), _connector='XOR'), name='idempotency_one_answer'),
                    engage.database.tenancy.WorkspaceForeignKey(field='api_key', name='idempotency_api_key', on_delete='CASCADE', table='engage_apikey'),
                    engage.database.tenancy.WorkspaceForeignKey(field='app', name='idempotency_app', on_delete='CASCADE', table='engage_app'),
                ],
            },
        ),
        migrations.AddIndex(
            model_name='idempotencyrecord',
            index=models.Index(fields=['created_at'], name='idempotency_by_age'),
        ),
        migrations.CreateModel(
            name='IdentityKey',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('kid', models.CharField(help_text="The kid in the tokens' headers.", max_length=100, verbose_name='key id')),
                ('alg', models.CharField(choices=[('HS256', 'HS256: a secret that your server shares'), ('RS256', 'RS256: the public key of an RSA key'), ('ES256', 'ES256: the public key of a P-256 key'), ('EdDSA', 'EdDSA: the public key of an Ed25519 key')], max_length=10, verbose_name='algorithm')),
                ('secret', engage.database.encrypted_fields.EncryptedTextField(help_text='The secret (at least 32 bytes), or the public key in PEM.')),
                ('expires_at', models.DateTimeField(blank=True, help_text='In UTC; empty: it does not expire.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('app', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.app')),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'constraints': [
                    models.UniqueConstraint(fields=('app', 'kid'), name='identity_key_once'),
                    engage.database.tenancy.WorkspaceForeignKey(field='app', name='identity_key_app', on_delete='CASCADE', table='engage_app'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'Viewer'), ('support', 'Support'), ('author', 'Author'), ('admin', 'Admin')], max_length=10)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='engage.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'workspace'), name='one_role_in_a_workspace')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', engage.database.object_ids.ObjectIdField(default=engage.database.object_ids.new_object_id, primary_key=True, serialize=False)),
                ('position', models.BigIntegerField(editable=False, null=True)),
                ('at', models.DateTimeField()),
                ('kept_until', models.DateTimeField(help_text='Empty: for ever.', null=True)),
                ('actor_kind', models.CharField(choices=[('staff', 'Staff'), ('key', 'API key'), ('command', 'Command'), ('service', 'the service itself'), ('stranger', 'Stranger')], max_length=10, verbose_name='who')),
                ('actor_id', models.CharField(blank=True, max_length=150)),
                ('actor_name', models.CharField(blank=True, max_length=150)),
                ('action', models.CharField(choices=[('created', 'Created'), ('changed', 'Changed'), ('deleted', 'Deleted'), ('revoked', 'Revoked'), ('steered', 'Steered'), ('erased', 'Erased'), ('exported', 'Exported'), ('ended', 'Ended'), ('sent_again', 'sent again'), ('looked_at', 'looked at'), ('logged_in', 'logged in'), ('login_failed', 'login failed'), ('refused', 'Refused')], max_length=20)),
                ('object_kind', models.CharField(max_length=50, verbose_name='kind')),
                ('object_id', models.CharField(blank=True, max_length=255)),
                ('object_name', models.CharField(blank=True, max_length=300)),
                ('changes', models.JSONField(help_text='By field: the value before, and the one after.', null=True)),
                ('note', models.TextField(blank=True)),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('address', models.GenericIPAddressField(null=True)),
                ('workspace', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='engage.workspace')),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit entries',
                'indexes': [
                    models.Index(fields=['workspace', 'position'], name='audit_by_position'),
                    models.Index(condition=models.Q(('position__isnull', True)), fields=['at', 'id'], name='audit_without_position'),
                    models.Index(fields=['-at', '-id'], name='audit_by_time'),
                    models.Index(fields=['workspace', '-at', '-id'], name='audit_by_workspace'),
                    models.Index(fields=['actor_id', '-at', '-id'], name='audit_by_actor'),
                    models.Index(fields=['object_id', 'object_kind', 'at'], name='audit_by_object'),
                    models.Index(fields=['request_id'], name='audit_by_request'),
                    models.Index(condition=models.Q(('action__in', ['refused', 'login_failed'])), fields=['action', 'at'], name='audit_refused'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Phone',
            fields=[
            ],
            options={
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('otp_totp.totpdevice',),
        ),
        migrations.RunSQL(Path(__file__).with_suffix('.sql').read_text()),
    ]
