"""The parts that commands are declared with. A declaration imports none of our rooms: help and wrong usage are answered
at once, and the module that does the work is loaded when its command runs."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from relayboard.base.collection import loading
from relayboard.refusal import CommandFailed
from relayboard.usage.values import WholeNumber

NAME = "relayboard"
COMPLETING = "_RELAYBOARD_COMPLETE"
"""What a shell sets that asks for completions."""
COMMANDS = "relayboard.commands"
LISTED, MOST_LISTED = 50, 10_000
WORKSPACE_VARIABLE = "RELAYBOARD_WORKSPACE"
TOO_MANY = ("unexpected extra argument", "cannot be given together")
SECRETS = ("token", "password", "secret", "passphrase")
"""Words of options that people try for what is not given as an argument."""
HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

NAMES_RECORD = {
    "--flow": "flow",
    "--channel": "channel",
    "--group": "group",
    "--topic": "topic",
    "--contact": "contact",
    "--campaign": "campaign",
    "--key": "field",
    "--broadcast": "broadcast",
    "--receiver": "receiver",
    "--email": "user",
    "--user": "user",
    "--assignee": "user",
    "--member": "user",
    "contact": "contact",
}
"""Options and arguments that name a record, by a UUID or a name."""
OWN_NAMES = (
    *("contact_imports.run_import", "flows.run_run", "flows.run_draw"),
    *("flows.run_texts", "flows.run_translate"),
    *("users.run_create", "users.run_invite"),
)
"""What reads names in its own way: a group that an import makes, flows of a file, people who are new."""
HOW_NAMED = {
    "contact": "UUID, URN or name",
    "user": "e-mail address, UUID or name",
    "field": "key or name",
    "broadcast": "UUID",
    "receiver": "UUID or name of a channel, or id of a resthook subscriber or a subscription",
}
METAVARS = ("UUID", "EMAIL", "ID")
LISTS = ("list", "alarms", "calls", "subscribers", "imports")
"""Commands that show a line for each record."""
THIS = "this_"
"""What arguments begin with that stand for an option of former versions, which goes on (`this`)."""
WORKSPACE = "workspace"

Options = SimpleNamespace
"""What was given to a command: an attribute for each option and argument, lists where several can be given."""


class OneOf:
    """Options of which one at most, or exactly one, can be given."""

    def __init__(self, *parts: "click.Parameter | OneOf", required: bool = False) -> None:
        self.params: list[click.Parameter] = [
            param for part in parts for param in (part.params if isinstance(part, OneOf) else [part])
        ]
        self.required = required

    def check(self, context: click.Context) -> None:
        """Raises UsageError."""
        given = [param.opts[0] for param in self.params if _is_given(context, param)]
        if len(given) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} cannot be given together", context)
        if self.required and not given:
            names = [
                each.human_readable_name if isinstance(each, click.Argument) else each.opts[0] for each in self.params
            ]
            raise click.UsageError(f"one of {', '.join(names)} is required", context)


Part = click.Parameter | OneOf | Sequence["Part"]


class Action(click.Command):
    """A command that does something: `work` names a module of `relayboard/commands/` and a function in it. `destroys`
    says what cannot be taken back, with `destroys_with` only when this flag is given, `asks_pipes` whether this must
    be confirmed by `--yes` where nobody can be asked. `secret_from` says how a secret is given. `examples` are calls
    without the words that lead to this command.
    """

    def __init__(
        self,
        name: str,
        work: str,
        text: str,
        *parts: Part,
        examples: Iterable[str] = ("",),
        more: str = "",
        destroys: str = "",
        destroys_with: str = "",
        asks_pipes: bool = True,
        is_table: bool = True,
        secret_from: str = "",
    ) -> None:
        found = list(_flat(parts))
        params = [param for part in found for param in (part.params if isinstance(part, OneOf) else [part])]
        if destroys and not any(param.name == "yes" for param in params):
            params.append(flag("--yes", "do it without being asked"))
        if is_table and not any(param.name == "json" for param in params):
            params.append(flag("--json", "as JSON, also on a terminal"))
        about = f"{text[0].upper()}{text[1:]}."
        super().__init__(
            name,
            HELP,
            params=params,
            help=f"{about}\n\n{more}" if more else about,
            short_help=text,
            options_metavar="[OPTIONS]" if any(isinstance(param, click.Option) for param in params) else "",
        )
        self.records = dict(self._find_records(work))
        if name in LISTS and is_table:
            self.params.append(flag("--wide", "all columns, and the records one by one where they have no room"))
        self.work, self.examples = work, tuple(examples)
        self.destroys, self.asks_pipes = destroys, asks_pipes
        self.destroys_with = destroys_with
        self.secret_from = secret_from
        self.groups = [part for part in found if isinstance(part, OneOf)]

    def _find_records(self, work: str) -> Iterator[tuple[str, str]]:
        """The options and arguments that name records, and of which kind; they say so in help."""
        for param in self.params:
            noun = NAMES_RECORD.get(param.opts[0])
            if noun is None or work in OWN_NAMES or param.metavar not in (None, *METAVARS, noun.upper()):
                continue
            param.metavar = noun.upper()
            if isinstance(param, click.Option) and "UUID" not in (param.help or ""):
                param.help = f"{param.help} ({HOW_NAMED.get(noun, 'UUID or name')})"
            assert param.name is not None
            yield param.name, noun

    def load(self) -> Callable[[Options], object]:
        """The function that does the work."""
        module, _, function = self.work.partition(".")
        with loading():
            loaded = import_module(f"{COMMANDS}.{module}")
        work: Callable[[Options], object] = getattr(loaded, function)
        return work

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
            for group in () if ctx.resilient_parsing else self.groups:
                group.check(ctx)
        except click.NoSuchOption as error:
            raise self._explain(error, ctx) from None
        except click.UsageError as error:
            if self.secret_from and any(each in error.message for each in TOO_MANY):
                raise click.UsageError(f"a secret is no argument: {self.secret_from}", ctx) from None
            raise
        return rest

    def _explain(self, error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
        """What to do instead of giving a secret as an argument, which everybody sees who lists the processes."""
        words = error.option_name.lstrip("-").split("-")
        secret = next((word for word in words if word in SECRETS), None)
        if secret is None:
            names = [name for param in self.params for name in param.opts if name.startswith(error.option_name)]
            return click.NoSuchOption(error.option_name, possibilities=names or error.possibilities, ctx=ctx)
        files = [name for param in self.params for name in param.opts if name.endswith("-file")]
        instead = self.secret_from or (f"use {' or '.join(files)}" if files else "no option takes it")
        return click.UsageError(f"a {secret} is a secret and no argument: {instead}", ctx)

    def invoke(self, ctx: click.Context) -> object:
        given = {name: list(value) if isinstance(value, tuple) else value for name, value in ctx.params.items()}
        noun = ctx.parent.command.name if ctx.parent is not None else None
        options = Options(**given, noun=noun, action=self.name)
        for alias in [name for name in given if name.startswith(THIS) and given[name] is not None]:
            name = alias.removeprefix(THIS)
            setattr(options, name, given[alias])
            given[name] = given[alias]
        if self.records:
            self._resolve(options)
        if self.destroys and not options.yes and (not self.destroys_with or given[self.destroys_with]):
            confirm(self.destroys.format(**given), asks_pipes=self.asks_pipes)
        return self.load()(options)

    def _resolve(self, options: Options) -> None:
        """Puts UUIDs in place of names; loads nothing if nothing is named."""
        named = {name: noun for name, noun in self.records.items() if getattr(options, name, None) not in (None, [])}
        if named:
            with loading():
                naming = import_module(f"{COMMANDS}.naming")
            naming.resolve_names(options, named)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{ctx.command_path} {example}".rstrip() + "\n")


def confirm(sentence: str, *, asks_pipes: bool = True) -> None:
    """Raises CommandFailed unless it may be done."""
    if sys.stdin.isatty() and sys.stderr.isatty():
        if not click.confirm(f"{sentence}. Go on?", err=True):
            raise CommandFailed("nothing was changed")
    elif asks_pipes:
        raise CommandFailed(f"{sentence}: say --yes")


class Listing(click.Group):
    """A command with commands below it, which help shows in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class Noun(Listing):
    """What commands are about, such as `token`. Options that all its commands share can also stand before the verb."""

    def __init__(self, name: str, text: str, *actions: Action, shared: Sequence[click.Option] = ()) -> None:
        about = f"{text[0].upper()}{text[1:]}."
        params = [_before_the_verb(option) for option in shared]
        super().__init__(name, {each.name or "": each for each in actions}, params=params, help=about, short_help=text)
        self.context_settings = HELP
        for each in actions:
            each.params[:0] = shared

    def invoke(self, ctx: click.Context) -> object:
        given = {name: value for name, value in ctx.params.items() if value}
        ctx.default_map = dict.fromkeys(self.commands, given)
        return super().invoke(ctx)


