"""A recording stand-in for the extension that spreads tables over machines; it asks of tables what that asks."""

STAND_IN = """
CREATE TABLE handed_over (number serial, table_name regclass PRIMARY KEY, owner text, beside text);
CREATE VIEW citus_tables AS SELECT table_name FROM handed_over;
CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE sql AS
    'INSERT INTO handed_over (table_name) VALUES (table_name)';
CREATE FUNCTION create_distributed_table(
    table_name regclass, distribution_column text, colocate_with text DEFAULT 'default'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE lacking text;
BEGIN
    SELECT string_agg(indexrelid::regclass::text, ', ') INTO lacking FROM pg_index
    WHERE indrelid = create_distributed_table.table_name AND indisunique AND NOT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey) AND attname = distribution_column
    );
    IF lacking IS NOT NULL THEN
        RAISE EXCEPTION 'unique on "%" without the distribution column: %', table_name, lacking;
    END IF;
    IF EXISTS (
        SELECT FROM pg_constraint WHERE contype = 'f' AND create_distributed_table.table_name IN (conrelid, confrelid)
    ) THEN
        RAISE EXCEPTION 'cannot distribute "%" with references to or from tables that are not', table_name;
    END IF;
    INSERT INTO handed_over (table_name, owner, beside) VALUES (table_name, distribution_column, colocate_with);
END $$;
"""
