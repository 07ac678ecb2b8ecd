"""How the records that flows and messages use are called, and the actions that all records have."""

from pathlib import Path

import click

from relayboard.usage.parts import (
    Action,
    Noun,
    OneOf,
    Part,
    argument,
    flag,
    limit,
    option,
    text_or_file,
    this,
    workspace,
)
from relayboard.usage.people import ID, IN
from relayboard.usage.values import CLASSIFIERS, FIELD_ACCESSES, FIELD_TYPES, TEMPLATE_STATUSES, TICKETERS, WholeNumber

FILE = click.Path(path_type=Path)
SUBSCRIBER = WholeNumber(1)
MEDIA = Noun(
    "media",
    "uploaded files and the space that they use",
    Action(
        "list",
        "media.run_list",
        "the files, newest first, and how much of the quota they use",
        workspace(),
        examples=(IN,),
    ),
    Action(
        "delete",
        "media.run_delete",
        "delete files; messages keep their addresses, which lead nowhere then",
        workspace(),
        argument("media", "a file, as `relayboard media list` names it", metavar="UUID", several=True),
        destroys="the files are deleted, and messages that name them keep addresses that lead nowhere",
        asks_pipes=False,
        examples=(f"{IN} {ID}",),
    ),
)

NAMED = ("group", "label", "topic", "team", "optin", "ticketer", "classifier", "template", "campaign", "flow")


def subscriber() -> OneOf:
    text = "its id, as `relayboard resthook subscribers` shows it"
    return this("subscriber", "--subscriber", text, metavar="ID", kind=SUBSCRIBER)


def named(text: str) -> click.Option:
    return option("--name", text, required=True)


def listing(what: str, listed: int = 250) -> Action:
    return Action("list", "records.run_list", what, workspace(), limit(listed), examples=(IN,))


def called(noun: str) -> str:
    """What people call it."""
    return "opt-in" if noun == "optin" else noun


def a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {called(noun)}"


def record(noun: str, key: str) -> click.Argument:
    if noun in NAMED:
        return argument(key, f"the UUID or the name of the {called(noun)}", metavar=noun.upper())
    return argument(key, f"the {noun}, as `relayboard {noun} list` names it", metavar=key.upper())


def showing(noun: str, key: str = "uuid", example: str = ID) -> Action:
    return Action(
        "show", "records.run_show", f"one {called(noun)}", workspace(), record(noun, key), examples=(f"{IN} {example}",)
    )


def deletion(noun: str, what: str, key: str = "uuid", example: str = ID) -> Action:
    return Action(
        "delete",
        "records.run_delete",
        f"delete {a(noun)}",
        workspace(),
        record(noun, key),
        destroys=f"the {called(noun)} {{{key}}} is deleted{what}, which cannot be undone",
        examples=(f"{IN} {example} --yes",),
    )


FIELD = Noun(
    "field",
    "contact fields, and what agents may do with them",
    Action(
        "create",
        "records.run_create",
        "a new field",
        workspace(),
        named("the name; the key is derived from it"),
        option("--type", "the type of its values; default: text", choices=FIELD_TYPES, default="text"),
        option("--agents", "what agents may do with its values; default: view", choices=FIELD_ACCESSES, default="view"),
        examples=(f"{IN} --name 'Due Date' --type datetime",),
    ),
    Action(
        "access",
        "contacts.run_access",
        "what agents may do with a field",
        workspace(),
        this("field", "--key", "the key or the name of the field", metavar="FIELD"),
        option("--agents", "no access, read, or read and change", choices=FIELD_ACCESSES, required=True),
        examples=(f"{IN} due_date --agents none",),
    ),
    listing("the fields of contacts"),
    showing("field", "key", "due_date"),
    Action(
        "change",
        "records.run_change",
        "rename a field or change its type; the key stays",
        workspace(),
        record("field", "key"),
        option("--name", "the new name"),
        option("--type", "the new type of its values", choices=FIELD_TYPES),
        examples=(f"{IN} due_date --name 'Expected On' --type datetime",),
    ),
    deletion("field", " with its values in all contacts", "key", "due_date"),
)


def creation(text: str, *parts: Part, examples: tuple[str, ...]) -> Action:
    return Action("create", "records.run_create", text, workspace(), parts, examples=examples)


def renaming(noun: str) -> Action:
    return Action(
        "change",
        "records.run_change",
        f"rename {a(noun)}",
        workspace(),
        record(noun, "uuid"),
        named("the new name"),
        examples=(f"{IN} {ID} --name Others", f"{IN} Neighbors --name Others"),
    )


