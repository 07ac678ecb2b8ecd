"""How data goes in and out: imports and exports of contacts and other records."""

from pathlib import Path

import click

from relayboard.usage.parts import Action, Noun, argument, flag, limit, option, workspace
from relayboard.usage.people import ID, IN
from relayboard.usage.values import Moment, NewFile

EXPORT_TYPES = ("contacts", "messages", "runs", "tickets")
FOLDERS = ("inbox", "flows", "archived", "outbox", "incoming", "sent", "failed")
FILE = click.Path(path_type=Path)
ENCODINGS = (
    *("utf-8", "utf-16", "cp1252", "cp1250", "cp1254", "cp1257", "mac_roman", "cp850", "cp1251", "koi8-r"),
    *("iso-8859-5", "cp866", "cp1253", "cp1255", "cp1256", "cp874", "gb18030", "big5", "cp949", "cp932"),
    *("euc-jp", "iso-8859-2", "iso-8859-7", "koi8-u", "cp1258"),
)

CONTACT_IMPORT = Action(
    "import",
    "contact_imports.run_import",
    "create and change contacts from a file",
    argument("file", "a workbook or a CSV file, whose first row names the columns", metavar="FILE", kind=FILE),
    workspace(),
    option(
        "--map",
        "what a column means; repeat. uuid, name, first_name, last_name, language, urn:SCHEME, field:KEY, "
        "new:NAME[:TYPE] or ignore; #3 is the third column; default: guessed from header and values",
        several=True,
        metavar="HEADER=TARGET",
        into="targets",
    ),
    option("--group", "add them to this group, by UUID or name"),
    flag("--new-fields", "make a field of each column that is not known, of the type of its values"),
    option("--encoding", "encoding of a CSV file; default: guessed", choices=ENCODINGS),
    option(
        "--dates",
        "the order of days and months; default: what the values say, or that of the workspace",
        choices=("day_first", "month_first", "year_first"),
        into="date_style",
    ),
    option(
        "--decimal",
        "the sign before decimals; default: what the values say, or that of the workspace",
        choices=(".", ","),
        into="decimal_sign",
    ),
    option(
        "--unread",
        "values that are not understood are kept as texts, reject their row, or refuse the file; default: keep",
        choices=("keep", "reject", "refuse"),
    ),
    flag("--dry-run", "show what the columns mean, and which rows would be rejected; change nothing"),
    option("--output", "the file to which rejected rows are written", kind=NewFile(), metavar="FILE"),
    more=(
        "Rows change the contact with their UUID or one of their URNs, otherwise they create one. An empty cell "
        "changes nothing, -- clears. After an interruption a worker does the rest."
    ),
    examples=(
        f"people.csv {IN} --dry-run",
        f"people.xlsx {IN} --group Mothers --map 'Mobile 2=urn:tel' --map 'Due=new:Due Date:datetime'",
    ),
)
CONTACT_IMPORTS = Action(
    "imports",
    "contact_imports.run_list",
    "imports of contacts and how far they are, the newest first",
    workspace(),
    limit(),
    examples=(IN,),
)
CONTACT_CANCEL = Action(
    "cancel-import",
    "contact_imports.run_cancel",
    "stop an import that is not finished",
    argument("uuid", "the import, as `relayboard contact imports` names it", metavar="UUID"),
    workspace(),
    more="Contacts that it has written stay. A worker writes the file of rejected rows.",
    examples=(f"{ID} {IN}",),
)
CONTACT_TAKE_BACK = Action(
    "take-back-import",
    "contact_imports.run_take_back",
    "delete what an import created and give back what it changed, where nobody has touched it since",
    argument("uuid", "the import, as `relayboard contact imports` names it", metavar="UUID"),
    workspace(),
    flag("--dry-run", "show how many contacts would be removed, restored and kept; change nothing"),
    flag("--yes", "do it without being asked"),
    more=(
        "It can be taken back as long as it is listed. Fields that it made stay. A worker goes on after an "
        "interruption."
    ),
    examples=(f"{ID} {IN} --dry-run", f"{ID} {IN} --yes"),
)
CONTACT_COPY = Action(
    "copy",
    "contacts.run_copy",
    "write everything that is stored about a contact into a ZIP file",
    argument("contact", "the UUID or the URN of the contact"),
    workspace(),
    option("--output", "the file to make", kind=NewFile(), metavar="FILE", required=True),
    examples=(f"{ID} {IN} --output amina.zip",),
)
CONTACT_ERASE = Action(
    "erase",
    "contacts.run_erase",
    "erase a contact for good, also from archives, deliveries and the files of the database",
    argument("contact", "the UUID or the URN of the contact"),
    workspace(),
    more=(
        "Rewrites the files of the database at the end, whatever their size: on SQLite writers wait for it, on "
        "PostgreSQL those who use the table that is rewritten. Backups that were made before still hold the contact."
    ),
    destroys="everything about {contact} is erased, which cannot be undone",
    examples=(f"{ID} {IN} --yes",),
)
CONTACT_DATA = (CONTACT_IMPORT, CONTACT_IMPORTS, CONTACT_CANCEL, CONTACT_TAKE_BACK, CONTACT_COPY, CONTACT_ERASE)
EXPORT = Action(
    "export",
    "exports.run_export",
    "write a list of a workspace into a file",
    argument(
        "output", "the file to make, whose end says the format: .xlsx, .csv or .jsonl", metavar="FILE", kind=NewFile()
    ),
    workspace(),
    option("--type", "the records; default: contacts", choices=EXPORT_TYPES, default="contacts"),
    option("--query", "contacts: only those that match", metavar="Q"),
    option("--group", "contacts: only the members of this group, by UUID or name"),
    option("--folder", "messages: only those of this folder", choices=FOLDERS),
    option("--flow", "runs: only those of this flow", metavar="UUID"),
    option("--after", "only records from this time on", kind=Moment(is_utc=True), metavar="TIME"),
    option("--before", "only records up to this time", kind=Moment(is_utc=True), metavar="TIME"),
    examples=(f"mothers.xlsx {IN} --group Mothers", f"runs.csv {IN} --type runs --after 2026-03-01"),
)
ARCHIVE = Noun(
    "archive",
    "old messages and runs in files",
    Action(
        "import",
        "archives.run_import",
        "bring in messages and runs from archives, this service's or those of another server",
        workspace(),
        argument("file", "an archive of a day or month: JSON Lines with gzip", metavar="FILE", kind=FILE, several=True),
        more=(
            "Contacts are found by UUID or URN, or created. Records that are here already are left out, so the same "
            "files can be imported again after an interruption. Nothing is sent, and no flow starts."
        ),
        examples=(f"{IN} 2025-11-message.jsonl.gz 2025-11-run.jsonl.gz",),
    ),
)
ALL = (EXPORT, ARCHIVE)
