"""How contacts, messages and broadcasts are called."""

import click

from relayboard.usage.data import CONTACT_DATA, FOLDERS
from relayboard.usage.parts import Action, Noun, OneOf, argument, flag, limit, option, workspace
from relayboard.usage.people import ID, IN
from relayboard.usage.records import deletion, record, showing
from relayboard.usage.values import DOUBLES, REPEATS, Moment, WholeNumber

NUMBER = "tel:+250788000111"


def contact() -> click.Argument:
    return argument("contact", "the UUID or the URN of the contact")


def properties(action: str) -> list[click.Option]:
    return [
        option("--name", f"the name{action}"),
        option("--language", f"ISO 639-3 code{action}"),
        option("--urn", "an address, like tel:+250788000111; repeat, the preferred one first", several=True),
        option("--group", "UUID or name of a group; repeat", several=True),
        option(
            "--field",
            "the value of a field; repeat; nothing behind the sign clears it",
            several=True,
            metavar="KEY=VALUE",
        ),
    ]


CONTACT = Noun(
    "contact",
    "find, create, change and delete contacts",
    Action(
        "list",
        "contacts.run_list",
        "contacts, the most recently changed first",
        workspace(),
        option("--query", "only those that match: 'fields.age >= 18 AND group = \"Mothers\"'", metavar="Q"),
        option("--group", "only the members of this group, by UUID or name"),
        limit(),
        examples=(IN, f"{IN} --query 'name ~ \"ann\"' --limit 10"),
    ),
    Action("show", "contacts.run_show", "one contact", workspace(), contact(), examples=(f"{IN} {NUMBER}",)),
    Action(
        "renumber",
        "contacts.run_renumber",
        "give contacts the new numbers of a changed numbering plan; without --apply only tell what would be done",
        workspace(),
        option("--old", "how the old numbers begin", required=True, metavar="+229"),
        option("--new", "how the new ones begin", required=True, metavar="+22901"),
        option("--country", "two letters; only if the new number belongs to this country", default=""),
        flag("--apply", "change the numbers"),
        more="Numbers whose new form would not be possible stay, and so do those whose new form another contact has: "
        "`contact doubles` lists such contacts. To run it again changes nothing more.",
        examples=(f"{IN} --old +229 --new +22901 --country BJ",),
    ),
    Action(
        "doubles",
        "contacts.run_doubles",
        "contacts who are probably one person: with an old and a new form of a number, or with one number twice",
        workspace(),
        option("--kind", "only pairs of this kind; default: both", choices=DOUBLES),
        flag("--merge", "merge all pairs: the second contact of each becomes a part of the first"),
        limit(),
        more="`old_number`: one has an old form of a number (Mexico, Benin, Brazil, India), the other the new one. "
        "`two_schemes`: they have one number under `tel` and `whatsapp`. Look at the list before you merge.",
        destroys="This merges all probable doubles of workspace {workspace}, which cannot be undone",
        destroys_with="merge",
        examples=(IN, f"{IN} --kind old_number --merge --yes"),
    ),
    Action(
        "create",
        "contacts.run_create",
        "a new contact",
        workspace(),
        properties(""),
        examples=(f"{IN} --name 'Ann Lee' --urn {NUMBER} --language eng --group Mothers --field age=27",),
    ),
    Action(
        "change",
        "contacts.run_change",
        "change a contact",
        workspace(),
        contact(),
        properties("; an empty text clears it"),
        more="What is not given stays as it is. Addresses and groups that are given replace all that the contact has.",
        examples=(f"{IN} {NUMBER} --name 'Ann Li' --field age=28",),
    ),
    Action(
        "delete",
        "contacts.run_delete",
        "delete contacts and their messages",
        workspace(),
        argument("contact", "the UUID or the URN of a contact", several=True),
        destroys="these contacts and all their messages are deleted, which cannot be undone",
        examples=(f"{IN} {ID} --yes",),
    ),
    Action(
        "answer",
        "contacts.run_answer",
        "let contacts have automatic answers again that were stopped as a circle",
        workspace(),
        argument("contact", "the UUID or the URN of a contact", several=True),
        examples=(f"{IN} {NUMBER}",),
    ),
    *CONTACT_DATA,
)
MESSAGE = Noun(
    "message",
    "list and send messages",
    Action(
        "list",
        "sending.run_list",
        "messages, the newest first",
        workspace(),
        option("--folder", "only those of this folder", choices=FOLDERS),
        option("--contact", "only those of this contact, by UUID", metavar="UUID"),
        option("--broadcast", "only those of this broadcast, by UUID", metavar="UUID"),
        limit(),
        examples=(f"{IN} --folder inbox --limit 10",),
    ),
    showing("message"),
    Action(
        "send",
        "sending.run_send",
        "send a message to one contact",
        workspace(),
        option("--contact", "the UUID or the URN of the contact", required=True),
        option("--text", "the text"),
        option("--attachment", "UUID of an uploaded file; repeat", several=True, metavar="UUID"),
        examples=(f"{IN} --contact {NUMBER} --text 'The clinic is open.'",),
    ),
    Action(
        "resend",
        "sending.run_resend",
        "send messages again that failed, or of which it is uncertain whether they were sent",
        workspace(),
        argument("message", "the UUID of a message", several=True),
        more="Each is sent as a new message, by the best channel now. A message is sent again once.",
        examples=(f"{IN} {ID}",),
    ),
)
BROADCAST = Noun(
    "broadcast",
    "list, send and stop messages to many",
    Action(
        "list",
        "broadcasts.run_list",
        "broadcasts, the newest first",
        workspace(),
        OneOf(
            flag("--scheduled", "only those that wait for their time, or were stopped before it; the others otherwise"),
            flag("--drafts", "only drafts, which other lists leave out"),
        ),
        limit(),
        examples=(IN, f"{IN} --scheduled"),
    ),
    showing("broadcast"),
    Action(
        "create",
        "sending.run_broadcast",
        "send a message to contacts, groups and addresses",
        workspace(),
        option("--text", "the text, in which @contact.name and other expressions are evaluated", required=True),
        option("--contact", "the UUID of a contact; repeat", several=True, metavar="UUID"),
        option("--group", "UUID or name of a group; repeat", several=True),
        option("--urn", "an address, like tel:+250788000111; repeat", several=True),
        option("--query", "a contact query, like 'district = Gasabo'"),
        option("--at", "send it then, like 2027-05-04T08:00; default: now", kind=Moment(), metavar="TIME"),
        option("--repeat", "how often it comes again; default: never", choices=REPEATS, default="never"),
        option("--days", "weekdays of a weekly one, letters of MTWRFSU, or the day of a monthly one", default=""),
        option("--until", "the last day of one that repeats, like 2027-12-31", kind=Moment(), metavar="DAY"),
        option("--times", "how often one that repeats is sent in all", kind=WholeNumber(1, 1000), metavar="N"),
        flag("--draft", "keep it, and send nothing until it is changed with --send"),
        flag("--wait", "wait until a worker has created all messages; the exit status is 1 if that failed"),
        more="A time without a time zone is one of the workspace.",
        examples=(
            f"{IN} --group Mothers --text 'Hello @contact.first_name' --wait",
            f"{IN} --group Mothers --text 'The clinic is open.' --at 2027-05-04T08:00",
            f"{IN} --group Mothers --text 'Come today.' --at 2027-05-04T08:00 --repeat weekly --days TR --times 10",
        ),
    ),
    Action(
        "change",
        "sending.run_change_broadcast",
        "change a broadcast that has not begun; what is not given stays",
        workspace(),
        record("broadcast", "uuid"),
        option("--text", "the text, in place of those in all languages"),
        option("--contact", "the UUID of a contact, in place of the former ones; repeat", several=True, metavar="UUID"),
        option("--group", "UUID or name of a group, in place of the former ones; repeat", several=True),
        option("--urn", "an address, in place of the former ones; repeat", several=True),
        option("--query", "a contact query, in place of the former one"),
        option("--at", "another time, like 2027-05-04T08:00", kind=Moment(), metavar="TIME"),
        option("--repeat", "how often it comes again", choices=REPEATS),
        option("--days", "weekdays of a weekly one, letters of MTWRFSU, or the day of a monthly one"),
        option("--until", "the last day of one that repeats, like 2027-12-31", kind=Moment(), metavar="DAY"),
        option("--times", "how often one that repeats is sent in all", kind=WholeNumber(1, 1000), metavar="N"),
        OneOf(
            flag("--send", "a draft no more: it goes at its time, at once without one"),
            flag("--draft", "make a draft of it"),
        ),
        more="A time without a time zone is one of the workspace.",
        examples=(f"{IN} {ID} --text 'The clinic opens at 9.'", f"{IN} {ID} --send"),
    ),
    deletion("broadcast", ", if it is a draft"),
    Action(
        "stop",
        "broadcasts.run_stop",
        "send no more messages of a broadcast, or none if it waits for its time",
        workspace(),
        record("broadcast", "uuid"),
        destroys="messages of the broadcast {uuid} that no phone or gateway has yet are not sent",
        examples=(f"{IN} {ID} --yes",),
    ),
)
ALL = (CONTACT, MESSAGE, BROADCAST)