GROUP = Noun(
    "group",
    "groups of contacts",
    creation(
        "a new group",
        named("the name of the group"),
        option("--query", "a query for its members, which a worker finds: 'fields.age >= 18'", metavar="Q"),
        examples=(f"{IN} --name Mothers", f"{IN} --name Adults --query 'fields.age >= 18'"),
    ),
    listing("the groups of a workspace"),
    showing("group"),
    renaming("group"),
    deletion("group", ""),
)
LABEL = Noun(
    "label",
    "labels of messages",
    creation("a new label", named("the name of the label"), examples=(f"{IN} --name Urgent",)),
    listing("the labels of a workspace"),
    showing("label"),
    renaming("label"),
    deletion("label", " and taken off its messages"),
)
TOPIC = Noun(
    "topic",
    "topics of tickets",
    creation("a new topic", named("the name of the topic"), examples=(f"{IN} --name Billing",)),
    listing("the topics of a workspace"),
    showing("topic"),
    renaming("topic"),
    deletion("topic", ""),
)
TEAM_PARTS = (
    option("--topic", "a topic of the team; repeat", metavar="UUID", several=True),
    option("--member", "a user of the team; repeat", metavar="EMAIL", several=True),
    option("--in-turn", "are new tickets assigned in turn to who is there? default: no", choices=("yes", "no")),
)
TEAM = Noun(
    "team",
    "teams with their topics and users",
    creation(
        "a new team",
        named("the name of the team"),
        *TEAM_PARTS,
        examples=(f"{IN} --name 'Night shift' --topic Billing --member ann@example.org",),
    ),
    listing("the teams of a workspace"),
    showing("team"),
    Action(
        "change",
        "records.run_change",
        "rename a team, or replace its topics or users",
        workspace(),
        record("team", "uuid"),
        option("--name", "the new name"),
        *TEAM_PARTS,
        examples=(f"{IN} 'Night shift' --topic Billing --topic Delivery", f"{IN} {ID} --name Day"),
    ),
    deletion("team", " (its topics and users stay)"),
)
GLOBAL = Noun(
    "global",
    "values that flows share",
    creation(
        "a new global",
        named("the name; in flows it is @globals. followed by the name in lower case"),
        text_or_file("--value", "the value that flows insert", required=True),
        examples=(f"{IN} --name 'Clinic Phone' --value 112", f"{IN} --name 'Api Key' --value-file key.txt"),
    ),
    listing("the globals of a workspace"),
    showing("global", "key", "clinic_phone"),
    Action(
        "change",
        "records.run_change",
        "change the value of a global, or its name; the key stays",
        workspace(),
        record("global", "key"),
        option("--name", "the new name"),
        text_or_file("--value", "the new value"),
        examples=(f"{IN} clinic_phone --value 113",),
    ),
    deletion("global", "", "key", "clinic_phone"),
)
OPTIN = Noun(
    "optin",
    "subjects that contacts can agree to hear about",
    creation("a new opt-in", named("the name of the opt-in"), examples=(f"{IN} --name News",)),
    listing("the opt-ins of a workspace"),
    showing("optin"),
    renaming("optin"),
    deletion("optin", ""),
)


def service(choices: tuple[str, ...]) -> click.Option:
    return option("--type", "the service behind it", choices=choices, required=True)


