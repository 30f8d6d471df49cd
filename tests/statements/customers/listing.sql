-- customers.listing: _AFTER
workspace_id = {workspace_id} AND id > {after}

-- customers.listing: _BEGINNING
workspace_id = {workspace_id} AND {field} ~>=~ {first} AND {field} ~<~ {beyond} AND {field} ~>~ {after}

-- customers.listing: _MEMBERS_AFTER
segment_id = {segment_id} AND customer_id > {after}
