"""What is not sent after all is given back to the caps that counted it, however it ends: also by the version before.

And what waits to be sent to an address is found by that.
"""

from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform

from engage.database.repeatable import AddIndexConcurrently

GIVE_BACK = """
CREATE OR REPLACE FUNCTION journeys_give_back_to_caps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE customers_contactring ring SET times = ring.times[:held.place - 1] || ring.times[held.place + 1:]
    FROM (
        SELECT known.id, array_position(known.times, (NEW.contact->>'at')::timestamptz) AS place
        FROM customers_contactring known
        WHERE known.customer_id = (SELECT customer_id FROM journeys_enrollment WHERE id = NEW.enrollment_id)
          AND NEW.contact->'caps' ? known.cap
    ) AS held
    WHERE ring.id = held.id AND held.place IS NOT NULL;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER what_is_not_sent_is_given_back AFTER UPDATE OF state ON journeys_webhookdelivery
FOR EACH ROW WHEN (
    NEW.contact IS NOT NULL AND NEW.state IN ('failed', 'dropped') AND OLD.state IN ('waiting', 'held')
) EXECUTE FUNCTION journeys_give_back_to_caps();
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("journeys", "0091_contact_of_deliveries"), ("customers", "0025_contact")]

    operations = [
        migrations.RunSQL(
            GIVE_BACK,
            "DROP TRIGGER IF EXISTS what_is_not_sent_is_given_back ON journeys_webhookdelivery; "
            "DROP FUNCTION IF EXISTS journeys_give_back_to_caps()",
        ),
        AddIndexConcurrently(
            model_name="webhookdelivery",
            index=models.Index(
                models.F("workspace"),
                KeyTextTransform("address", "contact"),
                condition=models.Q(("contact__isnull", False), ("state__in", ["waiting", "held"])),
                name="delivery_waiting_by_address",
            ),
        ),
    ]
