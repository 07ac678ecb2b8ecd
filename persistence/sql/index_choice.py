"""Which index SQLite takes where it knows nothing about the rows."""

from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction


class beside_index(GenericFunction[Any]):
    """A column that is compared, but by which SQLite does not search: another condition names few rows, and without
    statistics SQLite would as soon read all rows of the workspace. PostgreSQL, which has statistics and partitions,
    gets the plain column.
    """

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


@compiles(beside_index)
def _plain(element: beside_index, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **options)


@compiles(beside_index, "sqlite")
def _not_searched(element: beside_index, compiler: SQLCompiler, **options: Any) -> str:
    return "+" + compiler.process(element.clauses.clauses[0], **options)
