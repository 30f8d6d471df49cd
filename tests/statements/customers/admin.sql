-- customers.admin.search: _BY_PART
SELECT id, workspace_id FROM customers_customer
WHERE (lower(name) LIKE {pattern} OR lower(email) LIKE {pattern})
  AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
LIMIT {most}

-- customers.admin.search: _HAS_PARTS
SELECT to_regclass('customer_by_part') IS NOT NULL

-- customers.admin.suggestions: _PROFILES
SELECT attributes FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id DESC LIMIT 200