class LaterNoun(Noun):
    """A noun whose commands are the `ACTIONS` of a module, loaded when one of them is asked for."""

    def __init__(self, name: str, text: str, module: str) -> None:
        super().__init__(name, text)
        del self.commands
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name != "commands":
            raise AttributeError(name)
        self.commands = {each.name or "": each for each in import_module(self._module).ACTIONS}
        return self.commands


def option(
    name: str,
    text: str,
    *,
    kind: click.ParamType[Any, Any] | None = None,
    choices: Iterable[str] = (),
    several: bool = False,
    short: str = "",
    into: str = "",
    **more: Any,
) -> click.Option:
    """An option with a value; `several` can be given again and again. `into` is the attribute of its value, if that has
    another name."""
    listed = tuple(choices)
    names = [each for each in (into, short, name) if each]
    return click.Option(names, help=text, type=click.Choice(listed) if listed else kind, multiple=several, **more)


def flag(name: str, text: str) -> click.Option:
    """An option without a value."""
    return click.Option([name], help=text, is_flag=True)


def argument(
    name: str,
    text: str,
    *,
    metavar: str | None = None,
    kind: click.ParamType[Any, Any] | None = None,
    choices: Iterable[str] = (),
    several: bool = False,
    required: bool = True,
) -> click.Argument:
    """A value that has no name of an option."""
    listed = tuple(choices)
    return click.Argument(
        [name],
        help=text,
        metavar=metavar or (None if listed else name.upper()),
        type=click.Choice(listed) if listed else kind,
        nargs=-1 if several else 1,
        required=required,
    )


