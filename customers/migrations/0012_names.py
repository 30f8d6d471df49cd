"""A customer's name is kept beside the attributes that say it: staff look people up by it.

A trigger of the database writes it, whoever writes the attributes. It runs only where one of these attributes is new
or other than before, so that all other writes cost what they did, and stay within their page.
"""

from django.db import migrations, models

SAID_BY = ("name", "fullName", "full_name", "firstName", "first_name", "lastName", "last_name")
LISTED = ", ".join(f"'{name}'" for name in SAID_BY)
DIFFER = " OR ".join(f"old.attributes->'{name}' IS DISTINCT FROM new.attributes->'{name}'" for name in SAID_BY)

# What in-app messages wrote does not count: anybody can send those.
NAMES = f"""
    CREATE FUNCTION customers_name_in(attributes jsonb, claimed text[]) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$
        WITH said AS (
            SELECT jsonb_object_agg(key, btrim(attributes->>key)) AS as_text FROM unnest(ARRAY[{LISTED}]) AS key
            WHERE jsonb_typeof(attributes->key) = 'string' AND btrim(attributes->>key) <> '' AND key <> ALL(claimed)
        )
        SELECT nullif(left(coalesce(
            as_text->>'name', as_text->>'fullName', as_text->>'full_name',
            concat_ws(
                ' ',
                coalesce(as_text->>'firstName', as_text->>'first_name'),
                coalesce(as_text->>'lastName', as_text->>'last_name')
            )
        ), 200), '') FROM said
    $$;

    CREATE FUNCTION customers_write_name() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        new.name := customers_name_in(new.attributes, new.claimed_attributes);
        RETURN new;
    END
    $$;

    CREATE TRIGGER new_customers_have_names BEFORE INSERT ON customers_customer
    FOR EACH ROW WHEN (new.attributes ?| ARRAY[{LISTED}]) EXECUTE FUNCTION customers_write_name();

    CREATE TRIGGER customers_keep_their_names BEFORE UPDATE OF attributes, claimed_attributes ON customers_customer
    FOR EACH ROW WHEN ({DIFFER} OR old.claimed_attributes IS DISTINCT FROM new.claimed_attributes)
    EXECUTE FUNCTION customers_write_name();
"""
NO_NAMES = """
    DROP TRIGGER customers_keep_their_names ON customers_customer;
    DROP TRIGGER new_customers_have_names ON customers_customer;
    DROP FUNCTION customers_write_name();
    DROP FUNCTION customers_name_in(jsonb, text[]);
"""


class Migration(migrations.Migration):
    dependencies = [("customers", "0011_aliases")]

    operations = [
        migrations.AddField(
            model_name="customer",
            name="name",
            field=models.CharField(
                editable=False, help_text="As servers wrote it into the attributes.", max_length=200, null=True
            ),
        ),
        migrations.RunSQL(NAMES, NO_NAMES),
    ]
