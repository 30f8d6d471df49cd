import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_NOTE_MEMBERS = """
CREATE FUNCTION engage_note_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO engage_memberaccount (user_id) VALUES (NEW.user_id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER engage_note_member AFTER INSERT ON engage_membership
    FOR EACH ROW EXECUTE FUNCTION engage_note_member();
INSERT INTO engage_memberaccount (user_id) SELECT DISTINCT user_id FROM engage_membership ON CONFLICT DO NOTHING;
"""


class Migration(migrations.Migration):
    """Who was ever a member of a workspace sees no others once the last membership is gone."""

    dependencies = [("engage", "0013_audit_of_merges"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="MemberAccount",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"default_permissions": ()},
        ),
        migrations.RunSQL(_NOTE_MEMBERS, "DROP FUNCTION engage_note_member() CASCADE"),
    ]
