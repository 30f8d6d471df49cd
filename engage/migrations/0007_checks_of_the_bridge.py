"""What an app checks of its calls, and the keys of its identity tokens."""

import django.db.models.deletion
import django.db.models.functions.datetime
import engage.database.encrypted_fields
import engage.database.object_ids
import engage.database.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engage', '0006_limits_of_their_own'),
    ]

    operations = [
        migrations.AddField(
            model_name='app',
            name='anonymous',
            field=models.CharField(choices=[('allow', 'allow: a person with a userId alone needs no token'), ('deny', 'deny: everybody needs a token')], db_default='allow', default='allow', help_text='Whether a person who has only a userId needs a token, too.', max_length=10),
        ),
        migrations.AddField(
            model_name='app',
            name='identity',
            field=models.CharField(choices=[('off', 'off: people are who the page says'), ('report', 'report: count who is not proven'), ('enforce', 'enforce: refuse who is not proven')], db_default='off', default='off', help_text='Whether calls must prove with a token who the person is.', max_length=10),
        ),
        migrations.AddField(
            model_name='app',
            name='message_policy',
            field=models.CharField(choices=[('open', 'open: pages may write what they like'), ('report', 'report: count what messages do not list'), ('enforce', 'enforce: refuse what messages do not list')], db_default='open', default='open', help_text='Whether in-app messages may do only what their definition lists.', max_length=10),
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
                'constraints': [models.UniqueConstraint(fields=('app', 'kid'), name='identity_key_once'), engage.database.tenancy.WorkspaceForeignKey(field='app', name='identity_key_app', on_delete='CASCADE', table='engage_app')],
            },
        ),
    ]
