"""Who is who: which customer is meant by identifiers, and what becomes of them.

1. aliases.py, lookup.py: by an id, also one that was merged; locks.py: held, and looked for again until that is stable.
2. claims.py: what was only claimed; proofs.py: what becomes of that by a proof.
   identifiers.py: the first identifier that matches, as SQL.
3. roster.py: the customers that a set of writes is about; doubtful.py: which are likely a mistake;
   upsert.py writes them.
4. merging.py: two become one; identifying.py: what a page may say of who is there.
"""