def this(
    noun: str, name: str, text: str, *, metavar: str = "UUID", kind: click.ParamType[Any, Any] | None = None
) -> OneOf:
    """The one record that a command of its noun is about, as an argument; the option of former versions goes on."""
    given = option(name, "the same", metavar=metavar, kind=kind)
    return OneOf(
        argument(f"{THIS}{given.name}", text, metavar=noun.upper(), kind=kind, required=False), given, required=True
    )


def text_or_file(name: str, text: str, *, required: bool = False, metavar: str | None = None, **more: Any) -> OneOf:
    """An option, and one with `-file` at the end for a text that is or contains a secret: everybody who lists the
    processes sees arguments."""
    from_file = "the same from a file, or from standard input for -, if it contains a secret"
    return OneOf(
        option(name, text, metavar=metavar, **more),
        option(f"{name}-file", from_file, metavar="FILE"),
        required=required,
    )


def limit(listed: int = LISTED) -> click.Option:
    """How many records a list shows."""
    return option("--limit", f"how many; default: {listed}", kind=WholeNumber(1, MOST_LISTED), default=listed)


class WorkspaceOption(click.Option):
    """An option that is also read from the environment or a file `.env`, as settings are."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        found = super().resolve_envvar_value(ctx)
        if found or not Path(".env").is_file():
            return found
        from relayboard.base.settings import read_env_file  # noqa: PLC0415  # it takes longer than wrong usage

        return read_env_file().get(WORKSPACE_VARIABLE) or None

    def process_value(self, ctx: click.Context, value: object) -> object:
        """Says which variable with a typing error was meant to name the workspace."""
        if isinstance(ctx.params.get(f"{THIS}{WORKSPACE}"), str):
            return None
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            raise click.MissingParameter(_find_meant(), ctx=ctx, param=self) from error


def _find_meant() -> str:
    from relayboard.base import settings  # noqa: PLC0415  # as above

    try:
        unknown = settings.list_unknown_names(settings.read_environment())
    except settings.SettingError as error:
        return str(error)
    return " ".join(each for each in unknown if each.endswith(f"did you mean {WORKSPACE_VARIABLE}?"))


def this_workspace() -> OneOf:
    """The workspace that a command is about: an argument, the option, or what the environment says."""
    text = "the UUID or the name of the workspace"
    return OneOf(argument(f"{THIS}{WORKSPACE}", text, metavar="WORKSPACE", required=False), workspace())


def workspace() -> click.Option:
    """The workspace option, which nearly every command needs."""
    return WorkspaceOption(
        ["--workspace"],
        help=f"the workspace, by its UUID or name; default: {WORKSPACE_VARIABLE}",
        metavar="UUID",
        required=True,
        envvar=WORKSPACE_VARIABLE,
    )


def _is_given(context: click.Context, param: click.Parameter) -> bool:
    source = context.get_parameter_source(param.name or "")
    return source is click.core.ParameterSource.COMMANDLINE


def _before_the_verb(given: click.Option) -> click.Option:
    """The same option, which the command may still demand."""
    return click.Option(
        [*given.opts], help=given.help, metavar=given.metavar, type=given.type, is_flag=given.is_flag, default=None
    )


def _flat(parts: Iterable[Part]) -> Iterator[click.Parameter | OneOf]:
    for each in parts:
        if isinstance(each, click.Parameter | OneOf):
            yield each
        else:
            yield from _flat(each)
