"""Erasing a customer also blanks the payloads that were sent for that customer alone.

A trigger's payload is as personal as whom it was sent for, but a trigger belongs to a journey, so no cascade reaches
it. The app that erases knows of no journeys; a trigger of the database stands where both tables are known, acts in the
same transaction as the cascades, and holds for every way to delete a customer (the interface, the admin, SQL). Jobs
stay: they hold ids only.
"""

from django.db import migrations

FORGET = """
    CREATE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE journeys_trigger AS sent
        SET payload = '{}'
        FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
        WHERE sent.id = job.trigger_id AND sent.customers = 1 AND sent.payload <> '{}';
        RETURN NULL;
    END
    $$;

    CREATE TRIGGER journeys_forget_erased_customers
    AFTER DELETE ON customers_customer
    REFERENCING OLD TABLE AS erased
    FOR EACH STATEMENT EXECUTE FUNCTION journeys_forget_erased_customers();
"""

REMEMBER = """
    DROP TRIGGER journeys_forget_erased_customers ON customers_customer;
    DROP FUNCTION journeys_forget_erased_customers();
"""


class Migration(migrations.Migration):

    dependencies = [
        ("customers", "0001_initial"),
        ("journeys", "0001_initial"),
    ]

    operations = [migrations.RunSQL(FORGET, REMEMBER)]
