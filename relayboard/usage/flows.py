"""How flows, triggers and starts are called."""

from pathlib import Path

import click

from relayboard.usage.parts import Action, Noun, OneOf, argument, flag, option, this, workspace
from relayboard.usage.people import ID, IN
from relayboard.usage.records import showing
from relayboard.usage.values import DEPENDENCIES, KEYWORD_MATCHES, REPEATS, TRIGGER_TYPES, FileOrOutput, Given, Moment

FILE = click.Path(path_type=Path)
THIS = f"{IN} --flow {ID}"
TRIAL = (
    "Type to answer. /timeout makes the wait time out, /expire makes it expire, /callback is what another system "
    "sends, /quit leaves. Nothing is sent, and no webhook, e-mail or other service is called: what needs one takes its "
    "failure path."
)
TRANSLATED = (
    "Translations that the file lacks stay. Left out is a translation of a text that the flow does not have any more "
    "or that has changed since, one whose expressions differ, and one that is marked as fuzzy: then the exit status is "
    "1."
)
TESTED = (
    "A test says what somebody writes, what the flow must answer, and how it must end. The exit status is 1 if one "
    "fails, or if there is none. Without files those of the workspace are played. Nothing is stored, sent or called."
)


def flow() -> click.Option:
    return option("--flow", "the flow, as `relayboard flow list` names it", required=True, metavar="UUID")


def this_flow() -> OneOf:
    return this("flow", "--flow", "the UUID or the name of the flow")


def language() -> click.Option:
    return option("--language", "the language to translate to, three small letters", required=True, metavar="CODE")


def file() -> click.Argument:
    return argument("file", "a definition or an export file, or a folder of flows", kind=FILE)


def flow_of_file() -> click.Option:
    return option("--flow", "name or UUID of the flow; default: the first flow of the file", metavar="NAME")


