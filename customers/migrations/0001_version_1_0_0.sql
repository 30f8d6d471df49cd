-- A customer's name is kept beside the attributes that say it: staff look people up by it. A trigger writes it, whoever
-- writes the attributes. It runs only where one of these attributes is new or other than before, so that all other
-- writes stay within their page. What in-app messages wrote does not count: anybody can send those.

CREATE FUNCTION customers_name_in(attributes jsonb, claimed text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
        WITH said AS (
            SELECT jsonb_object_agg(key, btrim(attributes->>key)) AS as_text FROM unnest(ARRAY['name', 'fullName', 'full_name', 'firstName', 'first_name', 'lastName', 'last_name']) AS key
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
FOR EACH ROW WHEN (
    new.attributes ?| ARRAY['name', 'fullName', 'full_name', 'firstName', 'first_name', 'lastName', 'last_name']
) EXECUTE FUNCTION customers_write_name();

CREATE TRIGGER customers_keep_their_names BEFORE UPDATE OF attributes, claimed_attributes ON customers_customer
FOR EACH ROW WHEN (
    old.attributes->'name' IS DISTINCT FROM new.attributes->'name'
    OR old.attributes->'fullName' IS DISTINCT FROM new.attributes->'fullName'
    OR old.attributes->'full_name' IS DISTINCT FROM new.attributes->'full_name'
    OR old.attributes->'firstName' IS DISTINCT FROM new.attributes->'firstName'
    OR old.attributes->'first_name' IS DISTINCT FROM new.attributes->'first_name'
    OR old.attributes->'lastName' IS DISTINCT FROM new.attributes->'lastName'
    OR old.attributes->'last_name' IS DISTINCT FROM new.attributes->'last_name'
    OR old.claimed_attributes IS DISTINCT FROM new.claimed_attributes
) EXECUTE FUNCTION customers_write_name();

-- Names and e-mail addresses are found by parts of them where the database has pg_trgm or lets this role make it; by how
-- they begin otherwise, and docs/operations.md tells how to get there later. By beginnings there are two indexes, and
-- none is of the address as it is: that is looked up by others, which the planner might leave for it.

DO $$
DECLARE
    home text;
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
        BEGIN
            CREATE EXTENSION IF NOT EXISTS pg_trgm;
        EXCEPTION WHEN insufficient_privilege THEN
            NULL;
        END;
    END IF;
    SELECT nspname INTO home FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_trgm';
    IF home IS NULL THEN
        CREATE INDEX customer_by_name ON customers_customer (lower(name) text_pattern_ops) WHERE name IS NOT NULL;
        CREATE INDEX customer_by_address ON customers_customer (lower(email) text_pattern_ops) WHERE email IS NOT NULL;
    ELSE
        EXECUTE format(
            'CREATE INDEX customer_by_part ON customers_customer '
            'USING gin (lower(name) %1$I.gin_trgm_ops, lower(email) %1$I.gin_trgm_ops)', home
        );
    END IF;
END
$$;
