"""Joins with the first of the rows that belong to a record."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, Join, Table, literal_column, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import LateralFromClause, NamedFromClause

ONE: ColumnElement[int] = literal_column("1", Integer)


class FirstRow(Join):
    """See `join_first`."""

    inherit_cache = False
    first: LateralFromClause


def join_first(
    left: FromClause,
    rows: NamedFromClause,
    table: Table,
    link: ColumnElement[bool],
    order_by: Sequence[ColumnElement[Any]],
    owner: FromClause,
) -> FromClause:
    """An outer join with the first of the rows of a table that `link` joins to their owner, which is a part of `left`.
    `rows` is what the table is called in the statement. PostgreSQL reads the row where it finds it; SQLite, which has
    no LATERAL, looks for its id first.
    """
    linked = select(table.c.id).where(link).order_by(*order_by).limit(ONE).correlate(owner)
    joined = FirstRow(left, rows, rows.c.id == linked.scalar_subquery(), isouter=True)
    joined.first = linked.with_only_columns(*table.c).lateral(rows.name)
    return joined


@compiles(FirstRow, "postgresql")
def _join_lateral(joined: FirstRow, compiler: SQLCompiler, **options: Any) -> str:
    left, first = (compiler.process(each, **{**options, "asfrom": True}) for each in (joined.left, joined.first))
    return f"{left} LEFT OUTER JOIN {first} ON true"
