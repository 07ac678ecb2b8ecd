"""Foreign keys of PostgreSQL are dropped while rows are inserted in any order, and checked for all rows afterward."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from persistence.tables.complete import metadata

# Without those that PostgreSQL adds by itself for each partition of a table.
_LIST = text(
    "select c.conname, t.relname, pg_get_constraintdef(c.oid) from pg_constraint c "
    "join pg_class t on t.oid = c.conrelid join pg_namespace n on n.oid = t.relnamespace "
    "where c.contype = 'f' and c.conparentid = 0 and n.nspname = current_schema() and t.relname = any(:tables)"
    " order by t.relname, c.conname"
)


@dataclass(frozen=True, slots=True)
class Reference:
    table: str
    name: str
    definition: str


def put_references_aside(connection: Connection) -> list[Reference]:
    """Drops the foreign keys of our tables; what `restore_references` needs."""
    tables = [table.name for table in metadata.sorted_tables]
    found = [Reference(table, name, text_) for name, table, text_ in connection.execute(_LIST, {"tables": tables})]
    for each in found:
        connection.exec_driver_sql(f'ALTER TABLE "{each.table}" DROP CONSTRAINT "{each.name}"')
    return found


def restore_references(connection: Connection, references: list[Reference]) -> None:
    """Adds them again. Raises IntegrityError when a row refers to nothing."""
    for each in references:
        connection.exec_driver_sql(f'ALTER TABLE "{each.table}" ADD CONSTRAINT "{each.name}" {each.definition}')
