"""Regular expressions written by people (flow format, has_pattern and regex_match).

They use RE2, which takes time linear in the text for every pattern; they ignore case, and `^` and `$` match at lines.
"""

from functools import lru_cache
from typing import Any

import re2

from flows.expressions.evaluation import Evaluation, ExpressionError

PATTERN_LENGTH_LIMIT = 10_000
PATTERN_MEMORY_BYTES = 4 * 1024 * 1024
CACHED_PATTERNS = 512
COMPILE_WORK = 1_000
CHARACTERS_PER_UNIT = 4
_FLAGS = "(?mi)"


def is_valid_pattern(pattern: str) -> bool:
    """Whether a pattern, after trimming, can be used in `has_pattern`."""
    try:
        _compile(make_encodable(pattern.strip()))
    except ExpressionError:
        return False
    return True


def find_groups(evaluation: Evaluation, pattern: str, text: str) -> list[str] | None:
    """The first match and its groups (an empty string for unused ones), None if there is no match. Raises
    ExpressionError for an invalid pattern.
    """
    # The cache must not change the outcome, so each pattern is paid for as if it were not cached.
    evaluation.budget.spend(COMPILE_WORK + len(text) // CHARACTERS_PER_UNIT)
    found = _compile(make_encodable(pattern)).search(make_encodable(text))
    return None if found is None else [found[0], *(group or "" for group in found.groups())]


def make_encodable(text: str) -> str:
    """The text with replacement characters for unpaired surrogates, which RE2 rejects."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@lru_cache(maxsize=CACHED_PATTERNS)
def _compile(pattern: str) -> Any:
    if len(pattern) > PATTERN_LENGTH_LIMIT:
        raise ExpressionError("regular expression is too long")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES
    try:
        return re2.compile(_FLAGS + pattern, options)
    except re2.error as error:
        raise ExpressionError(f"unable to compile regular expression: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else "invalid"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
