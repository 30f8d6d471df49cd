-- bridge.identity.figures: _COUNTED
SELECT newest.identity_problem, count(*) FROM (
    SELECT one.id, one.identity_problem FROM bridge_interaction one
    WHERE one.app_id = {app_id} AND one.verified IS NOT NULL AND one.id >= {since} ORDER BY one.id DESC LIMIT {counted}
) AS newest GROUP BY newest.identity_problem

-- bridge.identity.figures: _ORIGINS
WITH unproven AS MATERIALIZED (
    SELECT newest.id, newest.identity_problem FROM (
    SELECT one.id, one.identity_problem FROM bridge_interaction one
    WHERE one.app_id = {app_id} AND one.verified IS NOT NULL AND one.id >= {since} ORDER BY one.id DESC LIMIT {counted}
) AS newest
    WHERE newest.identity_problem <> '' LIMIT {looked_up}
)
SELECT one.origin, unproven.identity_problem AS reason, count(*) AS calls
FROM unproven
CROSS JOIN LATERAL (SELECT known.origin FROM bridge_interaction known WHERE known.id = unproven.id LIMIT 1) AS one
GROUP BY one.origin, unproven.identity_problem ORDER BY calls DESC, one.origin, reason LIMIT {most}
