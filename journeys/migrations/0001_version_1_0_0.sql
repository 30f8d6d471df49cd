-- Room on the pages ---------------------------------------------------------------------------------------------------

-- Every job is written twice: queued, and decided. A decision changes nothing that is indexed, so where the new version
-- fits on the same page, PostgreSQL leaves all indexes alone; else it makes an entry in each. On full pages nearly every
-- decision went elsewhere: it took half as long again, and the indexes became twice as large, which outweighs the
-- emptier pages. The same goes for a walker's claim of an enrollment.

ALTER TABLE journeys_enrollmentjob SET (fillfactor = 40);
ALTER TABLE journeys_enrollment SET (fillfactor = 50);


-- What a job refers to ------------------------------------------------------------------------------------------------

-- Jobs come in thousands, and a foreign key would look at their one trigger anew for each of them: two fifths of the
-- time that a large call takes. And there can be none to the customer, because a job outlives an erased one. So what
-- foreign keys would refuse is refused here, once per statement. Customers are looked up one by one, always by their
-- key: PostgreSQL keeps the plans of a function for a session, and one that joins, or was made while the workspace had
-- few customers, would fit no other number of jobs. The deletion of a trigger takes its jobs along.

CREATE FUNCTION journeys_hold_jobs_together() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
    BEGIN
        IF EXISTS (
            SELECT FROM (SELECT DISTINCT workspace_id, journey_id, trigger_id FROM fresh) AS job
            WHERE NOT EXISTS (
                SELECT FROM journeys_trigger sent
                WHERE sent.id = job.trigger_id AND sent.workspace_id = job.workspace_id
                  AND sent.journey_id = job.journey_id
                FOR KEY SHARE
            )
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job names no trigger of its workspace and journey',
                TABLE = TG_TABLE_NAME, CONSTRAINT = 'job_trigger_and_journey';
        END IF;
        IF EXISTS (
            SELECT FROM fresh
            WHERE (SELECT workspace_id FROM customers_customer customer WHERE customer.id = fresh.customer_id)
                  <> fresh.workspace_id
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job names a customer of another workspace',
                TABLE = TG_TABLE_NAME, CONSTRAINT = 'job_customer';
        END IF;
        RETURN NULL;
    END
    $$;

CREATE TRIGGER job_refers_to_its_workspace
AFTER INSERT ON journeys_enrollmentjob REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION journeys_hold_jobs_together();

CREATE FUNCTION journeys_delete_jobs_of_triggers() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM journeys_enrollmentjob WHERE trigger_id = ANY (ARRAY(SELECT id FROM gone));
        RETURN NULL;
    END
    $$;

CREATE TRIGGER trigger_takes_its_jobs_along
AFTER DELETE ON journeys_trigger REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION journeys_delete_jobs_of_triggers();

-- What a job refers to never changes, and no customer moves to another workspace. But the jobs of a customer who is
-- merged into another one become that one's, and keep the ids under which they were queued.

CREATE FUNCTION journeys_refuse_a_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE foreign_key_violation USING
            MESSAGE = 'jobs and triggers never change hands, and customers stay in their workspace',
            TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
    END
    $$;

CREATE TRIGGER job_stays
BEFORE UPDATE OF workspace_id, journey_id, trigger_id ON journeys_enrollmentjob
FOR EACH ROW WHEN (
    (OLD.workspace_id, OLD.journey_id, OLD.trigger_id) IS DISTINCT FROM
    (NEW.workspace_id, NEW.journey_id, NEW.trigger_id)
) EXECUTE FUNCTION journeys_refuse_a_move();

CREATE TRIGGER trigger_stays
BEFORE UPDATE OF workspace_id, journey_id, id ON journeys_trigger
FOR EACH ROW WHEN (
    (OLD.workspace_id, OLD.journey_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.journey_id, NEW.id)
) EXECUTE FUNCTION journeys_refuse_a_move();

CREATE TRIGGER customer_stays
BEFORE UPDATE OF workspace_id, id ON customers_customer
FOR EACH ROW WHEN ((OLD.workspace_id, OLD.id) IS DISTINCT FROM (NEW.workspace_id, NEW.id))
EXECUTE FUNCTION journeys_refuse_a_move();

CREATE FUNCTION journeys_hold_a_moved_job() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.queued_as IS NULL OR NOT EXISTS (
            SELECT FROM customers_customer WHERE id = NEW.customer_id AND workspace_id = NEW.workspace_id
        ) THEN
            RAISE foreign_key_violation USING
                MESSAGE = 'a job goes to another customer of its workspace, and keeps its id',
                TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
        END IF;
        RETURN NEW;
    END
    $$;

CREATE TRIGGER job_moves_with_its_id
BEFORE UPDATE OF customer_id ON journeys_enrollmentjob
FOR EACH ROW WHEN (OLD.customer_id IS DISTINCT FROM NEW.customer_id)
EXECUTE FUNCTION journeys_hold_a_moved_job();


-- Progress of large triggers ------------------------------------------------------------------------------------------

-- It is noted for each block of five hundred jobs. So jobs with a result are found among a million without an index by
-- result, which would have to be changed by every decision.

CREATE FUNCTION journeys_note_progress() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        INSERT INTO journeys_triggerprogress (workspace_id, trigger_id, status, result, block, jobs)
        SELECT large.workspace_id, changed.trigger_id, changed.status, changed.result, changed.block, changed.jobs
        FROM (
            SELECT trigger_id, status, result, block, sum(one) AS jobs
            FROM (
                SELECT trigger_id, status, result, ordinal / 500 AS block, 1 AS one FROM after WHERE status <> 'queued'
                UNION ALL
                SELECT trigger_id, status, result, ordinal / 500 AS block, -1 FROM before WHERE status <> 'queued'
            ) AS counted
            GROUP BY block, trigger_id, status, result HAVING sum(one) <> 0
        ) AS changed
        CROSS JOIN LATERAL (
            SELECT workspace_id FROM journeys_trigger sent
            WHERE sent.id = changed.trigger_id AND sent.keeps_progress LIMIT 1
        ) AS large;
        RETURN NULL;
    END
    $$;

CREATE TRIGGER job_progress_is_noted
AFTER UPDATE ON journeys_enrollmentjob REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT EXECUTE FUNCTION journeys_note_progress();


-- Who waits for an event ----------------------------------------------------------------------------------------------

-- It is looked up when the customer's row is held, within the statement that locks it. A statement sees what was
-- committed when it began, so one that locks and asks in one go would miss a step that began to wait in between. What a
-- volatile function asks is asked anew.

CREATE FUNCTION journeys_takes_notice(who varchar, named varchar) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        RETURN EXISTS (
            SELECT FROM journeys_enrollment enrollment
            JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
            WHERE enrollment.customer_id = who AND enrollment.state = 'active'
              AND (enrollment.awaits_event = named OR named = ANY(revision.exit_events))
        );
    END
    $$;


-- What an erasure takes along -----------------------------------------------------------------------------------------

-- A trigger's payload is as personal as whom it was sent for, but a trigger belongs to a journey, so no cascade reaches
-- it. The app that erases knows of no journeys: so this stands where both tables are known, acts in the same transaction
-- as the cascades, and holds for every way to delete a customer (the interface, the admin, SQL). Jobs stay with their
-- ids, and without the values that decided.
--
-- A payload stays as long as one of those whom its call named is there. Two erasures of the last two wait for each other
-- at the trigger's row, so that the second sees what the first has done. A call for more than a thousand went to a
-- segment rather than to people, and to look for the last of a million at each erasure would cost too much: it keeps its
-- payload until it is pruned.

CREATE FUNCTION journeys_forget_payloads(sent_by varchar[]) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM FROM journeys_trigger
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' ORDER BY id FOR NO KEY UPDATE;
        UPDATE journeys_trigger AS sent SET payload = '{}'
        WHERE id = ANY(sent_by) AND customers <= 1000 AND payload <> '{}' AND NOT EXISTS (
            SELECT FROM journeys_enrollmentjob job
            CROSS JOIN LATERAL (SELECT FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1) AS there
            WHERE job.trigger_id = sent.id
        );
    END
    $$;

-- External ids that nobody had are kept as they were sent, and belong to whoever has them when a customer is erased: they
-- are erased as well, and so is the payload if the call queued nobody else.

CREATE FUNCTION journeys_forget_erased_customers() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
    DECLARE
        named_in_vain varchar[];
    BEGIN
        
        UPDATE journeys_enrollmentjob SET details = NULL WHERE id = ANY(ARRAY(
            SELECT decided.id FROM erased CROSS JOIN LATERAL (
                SELECT id FROM journeys_enrollmentjob job
                WHERE job.customer_id = erased.id AND job.details IS NOT NULL OFFSET 0
            ) AS decided
        ));

        WITH theirs AS (
            DELETE FROM journeys_unknownexternalid WHERE id = ANY(ARRAY(
                SELECT sent.id FROM erased CROSS JOIN LATERAL (
                    SELECT id FROM journeys_unknownexternalid unknown
                    WHERE unknown.external_id = erased.external_id AND unknown.workspace_id = erased.workspace_id
                    OFFSET 0
                ) AS sent
            ))
            RETURNING trigger_id
        )
        SELECT array_agg(trigger_id) INTO named_in_vain FROM theirs;
        PERFORM journeys_forget_payloads(ARRAY(
            SELECT job.trigger_id FROM erased JOIN journeys_enrollmentjob AS job ON job.customer_id = erased.id
            UNION SELECT unnest(named_in_vain)
        ));
        RETURN NULL;
    END
    $$;

CREATE TRIGGER journeys_forget_erased_customers
AFTER DELETE ON customers_customer
REFERENCING OLD TABLE AS erased
FOR EACH STATEMENT EXECUTE FUNCTION journeys_forget_erased_customers();

-- Those who were inside when they were erased have left, which is counted. Whoever deletes what has ended changes no
-- count.

CREATE FUNCTION journeys_count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
        SELECT erased.workspace_id, erased.journey_id, erased.revision_id, date_trunc('hour', now(), 'UTC'),
               way.kind, way.name, way.outcome, count(*)
        FROM erased
        CROSS JOIN LATERAL (
            VALUES ('edge', CASE WHEN erased.steps_begun = 0 THEN '@entry' ELSE erased.step_id END, '@exited'),
                   ('end', erased.step_id, 'interrupted')
        ) AS way(kind, name, outcome)
        WHERE erased.state = 'active' AND (way.kind = 'edge' OR erased.step_began_at IS NOT NULL)
          AND EXISTS (SELECT FROM journeys_journey journey WHERE journey.id = erased.journey_id)
        GROUP BY erased.workspace_id, erased.journey_id, erased.revision_id, way.kind, way.name, way.outcome;
        RETURN NULL;
    END
    $$;

CREATE TRIGGER erased_enrollments_are_counted
AFTER DELETE ON journeys_enrollment
REFERENCING OLD TABLE AS erased
FOR EACH STATEMENT EXECUTE FUNCTION journeys_count_erased();
