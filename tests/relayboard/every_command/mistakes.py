"""Wrong ways to call a command, made from what its parser says of each option."""

from collections.abc import Iterator, Sequence

import click

from relayboard.usage.parts import NAMES_RECORD, THIS
from tests.relayboard.every_command.leaves import LEAVES, Leaf, options_of
from tests.thinned import EVERY_CASE

NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"
TEXTS = ("", "x" * 5000 + "'; --", "tab\tline\nend\x1b[2J\u202e")
URLS = ("nonsense", "http://", "ftp://example.org/", "http://[::1", "", "x" * 5000)
WRONG_FILES = ("{folder}/missing.json", "{folder}", "{folder}/torn.json", "{folder}/binary.json", "{folder}/list.json")
USAGE, REFUSED, ANY = {2}, {1, 2}, {0, 1, 2}

Mistake = tuple[list[str], set[int]]


def list_mistakes(words: Leaf, good: Sequence[str]) -> Iterator[Mistake]:
    """Arguments that are wrong, and the exit statuses that they may have; `good` is a call that works.

    Options of one kind are read by the same code. So the first of a kind gets every wrong value, and of the others each
    gets one of them, in turn, with the first command of its noun; with RELAYBOARD_EVERY_CASE=1 each gets all.
    """
    actions = list(options_of(words))
    if any(action.required for action in actions):
        yield list(words), USAGE
    yield [*good, "--nonsense"], USAGE
    if not any(action.nargs == -1 for action in actions):
        yield [*good, "too", "many", "words"], USAGE
    for place, action in enumerate(actions):
        wrong = list(_wrong_values(action))
        takes_all = EVERY_CASE or not wrong or FIRST_OF_KIND[kind_of(action)] == (words, place)
        if not takes_all and FIRST_OF_NOUN[words[0], action.name, kind_of(action)] != words:
            continue
        for value, statuses in wrong if takes_all else [wrong[place % len(wrong)]]:
            yield _with_value(list(good), words, action, value), statuses


def kind_of(action: click.Parameter) -> tuple[str, ...]:
    """What decides how a value is read: whether it is an option, its type, and what it stands for."""
    return type(action).__name__, type(action.type).__name__, str(action.metavar)


FIRST_OF_KIND = {
    kind_of(action): (words, place)
    for words in reversed(LEAVES)
    for place, action in reversed([*enumerate(options_of(words))])
}
FIRST_OF_NOUN = {
    (words[0], action.name, kind_of(action)): words for words in reversed(LEAVES) for action in options_of(words)
}


def _wrong_values(action: click.Parameter) -> Iterator[tuple[str, set[int]]]:
    if getattr(action, "is_flag", False):
        return
    if isinstance(action, click.Option):
        yield "\udcff", USAGE
    if isinstance(action.type, click.Choice):
        yield "nonsense", USAGE
    elif action.metavar in ("UUID", "ID") or (action.metavar or "").lower() in NAMES_RECORD.values():
        yield from (("nobody", REFUSED), (NOWHERE, REFUSED), ("", REFUSED), (NOWHERE[:-1] + "ü", REFUSED))
    elif str(action.name) == "output":
        yield "{folder}", REFUSED
    elif action.metavar == "FILE" and str(action.name) != "state":
        is_text = str(action.name).endswith("_file")
        yield from ((name, REFUSED) for name in WRONG_FILES[:4] if not is_text or not name.endswith("torn.json"))
        yield WRONG_FILES[4], ANY
    elif action.metavar in ("TIME", "SECONDS", "N") or str(action.name) in ("port", "limit", "level", "seconds"):
        numbers = ("nonsense", "9" * 30, "1e400", "nan", "")
        yield from ((text, USAGE) for text in (*numbers, *(() if getattr(action.type, "least", 0) < 0 else ("-1",))))
    elif action.metavar == "JSON":
        yield from ((text, REFUSED) for text in ("nonsense", "[]", '"\\ud800"', '{"name": NaN}'))
    elif action.metavar != "URL":
        yield from ((text, ANY) for text in TEXTS)
    elif action.metavar == "URL":
        yield from (
            (text, ANY) for text in ("nonsense", "http://", "ftp://example.org/", "http://[::1", "", "x" * 5000)
        )


def _with_value(arguments: list[str], words: Leaf, action: click.Parameter, value: str) -> list[str]:
    """The arguments with another value of one option, given a second time if it is there: the last one counts."""
    if isinstance(action, click.Argument):
        return _with_positional(arguments, words, action, value)
    name = action.opts[-1]
    if name not in arguments:
        place = arguments.index(words[-1]) + 1
        return [*arguments[:place], name, value, *arguments[place:]]
    place = arguments.index(name)
    return [*arguments[: place + 1], value, *arguments[place + 2 :]]


def _with_positional(arguments: list[str], words: Leaf, action: click.Parameter, value: str) -> list[str]:
    older = f"--{str(action.name).removeprefix(THIS)}"
    if str(action.name).startswith(THIS) and older in arguments:
        place = arguments.index(older)
        return [*arguments[:place], value, *arguments[place + 2 :]]
    positional = [each for each in options_of(words) if isinstance(each, click.Argument)]
    place = len(arguments) - len(positional) + positional.index(action)
    return [*arguments[:place], value, *arguments[place + 1 :]]
