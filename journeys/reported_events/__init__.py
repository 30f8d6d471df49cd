"""Events that a server reports: one, or up to 1,000 in one call."""
