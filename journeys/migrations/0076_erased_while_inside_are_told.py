"""Who is erased while inside has left, which the feed tells.

Before their row goes: so it is told before `customer.erased`, and their enrollments are still there. Who is merged has
none any more by then.
"""

from django.db import migrations

TELL = """
    CREATE FUNCTION journeys_tell_erased() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, enrollment_ids, reasons)
        SELECT OLD.workspace_id, 'enrollment.exited', journey_id, count(*), array_agg(customer_id), array_agg(id),
               array_agg('The customer was erased.'::text)
        FROM journeys_enrollment
        WHERE customer_id = OLD.id AND state || '' = 'active' AND EXISTS (
            SELECT FROM engage_workspace own WHERE own.id = OLD.workspace_id AND (own.feed OR own.subscribed)
        )
        GROUP BY journey_id;
        RETURN OLD;
    END
    $$;

    CREATE TRIGGER journeys_tell_erased
    BEFORE DELETE ON customers_customer
    FOR EACH ROW EXECUTE FUNCTION journeys_tell_erased();
"""
TELL_NOTHING = """
    DROP TRIGGER journeys_tell_erased ON customers_customer;
    DROP FUNCTION journeys_tell_erased();
"""


class Migration(migrations.Migration):
    dependencies = [("journeys", "0075_what_drafts_begin_from")]

    operations = [migrations.RunSQL(TELL, TELL_NOTHING)]
