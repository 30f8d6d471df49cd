"""An external id that leads to somebody as an alias is forgotten with them where a call named it in vain, as their own.

Aliases go with their customer's row only. The function takes what is deleted, of either table, for `erased`. It is called
for each row, though it looks at all: most customers who are deleted have no alias, and then it costs nothing.
"""

from django.db import migrations

FORGET = """
    CREATE TRIGGER journeys_forget_erased_aliases
    AFTER DELETE ON customers_alias
    REFERENCING OLD TABLE AS erased
    FOR EACH ROW WHEN (OLD.external_id IS NOT NULL) EXECUTE FUNCTION journeys_forget_erased_customers();
"""


class Migration(migrations.Migration):
    dependencies = [("customers", "0021_segments_managed_elsewhere"), ("journeys", "0073_draws")]

    operations = [migrations.RunSQL(FORGET, "DROP TRIGGER journeys_forget_erased_aliases ON customers_alias")]
