"""Gives partial indexes their conditions on PostgreSQL, which loads all of its drivers: only who compares or makes a
schema there imports this module, in place of `complete`."""

from sqlalchemy import text

from persistence.sql.columns import ON_POSTGRESQL
from persistence.tables.complete import metadata

__all__ = ["metadata"]

for _table in metadata.tables.values():
    for _index in _table.indexes:
        if ON_POSTGRESQL in _index.info:
            _index.dialect_kwargs["postgresql_where"] = text(_index.info[ON_POSTGRESQL])
