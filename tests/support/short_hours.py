"""Hours that turn often, to what the service counts: in SQL."""

# Hides the built-in one, by which the service tells the hour of what it counts.
SHORT_HOURS = """
CREATE OR REPLACE FUNCTION public.date_trunc(field text, at timestamptz, zone text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.date_trunc(CASE field WHEN 'hour' THEN '{unit}' ELSE field END, at, zone)
$$
"""
SHORT_HOURS_FIRST = "public, pg_catalog"  # the search path with which that one is found