FLOW = Noun(
    "flow",
    "import, list, label, archive, run, check, test and draw flows",
    Action(
        "import",
        "flows.run_import",
        "import an export file; existing records are updated",
        workspace(),
        option("--media-url", "base URL of attachments in old files", default="", metavar="URL"),
        argument("file", "an export file, as JSON or YAML, or a folder that `flow export` wrote", kind=FILE),
        examples=(f"{IN} registration.json", f"{IN} flows"),
    ),
    Action(
        "export",
        "flows.run_export",
        "write flows and what they need as an export file",
        workspace(),
        option("--flow", "a flow; repeat; default: all", several=True, metavar="UUID"),
        option("--campaign", "a campaign; repeat", several=True, metavar="UUID"),
        option(
            "--dependencies",
            "what else to include: other flows and triggers, also campaigns (all, the default), or nothing",
            choices=DEPENDENCIES,
            default="all",
        ),
        option("--output", "the file to write; default: stdout", short="-o", kind=FileOrOutput(), metavar="FILE"),
        option("--folder", "write a folder instead, with a YAML file for each flow", kind=Given()),
        examples=(f"{IN} -o everything.json", f"{IN} --folder flows", f"{THIS} --dependencies none"),
        is_table=False,
    ),
    Action("list", "flows.run_list", "the flows of a workspace", workspace(), examples=(IN,)),
    showing("flow"),
    Action(
        "archive",
        "flows.run_archive",
        "archive a flow and interrupt the contacts in it",
        workspace(),
        this_flow(),
        destroys="the flow {flow} is archived, and the contacts in it are interrupted",
        asks_pipes=False,
        examples=(f"{IN} {ID}", f"{IN} Registration"),
    ),
    Action(
        "change",
        "flows.run_change",
        "settings of a flow that are not in its definition",
        workspace(),
        this_flow(),
        option(
            "--ignore-triggers",
            "keywords do not start other flows while a contact is in this flow",
            choices=("yes", "no"),
            required=True,
        ),
        examples=(f"{IN} {ID} --ignore-triggers yes",),
    ),
    Action(
        "label",
        "flows.run_label",
        "label a flow",
        workspace(),
        this_flow(),
        option("--name", "the label; created if it is new", required=True),
        flag("--remove", "remove the label"),
        examples=(f"{IN} {ID} --name Health",),
    ),
    Action(
        "run",
        "flows.run_run",
        "run a flow of a file in the terminal",
        file(),
        flow_of_file(),
        option("--workspace", "use its fields, groups, globals and formats; changes nothing", metavar="UUID"),
        option("--contact", 'like {"name": "Bob", "fields": {"age": "27"}}', default="{}", metavar="JSON"),
        option("--params", "@trigger.params of the start", default="{}", metavar="JSON"),
        flag("--json", "print the events as JSON, one per line"),
        more=TRIAL,
        examples=("registration.json", """registration.json --contact '{"name": "Bob"}'"""),
    ),
    Action(
        "check",
        "flows.run_check",
        "show the problems that an import of a file would report",
        file(),
        option("--workspace", "check against this workspace; changes nothing", metavar="UUID"),
        flag("--json", "print the issues as one JSON list"),
        more="Imports the file into a new workspace, or into the given one, and rolls the import back.",
        examples=("registration.json",),
    ),
    Action(
        "test",
        "flows.run_test",
        "play the tests of flows",
        argument(
            "files",
            "definitions, export files or folders; default: the workspace",
            kind=FILE,
            several=True,
            required=False,
        ),
        option("--workspace", "use its fields, groups, globals and formats; changes nothing", metavar="UUID"),
        flag("--json", "print the tests and what failed as one JSON list"),
        more=TESTED,
        examples=("flows", IN),
    ),
    Action(
        "draw",
        "flows.run_draw",
        "draw a flow of a file as SVG",
        file(),
        flow_of_file(),
        option("--output", "file to write; default: stdout", short="-o", kind=FileOrOutput(), metavar="OUT.svg"),
        examples=("registration.json --flow Welcome -o welcome.svg",),
        is_table=False,
    ),
    Action(
        "texts",
        "flows.run_texts",
        "write the texts of a flow of a file for translators",
        file(),
        language(),
        flow_of_file(),
        option(
            "--output",
            "PO file, CSV file or workbook to write; default: PO on stdout",
            short="-o",
            kind=FileOrOutput(),
            metavar="OUT.po",
        ),
        examples=("registration.json --language fra -o registration.fra.xlsx",),
        is_table=False,
    ),
    Action(
        "translate",
        "flows.run_translate",
        "put translations into a flow of a file",
        file(),
        argument("translations", "a PO file, CSV file or workbook, as `flow texts` wrote it", kind=FILE),
        language(),
        flow_of_file(),
        option(
            "--output",
            "file to write; default: only say what would change",
            short="-o",
            kind=FileOrOutput(),
            metavar="OUT.json",
        ),
        more=TRANSLATED,
        examples=("registration.json registration.fra.po --language fra -o translated.json",),
        is_table=False,
    ),
)
_CONDITIONS = (
    option("--keyword", "a word that starts the flow; repeat", several=True, metavar="K"),
    option("--channel", "only for messages and calls through this channel", metavar="UUID"),
    option(
        "--group",
        "only for contacts of this group, by UUID or name; a schedule starts its contacts; repeat",
        several=True,
    ),
    option("--exclude-group", "not for contacts of this group, by UUID or name; repeat", several=True),
    option("--contact", "another contact that a schedule starts; repeat", several=True, metavar="UUID"),
    option("--at", "first time of a schedule, like 2026-05-04T08:00", kind=Moment(), metavar="TIME"),
)
_TRIGGER = this("trigger", "--trigger", "as `relayboard trigger list` names it")
TRIGGER = Noun(
    "trigger",
    "create, change, list, show, archive and delete what starts flows",
    Action(
        "create",
        "triggers.run_create",
        "a new trigger",
        workspace(),
        option("--type", "the type of event that starts the flow", choices=TRIGGER_TYPES, required=True),
        option("--flow", "the flow to start", required=True, metavar="UUID"),
        *_CONDITIONS,
        option(
            "--match",
            "whether it must be the first or the only word; default: first",
            choices=KEYWORD_MATCHES,
            default="first",
        ),
        option("--repeat", "how often a schedule repeats; default: never", choices=REPEATS, default="never"),
        option("--days", "weekdays of a weekly schedule, letters of MTWRFSU, or the day of a monthly one", default=""),
        examples=(
            f"{THIS} --type keyword --keyword join",
            f"{THIS} --type schedule --at 2026-05-04T08:00 --repeat weekly --days MWF --group Mothers",
        ),
    ),
    Action(
        "change",
        "triggers.run_change",
        "change what is given of a trigger; lists are replaced",
        workspace(),
        _TRIGGER,
        option("--flow", "the flow to start", metavar="UUID"),
        *_CONDITIONS,
        option("--match", "whether it must be the first or the only word", choices=KEYWORD_MATCHES),
        option("--repeat", "how often a schedule repeats", choices=REPEATS),
        option("--days", "weekdays of a weekly schedule, letters of MTWRFSU"),
        examples=(f"{IN} {ID} --keyword join --keyword start",),
    ),
    Action("list", "triggers.run_list", "the triggers of a workspace", workspace(), examples=(IN,)),
    showing("trigger"),
    Action("archive", "triggers.run_archive", "archive a trigger", workspace(), _TRIGGER, examples=(f"{IN} {ID}",)),
    Action(
        "restore",
        "triggers.run_restore",
        "restore an archived trigger; a schedule leaves out the times that it missed",
        workspace(),
        _TRIGGER,
        examples=(f"{IN} {ID}",),
    ),
    Action(
        "delete",
        "triggers.run_delete",
        "delete a trigger",
        workspace(),
        _TRIGGER,
        destroys="the trigger {trigger} is deleted, which cannot be undone",
        examples=(f"{IN} {ID} --yes",),
    ),
)
START = Noun(
    "start",
    "start flows for many contacts, list and stop starts",
    Action(
        "create",
        "starts.run_create",
        "start a flow for contacts, groups and addresses",
        workspace(),
        flow(),
        option("--contact", "the UUID of a contact; repeat", several=True, metavar="UUID"),
        option("--group", "UUID or name of a group; repeat", several=True),
        option("--urn", "an address, like tel:+250788000111; repeat; a new contact if nobody has it", several=True),
        option("--query", "a query; the active contacts that match when the service finds them are started"),
        option("--params", "@trigger.params of the start", default="{}", metavar="JSON"),
        flag("--only-new", "leave out contacts that have been in the flow before"),
        flag("--not-busy", "leave out contacts that are in a flow now"),
        examples=(f"{THIS} --group Mothers", f"""{THIS} --urn tel:+250788000111 --params '{{"visit": 2}}'"""),
    ),
    Action("list", "starts.run_list", "the 250 most recently changed starts of users", workspace(), examples=(IN,)),
    showing("start"),
    Action(
        "interrupt",
        "starts.run_interrupt",
        "start no more contacts; contacts that were started continue, unless their runs are interrupted too",
        workspace(),
        this("start", "--start", "as `relayboard start list` names it"),
        flag("--runs", "also interrupt who is in a run of the start, which a worker does soon after"),
        destroys="contacts that the start {start} has not reached yet will not be started",
        asks_pipes=False,
        examples=(f"{IN} {ID}",),
    ),
)
ALL = (FLOW, TRIGGER, START)
