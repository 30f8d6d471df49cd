"""Journeys with a delay whose `at` is a template and that does not say what follows where that gives no time.

Who comes to such a delay leaves the journey then, where version 1.0 went on. Looked for in the current revisions of
journeys that are not archived.
"""

# \x25 is the percent sign, which drivers would take for a placeholder's.
_UNSAID = r'$[*] ? (@.type == "delay" && @.at like_regex "[{][{\\x25]" && !exists(@.onMissing))'
# The end of a SELECT that has them as `journey`.
WITH_UNSAID_DELAYS = f"""
FROM journeys_journey journey
JOIN journeys_journeyrevision revision ON revision.journey_id = journey.id AND revision.number = journey.revision
WHERE journey.archived_at IS NULL AND jsonb_path_exists(revision.steps, '{_UNSAID}')
"""
