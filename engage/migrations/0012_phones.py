from django.db import migrations


class Migration(migrations.Migration):
    """The secrets of phones are encrypted, and longer then; `manage.py encrypt` does that with those there are."""

    dependencies = [("engage", "0011_audit_outlives_workspaces"), ("otp_totp", "0003_add_timestamps")]

    operations = [
        migrations.CreateModel(
            name="Phone",
            fields=[],
            options={"proxy": True, "default_permissions": (), "indexes": [], "constraints": []},
            bases=("otp_totp.totpdevice",),
        ),
        migrations.RunSQL("ALTER TABLE otp_totp_totpdevice ALTER COLUMN key TYPE varchar(300)", migrations.RunSQL.noop),
    ]
