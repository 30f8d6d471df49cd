-- engage.admin.login.known_devices: _HAS_LOGGED_IN
SELECT EXISTS (
    SELECT FROM engage_auditentry
    WHERE object_id = {number} AND object_kind = 'user' AND action = 'logged_in' AND at > {since}
      AND address <<= {address}::inet
)
