"""How workspaces, users, tokens and secrets are called."""

from pathlib import Path

import click

from relayboard.usage.parts import Action, Noun, OneOf, argument, flag, option, this, this_workspace, workspace
from relayboard.usage.values import (
    AREAS,
    AUDIT_ACTIONS,
    AUDIT_RESOURCES,
    DATE_STYLES,
    NUMBER_FORMATS,
    ROLES,
    SCOPES,
    Given,
    Moment,
    NewFile,
    WholeNumber,
)

FILE = click.Path(path_type=Path)
ID = "5d08d385-c3f4-42a8-9520-82bcd6019312"
IN = f"--workspace {ID}"


def user() -> OneOf:
    return this("user", "--email", "the e-mail address, UUID or name of the user", metavar="EMAIL")


WORKSPACE = Noun(
    "workspace",
    "create, list, show and change workspaces",
    Action(
        "create",
        "workspaces.run_create",
        "a new workspace",
        option("--name", "its name", required=True),
        option("--country", "two letters, for example RW; default: the country of the time zone", default=""),
        option("--timezone", "IANA name, for example Africa/Kigali; default: UTC", default="UTC"),
        option("--language", "ISO 639-3 code; repeat, the default first", several=True),
        option("--date-style", "how dates are written; default: day_first", choices=DATE_STYLES, default="day_first"),
        option(
            "--number-format",
            "how numbers are written, by an example; default: as in its country",
            choices=NUMBER_FORMATS,
            default="by_country",
        ),
        flag("--anon", "an anonymous workspace: hide the URNs of contacts from API clients"),
        examples=("--name Clinics --country RW --timezone Africa/Kigali --language kin --language eng",),
    ),
    Action("list", "workspaces.run_list", "all workspaces"),
    Action(
        "export",
        "workspace_files.run_export",
        "write everything of a workspace into a file, with its media and archives",
        workspace(),
        argument("output", "the file to make; secrets of channels are in it", metavar="FILE", kind=NewFile()),
        examples=(f"{IN} clinics.zip",),
    ),
    Action(
        "import",
        "workspace_files.run_import",
        "bring in a workspace that another installation has exported",
        argument("file", "what `relayboard workspace export` has written", metavar="FILE", kind=FILE),
        more="The workspace keeps its UUID and those of its records. API tokens and passwords are not in the file.",
        examples=("clinics.zip",),
    ),
    Action("show", "workspaces.run_show", "one workspace", this_workspace(), examples=(IN, "'Clinics of the north'")),
    Action(
        "change",
        "workspaces.run_change",
        "change the properties of a workspace",
        this_workspace(),
        option("--name", "the new name"),
        option("--country", "two letters, for example RW; an empty text for none"),
        option("--timezone", "IANA name, for example Africa/Kigali"),
        option("--language", "ISO 639-3 code; repeat, the default first; replaces all", several=True),
        option("--date-style", "how dates are written", choices=DATE_STYLES),
        option(
            "--answer-limit", "automatic answers to one contact in five minutes; 0: no limit", kind=WholeNumber(0, 1000)
        ),
        option("--number-format", "how numbers are written, by an example", choices=NUMBER_FORMATS),
        option(
            "--origin",
            "origin of pages that may call the API; repeat; replaces all, '' for none",
            several=True,
            metavar="URL",
        ),
        option("--anon", "whether the URNs of contacts are hidden from API clients", choices=("yes", "no")),
        more="What is not given stays as it is. With another time zone, date style or number format, smart groups and "
        "the times of campaigns are worked out again; the next time of a schedule stays, and those after it follow the "
        "new zone.",
        examples=(f"{IN} --name 'Clinics of the north' --timezone Africa/Kigali",),
    ),
)
USER = Noun(
    "user",
    "users and their roles",
    Action(
        "create",
        "users.run_create",
        "give a user a role in a workspace",
        workspace(),
        option("--email", "the user's e-mail address", required=True),
        option("--first-name", "used only for a user who is new to this server", default=""),
        option("--last-name", "used only for a user who is new to this server", default=""),
        option("--role", "what the user may do", choices=ROLES, required=True),
        more="Somebody new has no password yet: `relayboard user password` sets one, to sign in to the console with.",
        examples=(f"{IN} --email ann@example.org --role editor --first-name Ann --last-name Lee",),
    ),
    Action(
        "list",
        "users.run_list",
        "the users of a workspace, the most recently joined first",
        workspace(),
        examples=(IN,),
    ),
    Action(
        "show",
        "users.run_show",
        "one user of a workspace",
        workspace(),
        user(),
        examples=(f"{IN} ann@example.org", f"{IN} 'Ann Lee'"),
    ),
    Action(
        "invite",
        "users.run_invite",
        "invite somebody to a workspace",
        workspace(),
        option("--email", "the person's e-mail address", required=True),
        option("--role", "what the user may do", choices=ROLES, required=True),
        option("--url", "the URL of the service for the link; default: RELAYBOARD_BASE_URL", default=""),
        more="Prints a link, and mails it if RELAYBOARD_SMTP_URL is set. It works once, for seven days.",
        examples=(f"{IN} --email ann@example.org --role editor",),
    ),
    Action(
        "password",
        "users.run_password",
        "set a user's password, and end the user's sessions",
        user(),
        flag("--drop-two-factor", "switch two-factor authentication off, for somebody who has lost the phone"),
        more="The password is asked for on a terminal, otherwise read from standard input.",
        examples=("ann@example.org", "ann@example.org < password.txt"),
        secret_from="type it when you are asked, or give it on standard input",
    ),
    Action(
        "change",
        "users.run_change",
        "give a user of a workspace another role",
        workspace(),
        user(),
        option("--role", "the new role", choices=ROLES, required=True),
        examples=(f"{IN} ann@example.org --role administrator",),
    ),
    Action(
        "remove",
        "users.run_remove",
        "remove a user from a workspace and revoke the user's tokens for it",
        workspace(),
        user(),
        destroys="{email} loses the role in this workspace and all tokens for it",
        asks_pipes=False,
        examples=(f"{IN} ann@example.org",),
    ),
)
TOKEN = Noun(
    "token",
    "API tokens",
    Action(
        "create",
        "tokens.run_create",
        "a new token, shown once",
        workspace(),
        option("--email", "its owner: a user of the workspace", required=True),
        option(
            "--scope",
            "what it may do; default: write, which includes read",
            choices=SCOPES,
            default="write",
        ),
        option("--name", "what it is for", default=""),
        OneOf(
            option("--days", "it expires after so many days", kind=WholeNumber(1, 36_500), metavar="N"),
            option("--expires", "it expires then, like 2027-05-04T08:00Z", kind=Moment(is_utc=True), metavar="TIME"),
        ),
        option("--area", "limit it to an area of the API; repeat for several", choices=AREAS, several=True),
        examples=(
            f"{IN} --email ann@example.org --scope read",
            f"{IN} --email ann@example.org --name 'Mirror of contacts' --days 90 --area contacts",
        ),
    ),
    Action(
        "list",
        "tokens.run_list",
        "the active tokens, without their secrets",
        workspace(),
        option("--email", "only those of this user"),
        examples=(IN, f"{IN} --email ann@example.org"),
    ),
    Action(
        "revoke",
        "tokens.run_revoke",
        "revoke a token, or all tokens of a user",
        workspace(),
        OneOf(
            argument(
                "token",
                "its public part, as `relayboard token list` shows it; - reads the whole token from standard input",
                metavar="PUBLIC",
                required=False,
            ),
            option("--email", "all tokens of this user"),
            required=True,
        ),
        destroys="what uses this token, or the tokens of this user, is refused from now on",
        asks_pipes=False,
        examples=(f"{IN} 3fW8cQ1z", f"{IN} - < token.txt", f"{IN} --email ann@example.org"),
    ),
)
INVITATION = Noun(
    "invitation",
    "people who may join a workspace",
    Action(
        "list",
        "users.run_list_invitations",
        "invitations that nobody has accepted yet",
        workspace(),
        examples=(IN,),
    ),
    Action(
        "withdraw",
        "users.run_withdraw",
        "delete an invitation",
        workspace(),
        argument("uuid", "the invitation, as `relayboard invitation list` names it", metavar="UUID"),
        examples=(f"{IN} {ID}",),
    ),
)
SESSION = Noun(
    "session",
    "browsers in which people are signed in",
    Action(
        "list",
        "users.run_list_sessions",
        "the browsers in which a user is signed in, newest first",
        option("--email", "the user's e-mail address", required=True),
        examples=("--email ann@example.org",),
    ),
    Action(
        "end",
        "users.run_end",
        "end all sessions of a user, or one",
        option("--email", "the user's e-mail address; not needed for one session"),
        OneOf(
            argument(
                "this_session",
                "only this one, as `relayboard session list` names it",
                kind=Given(),
                metavar="SESSION",
                required=False,
            ),
            option("--session", "the same", kind=Given(), metavar="UUID"),
        ),
        examples=("--email ann@example.org", ID),
    ),
)
AUDIT = Noun(
    "audit",
    "the audit log",
    Action(
        "list",
        "audits.run_list",
        "who changed what in a workspace, newest first",
        workspace(),
        option(
            "--resource",
            "only changes of this resource, such as users or tokens",
            choices=AUDIT_RESOURCES,
            metavar="RESOURCE",
        ),
        option("--action", "only this kind of change", choices=AUDIT_ACTIONS, into="done"),
        option("--user", "only changes by this user"),
        option("--after", "only changes from this time on", kind=Moment(is_utc=True), metavar="TIME"),
        option("--before", "only changes up to this time", kind=Moment(is_utc=True), metavar="TIME"),
        option("--limit", "how many at most; default: 100", kind=WholeNumber(1, 100_000), default=100, metavar="N"),
        examples=(IN, f"{IN} --resource tokens --after 2026-05-04"),
    ),
)
SECRETS = Noun(
    "secrets",
    "the encrypted secrets in the database",
    Action(
        "renew",
        "processes.run_renew",
        "encrypt all with the current RELAYBOARD_SECRET_KEY",
        flag(
            "--drop-unreadable",
            "delete those whose key is lost: set up phones, webhooks, gateways and second factors again",
        ),
        destroys="secrets whose key is lost are deleted, and what they belong to must be set up again",
        destroys_with="drop_unreadable",
        asks_pipes=False,
        examples=("", "--drop-unreadable --yes"),
    ),
)
ALL = (WORKSPACE, USER, INVITATION, SESSION, TOKEN, AUDIT, SECRETS)
