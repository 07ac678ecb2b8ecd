"""Templates of the old expression language in the new (flow format, versions and migrations)."""

from dataclasses import dataclass

import regex

from flows.definition.legacy.expressions import migrate_expression
from flows.definition.legacy.operands import LegacyExpressionError
from flows.definition.legacy.paths import LEGACY_ROOTS, migrate_path
from flows.expressions.paths import Rewriting
from flows.expressions.scanner import CONTEXT_ROOTS
from flows.expressions.syntax import quote_text

_PIECE = regex.compile(r"(?P<body>[^@]+|@@)|(?P<open>@\()|@(?P<path>\p{L}[\p{L}\p{Nd}_]*(?:\.[\p{L}\p{Nd}_]+)*)|@")
_PARENTHESIS_OR_TEXT = regex.compile(r'"[^"]*+(?:"|\Z)|[()]')
_IDENTIFIER = regex.compile(r"\p{L}[\p{L}\p{N}_]*(?:\.[\p{L}\p{N}_]+)*")


@dataclass(frozen=True, slots=True)
class TemplateOptions:
    """How an old template is taken over.

    `default_to_self`: an expression in error gives its own old text, as operands did. `url_encode`: every expression is
    made fit for a URL. `raw_dates`: days stay values instead of becoming text.
    """

    default_to_self: bool = False
    url_encode: bool = False
    raw_dates: bool = False


PLAIN = TemplateOptions()


def migrate_template(template: str, options: TemplateOptions = PLAIN) -> Rewriting:
    """The template with every expression in the new language and all other text untouched.

    Expressions that cannot be migrated stay as written; each is reported in the errors.
    """
    written: list[str] = []
    errors: list[str] = []
    position = 0
    while position < len(template):
        source, expression = _scan(template, position)
        position += len(source)
        try:
            written.append(source if expression is None else _migrate(source, expression, options))
        except LegacyExpressionError as error:
            errors.append(f"error evaluating {source}: {error}")
            written.append(source)
    return Rewriting("".join(written), tuple(errors))


def _scan(template: str, position: int) -> tuple[str, str | None]:
    """The next piece as written, and the expression in it if it is one."""
    found = _PIECE.match(template, position)
    if found is None or found["body"] is not None:
        return found[0] if found else template[position:], None
    if found["open"] is not None:
        return _scan_parentheses(template, position)
    path = found["path"]
    is_known = path is not None and path.partition(".")[0].lower() in LEGACY_ROOTS
    return found[0], path if is_known else None


def _scan_parentheses(template: str, position: int) -> tuple[str, str | None]:
    depth = 0
    for found in _PARENTHESIS_OR_TEXT.finditer(template, position):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0 and found[0] == ")":
            source = template[position : found.end()]
            return source, source[2:-1]
    # Without a closing parenthesis everything that follows is text.
    return template[position:], None


def _migrate(source: str, expression: str, options: TemplateOptions) -> str:
    # An editor that wanted some text was given @("") where there was nothing to say.
    if source == '@("")':
        return ""
    if source.startswith("@("):
        migrated = migrate_expression(expression, raw_dates=options.raw_dates)
    else:
        migrated = migrate_path(expression, raw_dates=options.raw_dates).text
    if options.default_to_self:
        migrated = f"if(is_error({migrated}), {quote_text(source)}, {migrated})"
    if options.url_encode:
        migrated = f"url_encode({migrated})"
    is_name = _IDENTIFIER.fullmatch(migrated) is not None and migrated.partition(".")[0] in CONTEXT_ROOTS
    return f"@{migrated}" if is_name else f"@({migrated})"
