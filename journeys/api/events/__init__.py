"""Events reported by a server: one, or up to 1,000 in one call."""
