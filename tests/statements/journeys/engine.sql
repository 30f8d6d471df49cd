-- journeys.engine.merging: _BOTH_INSIDE
SELECT former.id FROM journeys_enrollment former
WHERE former.customer_id = {anonymous} AND former.state = 'active' AND EXISTS (
    SELECT FROM journeys_enrollment theirs
    WHERE theirs.customer_id = {into} AND theirs.journey_id = former.journey_id AND theirs.state = 'active'
      AND coalesce(theirs.entrance, '') = coalesce(former.entrance, '')
) OR former.customer_id = {anonymous} AND former.state = 'active' AND EXISTS (
    SELECT FROM journeys_enrollmentjob own JOIN journeys_enrollmentjob theirs
    ON theirs.customer_id = {into} AND theirs.journey_id = own.journey_id AND theirs.entrance = own.entrance
    WHERE own.id = former.job_id AND theirs.id <> own.id AND theirs.holds_entrance
)
