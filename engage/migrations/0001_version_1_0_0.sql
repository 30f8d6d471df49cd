-- An entry of the audit is not changed, and not deleted before its time; it gets its position once.

CREATE FUNCTION engage_audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.kept_until <= statement_timestamp() THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.position IS NULL AND to_jsonb(NEW) - 'position' = to_jsonb(OLD) - 'position' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'An entry of the audit is not changed, and not deleted before its time.'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TRIGGER engage_audit_is_kept BEFORE UPDATE OR DELETE ON engage_auditentry
FOR EACH ROW EXECUTE FUNCTION engage_audit_is_kept();

CREATE TRIGGER engage_audit_is_not_emptied BEFORE TRUNCATE ON engage_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION engage_audit_is_kept();

CREATE SEQUENCE engage_audit_position OWNED BY engage_auditentry.position;

-- The secrets of phones are encrypted, and longer then.

ALTER TABLE otp_totp_totpdevice ALTER COLUMN key TYPE varchar(300);