TICKETER = Noun(
    "ticketer",
    "places where tickets are kept",
    creation(
        "a new ticketer",
        named("the name of the ticketer"),
        service(TICKETERS),
        examples=(f"{IN} --name Desk --type zendesk",),
    ),
    listing("the ticketers of a workspace"),
    showing("ticketer"),
    renaming("ticketer"),
)
CLASSIFIER = Noun(
    "classifier",
    "services that find intents",
    creation(
        "a new classifier",
        named("the name of the classifier"),
        service(CLASSIFIERS),
        option("--intent", "repeat for each intent that it knows", several=True),
        examples=(f"{IN} --name Booking --type wit --intent book --intent cancel",),
    ),
    listing("the classifiers of a workspace"),
    showing("classifier"),
    Action(
        "change",
        "records.run_change",
        "rename a classifier, or change the intents that it knows",
        workspace(),
        record("classifier", "uuid"),
        option("--name", "the new name"),
        option("--intent", "repeat for each intent that it knows; replaces all", several=True),
        examples=(f"{IN} {ID} --intent book --intent cancel --intent move",),
    ),
)
TEMPLATE = Noun(
    "template",
    "texts that a gateway approved in advance",
    creation(
        "a new template, or another translation of an existing one",
        named("its name at the gateway"),
        option("--channel", "the channel for which it is approved", required=True, metavar="UUID"),
        option("--locale", "language and country, for example swa-KE", required=True),
        option("--content", "text with variables {{1}}, {{2}}, ...", required=True),
        option("--namespace", "its namespace at the gateway, if there is one", default=""),
        option(
            "--status",
            f"default: {TEMPLATE_STATUSES[0]}",
            choices=TEMPLATE_STATUSES,
            default=TEMPLATE_STATUSES[0],
        ),
        examples=(f"{IN} --name reminder --channel {ID} --locale swa-KE --content 'Karibu {{{{1}}}}'",),
    ),
    listing("the templates of a workspace"),
    showing("template"),
)
CAMPAIGN = Noun(
    "campaign",
    "campaigns; their events are made by the API or by an import",
    Action(
        "create",
        "records.run_create",
        "a new campaign, without events",
        workspace(),
        named("the name of the campaign"),
        option("--group", "its contacts: UUID or name of a group", required=True),
        examples=(f"{IN} --name 'Antenatal care' --group Mothers",),
    ),
    Action(
        "list",
        "campaigns.run_list",
        "the campaigns of a workspace that are not archived",
        workspace(),
        examples=(IN,),
    ),
    Action(
        "archive",
        "campaigns.run_archive",
        "archive a campaign: its events no longer fire, and its group can be deleted",
        this("campaign", "--campaign", "the UUID or the name of the campaign"),
        destroys="the campaign {campaign} is archived, and its events no longer fire",
        asks_pipes=False,
        examples=(ID, "'Antenatal care'"),
    ),
    Action(
        "restore",
        "campaigns.run_restore",
        "restore an archived campaign: its events are scheduled anew, for times from now on",
        this("campaign", "--campaign", "the UUID of the campaign"),
        option("--group", "another group, needed if its own was deleted: UUID or name"),
        examples=(ID, f"{ID} --group Mothers"),
    ),
    showing("campaign"),
    Action(
        "change",
        "records.run_change",
        "rename a campaign, or give it another group",
        workspace(),
        record("campaign", "uuid"),
        option("--name", "the new name"),
        option("--group", "UUID or name of the new group, for which all times are worked out again"),
        examples=(f"{IN} {ID} --group 'New mothers'",),
    ),
)
RESTHOOK = Noun(
    "resthook",
    "resthooks and their subscribers",
    Action(
        "create",
        "resthooks.run_create",
        "a new resthook; an existing one is shown",
        workspace(),
        option("--slug", "letters, digits, hyphens and underscores", required=True),
        examples=(f"{IN} --slug new-birth",),
    ),
    Action(
        "subscribers",
        "resthooks.run_subscribers",
        "the subscribers, and which were switched off after failing for long",
        workspace(),
        examples=(IN,),
    ),
    Action(
        "secret",
        "resthooks.run_secret",
        "show the secret that signs calls to a subscriber",
        workspace(),
        subscriber(),
        flag("--rotate", "a new secret; for a day requests are also signed with the old one"),
        examples=(f"{IN} 7 --rotate",),
    ),
    Action(
        "switch-on",
        "resthooks.run_switch_on",
        "switch on a subscriber that was switched off after failing for long",
        workspace(),
        subscriber(),
        examples=(f"{IN} 7",),
    ),
    listing("the resthooks of a workspace"),
    showing("resthook", "slug", "new-birth"),
    deletion("resthook", " with its events", "slug", "new-birth"),
)
TICKET = Noun(
    "ticket",
    "list, open, assign, move, close and reopen tickets",
    *(
        Action(
            verb,
            "tickets.run_open",
            text,
            workspace(),
            option("--contact", "the contact of the ticket", required=True, metavar="UUID"),
            option("--topic", "default: General", metavar="UUID"),
            option("--assignee", "the user to whom it is assigned", metavar="EMAIL"),
            option("--note", "a first note"),
            examples=(f"{IN} --contact {ID} --assignee ann@example.org --note 'Please call back'",),
        )
        for verb, text in (
            ("create", "a new ticket of a contact that has no open one"),
            ("open", "the same as `ticket create`"),
        )
    ),
    listing("tickets, the most recently changed first", 50),
    showing("ticket"),
    Action(
        "change",
        "records.run_change",
        "assign, move, close or reopen a ticket",
        workspace(),
        record("ticket", "uuid"),
        OneOf(
            option("--assignee", "the user to whom it is assigned", metavar="EMAIL"),
            flag("--unassign", "assign it to nobody"),
        ),
        option("--topic", "the topic to which it moves", metavar="UUID"),
        option("--status", "closing may start flows", choices=("open", "closed")),
        examples=(f"{IN} {ID} --assignee ann@example.org", f"{IN} {ID} --status closed"),
    ),
)
BOUNDARIES = Noun(
    "boundaries",
    "countries, states, districts and wards",
    Action(
        "import",
        "boundaries.run_import",
        "store the boundaries of a GeoJSON file, for all workspaces",
        argument("file", "a GeoJSON file", kind=FILE),
        option("--country", "two-letter code of a country that has none in the file"),
        more="The file is a FeatureCollection. The properties of each feature are osm_id, name (or name_en), the "
        "osm_id of its parent as parent_osm_id, parent_id, is_in_state or is_in_country, and for a country its code "
        "as country, iso_a2 or ISO3166-1. Parents are in the same file or were imported before.",
        examples=("rwanda.geojson --country RW",),
    ),
    Action(
        "alias",
        "boundaries.run_alias",
        "another name of a boundary in a workspace",
        workspace(),
        this("boundary", "--boundary", "as the API names it, for example R171496", metavar="OSM_ID"),
        named("the other name"),
        flag("--remove", "remove the name"),
        examples=(f"{IN} R171496 --name Urwanda",),
    ),
)
ALL = (
    FIELD,
    GROUP,
    LABEL,
    TOPIC,
    TEAM,
    GLOBAL,
    OPTIN,
    TICKETER,
    CLASSIFIER,
    TEMPLATE,
    MEDIA,
    CAMPAIGN,
    RESTHOOK,
    TICKET,
    BOUNDARIES,
)
