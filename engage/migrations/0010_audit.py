"""Entries of the audit, which the database keeps, and what the admin's log had until now."""

import django.contrib.postgres.fields
import django.db.models.deletion
import engage.database.object_ids
from datetime import timedelta

from django.conf import settings
from django.db import migrations, models

from engage.database.object_ids import new_object_id

_KEEP = """
CREATE OR REPLACE FUNCTION engage_audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.kept_until <= statement_timestamp() THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.position IS NULL AND to_jsonb(NEW) - 'position' = to_jsonb(OLD) - 'position' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'An entry of the audit is not changed, and not deleted before its time.'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER engage_audit_is_kept BEFORE UPDATE OR DELETE ON engage_auditentry
    FOR EACH ROW EXECUTE FUNCTION engage_audit_is_kept();
CREATE TRIGGER engage_audit_is_not_emptied BEFORE TRUNCATE ON engage_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION engage_audit_is_kept();
CREATE SEQUENCE engage_audit_position OWNED BY engage_auditentry.position;
"""
_NOTHING_KEPT = """
DROP TRIGGER engage_audit_is_kept ON engage_auditentry;
DROP TRIGGER engage_audit_is_not_emptied ON engage_auditentry;
DROP FUNCTION engage_audit_is_kept();
DROP SEQUENCE engage_audit_position;
"""
_PAGE = 1_000
_ACTIONS = {1: "created", 2: "changed", 3: "deleted"}
_SAID = {"Revoked.": "revoked", "Looked at.": "looked_at", "The enrollment was ended.": "ended"}


def move_the_admin_log(apps, schema_editor):
    """Entries without a workspace, which Django's log does not know."""
    from django.contrib.admin.models import LogEntry  # for the words of its messages

    audit = apps.get_model("engage", "AuditEntry")
    while page := list(LogEntry.objects.select_related("user", "content_type").order_by("pk")[:_PAGE]):
        audit.objects.bulk_create(_entry(audit, logged) for logged in page)
        LogEntry.objects.filter(pk__in=[logged.pk for logged in page]).delete()


def _entry(audit, logged):
    said = logged.get_change_message()
    return audit(
        id=f"{int(logged.action_time.timestamp()):08x}{new_object_id()[8:]}",
        at=logged.action_time,
        kept_until=logged.action_time + timedelta(days=days) if (days := settings.RETAIN_AUDIT_DAYS) else None,
        actor_kind="staff",
        actor_id=str(logged.user_id),
        actor_name=logged.user.get_username(),
        action=_SAID.get(said, _ACTIONS[logged.action_flag]),
        object_kind=logged.content_type.model if logged.content_type else "",
        object_id=logged.object_id or "",
        object_name=logged.object_repr,
        note=said,
    )


class Migration(migrations.Migration):

    dependencies = [
        ('admin', '0003_logentry_add_action_flag_choices'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('engage', '0009_memberships'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, null=True, size=None),
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
                ('workspace', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='engage.workspace')),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit entries',
                'indexes': [models.Index(fields=['workspace', 'position'], name='audit_by_position'), models.Index(condition=models.Q(('position__isnull', True)), fields=['at', 'id'], name='audit_without_position'), models.Index(fields=['-at', '-id'], name='audit_by_time'), models.Index(fields=['workspace', '-at', '-id'], name='audit_by_workspace'), models.Index(fields=['actor_id', '-at', '-id'], name='audit_by_actor'), models.Index(fields=['object_id', 'object_kind', 'at'], name='audit_by_object'), models.Index(fields=['request_id'], name='audit_by_request'), models.Index(condition=models.Q(('action__in', ['refused', 'login_failed'])), fields=['action', 'at'], name='audit_refused')],
            },
        ),
        migrations.RunSQL(_KEEP, _NOTHING_KEPT),
        migrations.RunPython(move_the_admin_log, migrations.RunPython.noop),
    ]
