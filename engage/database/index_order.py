"""Reading rows in the order of an index up to a limit, whatever the planner's statistics say.

Where the statistics are of a moment when the table was empty, as those of a queue often are, to read all rows that meet
the condition and to sort them seems as cheap as to follow the index to the first one. So the planner is made to expect
very many rows, which are expensive to sort.
"""

# Beside the table in FROM: one row, of which the planner expects a million. With FOR UPDATE, say OF the table.
IN_INDEX_ORDER = "string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more"
