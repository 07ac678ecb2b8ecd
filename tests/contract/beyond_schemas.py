"""Why a request that matches the contract may be rejected with 400: what OpenAPI 3.0 cannot express, rule by rule. Each
reason is a message of the service, with its operation and place if others use the same message.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reason:
    """A rule: the whole sentence, and the operations and places (`POST /api/v2/globals.json name`) that may say it."""

    rule: str
    sentence: str
    places: str = r".*"

    def explains(self, place: str, sentence: str) -> bool:
        return bool(re.fullmatch(self.sentence, sentence, re.DOTALL) and re.fullmatch(self.places, place, re.DOTALL))


LOOKED_UP = (
    r"(?:urns|contact|contacts|groups|exclude_groups|add_groups|remove_groups|channel|group|group_uuid|group_uuids"
    r"|campaign|campaigns|campaign_uuid|flow|flow_uuid|flows|label"
    r"|label_name|label_uuid|topic|topics|members|import|job|members_of|receiver|deliveries|assignee|tickets|user|broadcasts|starts"
    r"|resthook|relative_to|attachments(?:\.[^.]+){1,2})"
)
OF_QUERIES = (
    r"query is too complex",
    r"cannot query on redacted URNs",
    r"contains conditions can only be used with name or URN values",
    r"contains operator on (?:name|URN) requires \w+ of minimum length \d",
    r"comparisons with [<>]=? can only be used with date and number fields",
    r"can't check whether '\w+' is set or not set",
    r"can't convert '.*' to a (?:number|date)",
    r"can't resolve '.*' to attribute, scheme or field",
    r"unknown property type '.*'",
    r"'.*' is not a valid (?:contact status|language code|group name|flow name)",
    r"(?:unexpected .+|missing '\)'|expected a value after '.+') in query",
)
"""What can be wrong with a contact query."""
REASONS = [
    Reason("a record that does not exist", r'Nothing found for ".*"\.', rf"POST \S+ {LOOKED_UP}"),
    Reason("a record that does not exist", r'Nothing found for ".*"\.', r"POST /api/v1/\w+\.json (?:uuid|key)"),
    Reason("a record that does not exist", r'No contact field ".*"\.', r"POST \S+/contacts\.json fields"),
    Reason("a record that does not exist", r"Unknown claim code\.", r"POST /api/v1/relayers\.json claim_code"),
    Reason(
        "a record that does not exist",
        r"No active channel of this workspace has this id\.",
        r"POST /api/v1/broadcasts\.json channel",
    ),
    Reason(
        "a contact query",
        rf"(?:Parameter (?:query|search): )?(?:{'|'.join(OF_QUERIES)})(?: \(character \d+\))?\.",
        r"(?:GET /api/v2/(?:contacts|conversations|contact_queries)\.json.*"
        r"|POST /api/v2/(?:broadcasts|broadcast_previews|exports)\.json query)",
    ),
    Reason(
        "a contact query",
        rf"(?i:{'|'.join(OF_QUERIES)}|A group cannot be based on .*?)(?: \(character \d+\))?\.",
        r"POST /api/v2/groups\.json query",
    ),
    Reason(
        "the state of a record", r"Members of this group .*: make another group\.", r"POST /api/v2/groups\.json query"
    ),
    Reason(
        "a rule that changes nothing",
        r"The new numbers begin like the old ones\.",
        r"POST \S+/contact_renumberings\.json new",
    ),
    Reason("a time in the future", r"A time in the future, within a year, is required\.", r"POST \S+ scheduled_on"),
    Reason(
        "a time in the future",
        r"A time in the future, within (?:90|30) days, is required\.|Messages are archived after 90 days: .*",
        r"POST /api/v2/(?:conversations\.json until|messages\.json send_on)",
    ),
    Reason("the state of a record", r"At that time the channel takes only .*", r"POST /api/v2/messages\.json send_on"),
    Reason("the state of a record", r"This message does not wait for its time any more\."),
    Reason(
        "days that differ, of the calendar",
        r"Each day of the week has its hours once at most\.|Expected a date, like 2027-03-02\.",
        r"POST /api/v2/teams\.json (?:hours|holidays)",
    ),
    Reason(
        "what repeats",
        r"(?:Only what repeats has this|What repeats needs a time|A weekly schedule needs letters of MTWRFSU"
        r"|A monthly schedule has one day, from 1 to 31|Only weekly and monthly schedules have days"
        r"|The last day is before the first time|This time is not in the calendar .*)\.",
        r"POST /api/v2/broadcast(?:s|_previews)\.json \w+",
    ),
    Reason(
        "the state of a record", r"This broadcast has begun or was stopped: .*", r"\S+ /api/v2/broadcasts\.json detail"
    ),
    Reason("the state of a record", r"This broadcast has repeated .*", r"POST /api/v2/broadcasts\.json \w+"),
    Reason("the state of a record", r"Only drafts can be deleted\. .*", r"DELETE /api/v2/broadcasts\.json detail"),
    Reason(
        "a field that a parameter makes needless",
        r"(?:A value is required|At least one URN, contact or group is required)\.",
        r"POST /api/v2/broadcasts\.json (?:text)?",
    ),
    Reason("a name that is taken", r"This name is already taken\."),
    Reason("a name that is taken", r"Another (?:field|global) has the key made from this name\."),
    Reason("a name that is taken", r"This resthook exists already\.", r"POST /api/v2/resthooks\.json resthook"),
    Reason("a name that is taken", r"This URL is already subscribed\.", r"POST /api/v2/resthook_subscribers\.json "),
    Reason(
        "a name that is taken", r"This URN belongs to another contact\.", r"POST \S+/contacts\.json (?:add_)?urns\.\d+"
    ),
    Reason("a name that is taken", r"These URNs belong to (?:more than one|another) contact\."),
    Reason("a key made from a name", r"The key made from this name (?:is reserved|has to begin with a letter)\."),
    Reason("letters of any script", r"Only letters, digits, spaces and hyphens are allowed in field names\."),
    Reason("letters of any script", r"Only letters, digits, spaces, hyphens and underscores are allowed\."),
    Reason("a language code that is assigned", r"Not an ISO 639-3 code\."),
    Reason("a language code that is assigned", r"This language appears twice\."),
    Reason(
        "a language code that is assigned",
        r"(?:.* is not an ISO 639-3 language code, like eng|Each language stands once)\.",
        r"POST /api/v2/workspace_settings\.json languages\.\d+",
    ),
    Reason(
        "a country or time zone that exists",
        r".* is not a (?:country code of two letters, like RW|time zone, like Africa/Kigali)\.",
        r"POST /api/v2/workspace_settings\.json (?:country|timezone)",
    ),
    Reason("a text in the first language", r'A text in the language "\w{3}" is required\.'),
    Reason("a text in the first language", r"There is no translation in the base language\."),
    Reason(
        "a possible phone number or address",
        r"Expected a URN: a scheme, a colon and an address, like tel:\+250788123123\.",
    ),
    Reason("a possible phone number or address", r"Not a possible phone number: .*\."),
    Reason("a possible phone number or address", r"There is no scheme .*\."),
    Reason("a possible phone number or address", r"After \w+: .* must follow\."),
    Reason("a possible phone number or address", r"At most 255 characters, with `%`, `#` and `\?` counted as three\."),
    Reason("a possible phone number or address", r"Not a possible phone number\."),
    Reason("a possible phone number or address", r"Parameter urn: .*\."),
    Reason(
        "a possible phone number or address",
        r"(?:.* is not an e-mail address|.* is a user of this workspace already)\.",
        r"POST /api/v2/invitations\.json email",
    ),
    Reason(
        "a setting of the operator", r"This service cannot send mail: .*\.", r"POST /api/v2/sign_in_links\.json detail"
    ),
    Reason("an address that may be called", r"This address is on a private network\..*", r"POST \S+ ?(?:url)?"),
    Reason("an address that may be called", r"Enter a URL that begins with http:// or https://\."),
    Reason("a filter of another list", r"An export of \w+ has no such filter\.", r"POST /api/v2/exports\.json \w+"),
    Reason(
        "what an action takes",
        r"(?:Only an import that is [\w ]+ takes this|With another encoding the file is read again: .*)\.",
        r"POST /api/v2/contact_import_actions\.json (?:columns|group|dry_run|encoding|date_style|decimal_sign|unread)",
    ),
    Reason("columns of a file", r"[^\n]*", r"POST /api/v2/contact_import_actions\.json (?:columns|detail)"),
    Reason(
        "the state of a record", r"The (?:channel has no delivery URL|receiver of this delivery has no URL any more)\."
    ),
    Reason(
        "the state of a record",
        r"A subscriber has the URL and the events that it subscribed\.",
        r"POST /api/v2/webhook_receivers\.json (?:url|events)",
    ),
    Reason(
        "an address that may be called",
        r"The URL must not contain a user name or password\.",
        r"POST /api/v2/webhook_receivers\.json url",
    ),
    Reason(
        "what a type of channels needs",
        r"(?:A value is required|One of these: [\w, -]+; not .+|A phone is claimed by its code, not created"
        r"|Presets are for channels of the type \w+"
        r"|.+ is no scheme of this type; it has [\w, ]+|.+ is not the code of a country: two letters, such as RW"
        r"|The \w+ of a channel cannot be changed: add another channel, and release this one)\.",
        r"POST /api/v2/channel_settings\.json (?:type|preset|name|address|scheme|country)",
    ),
    Reason(
        "what a type of channels needs",
        r"(?:A channel of the type \w+ has no such setting; it has [\w, ]+|This setting is required: .+"
        r"|One of these: [\w, ]+; not .+|Only true or false, not .+|The character NUL \(U\+0000\) cannot be stored"
        r"|A whole number from \d+ to \d+, not .+|At most \d+ characters; it has \d+|This is sent in a header, .+"
        r"|The URL must not contain a user name or password|Write (?:a table|each header) .+|A word of a table means .+"
        r"|The header \S+ belongs to the connection and cannot be set)\.",
        r"POST /api/v2/channel_settings\.json settings\..*",
    ),
    Reason(
        "what a preset needs",
        r"(?:The preset \S+ has no such field; it has [\w, ]+|This field is required: .+|Only presets have fields; .+"
        r"|This channel was not made from a preset; it has settings|Enter a URL .+|At most \d+ characters; it has \d+"
        r"|This is sent in a header, .+|The character NUL \(U\+0000\) cannot be stored|Write each header .+)\.",
        r"POST /api/v2/channel_settings\.json fields\..*",
    ),
    Reason("the state of a record", r"A phone has only name, allow_international, .+"),
    Reason("the state of a record", r"This channel sends to [\w, ]+\.", r"POST /api/v2/channel_tests\.json urn"),
    Reason("the distance of two days", r"Choose 1 to 366 days\.", r"GET /api/v2/figures\.json after"),
    Reason("the sum of numbers", r"All delays together are at most three days\.", r"POST \S+ retry_delays_seconds"),
    Reason("the state of a record", r"This flow is archived\."),
    Reason(
        "the state of a record",
        r"This flow is archived: restore it first\.",
        r"POST /api/v2/(?:flows|flow_revisions|flow_texts)\.json detail",
    ),
    Reason("the state of a record", r"Only a new flow can have this\.", r"POST /api/v2/flows\.json (?:type|copy_of)"),
    Reason(
        "a definition of the flow format",
        r"[^\n:]+: .+",
        r"POST /api/v2/(?:(?:simulations|flow_revisions|flow_tests)\.json definition|definitions\.json document)",
    ),
    Reason(
        "what a type of triggers needs",
        r"(?:A value is required|Keyword triggers need a keyword, .*|Only schedules have times and contacts"
        r"|A schedule needs (?:groups or contacts|a time)|The type of a trigger cannot be changed|.* is not one word"
        r"|A weekly schedule needs letters of MTWRFSU|A monthly schedule has one day, .*|This time is in the past"
        r"|Only weekly and monthly schedules have days"
        r"|This time is not in the calendar .*|Surveys are not started by triggers|Incoming calls need a voice flow"
        r"|Another trigger with the same channel and groups does this already)\.",
        r"POST /api/v2/triggers\.json \w+",
    ),
    Reason("the state of a record", r"This field is not a date field\."),
    Reason("the state of a record", r"Members of a smart group cannot be changed\."),
    Reason("the state of a record", r"Only active contacts can be in groups\."),
    Reason("the sum of lists", r"A group stands in add_groups, too\.", r"POST /api/v2/contacts\.json remove_groups"),
    Reason("the state of a record", r"None of these contacts can be started\."),
    Reason("the state of a record", r"Message \d+ is not incoming\."),
    Reason("the state of a record", r"The campaign of an event cannot be changed\."),
    Reason("the state of a record", r"No channel of this workspace can send to phone numbers\."),
    Reason("the state of a record", r"Events of .* (?:start this flow|count from this (?:date|field)): .*\."),
    Reason("the state of a record", r'The query of the group ".*" uses this field: .*\.'),
    Reason("the state of a record", r"This (?:group|field|global) is used by .*: .*\."),
    Reason("the state of a record", r"These values name different groups\."),
    Reason("parameters that exclude each other", r"Use only one of these parameters: .*\.", r"\S+ /api/v2/\S+ detail"),
    Reason("parameters that exclude each other", r"Parameters \w+ and \w+ cannot be used together\."),
    Reason("parameters that need each other", r"Parameters? [a-z, ]+ needs? the parameter [a-z]+\."),
    Reason("parameters that exclude each other", r"Not allowed together with the parameter urn\.", r"POST \S+ urns"),
    Reason("one of several parameters", r"One of these parameters is required: .*\.", r"DELETE \S+ detail"),
    Reason(
        "a field that a parameter makes needless",
        r"A value is required\.",
        r"POST /api/v2/(?:flows|globals)\.json name",
    ),
    Reason(
        "a field that a parameter makes needless",
        r"A value is required\.",
        r"POST /api/v2/campaign_events\.json campaign",
    ),
    Reason(
        "a field that a parameter makes needless",
        r"A value is required\.",
        r"POST /api/v2/channel_settings\.json (?:type|name|address)",
    ),
    Reason("JSON in itself", r"NUL characters \((?:\\u0000|%00)\) are not allowed.*\."),
    Reason("JSON in itself", r"\\u[0-9a-f]{4} is half of a surrogate pair: .*\."),
    Reason("JSON in itself", r"Whole numbers must fit 64 bits\."),
    Reason("JSON in itself", r"Numbers must be finite and of reasonable length\."),
    Reason("JSON in itself", r"The request body nests deeper than \d+ levels\."),
    Reason("JSON in itself", r"Must be at most 10000 characters as JSON\.", r"POST /api/v2/flow_starts\.json \w+"),
    Reason("an e-mail address", r"This is not an e-mail address\.", r"POST /chat/[0-9a-f-]{36}/visits email"),
    Reason(
        "members of another record", r"Parameter fields: there is no .*; a record has .*\.", r"GET /api/v2/\S+ detail"
    ),
    Reason("the address as a whole", r"The URL is longer than 8192 bytes\."),
    Reason(
        "the order of commands",
        r"The first command must be fcm with fcm_id and uuid\.",
        r"POST /relayers/relayer/register/? error",
    ),
]
"""Fields that exclude or need each other are none of these: the contract says them by `not`."""

TOO_SHORT = re.compile(r"An empty value is not allowed\.|At least \d+ characters\.")
NO_MEDIA = "Only images, audio, video and PDF files are accepted."
"""Said of `audio/*` too, which the contract names as a range and Schemathesis sends as a type."""


def unexplained(method: str, uri: str, body: str, answer: str) -> list[str]:
    """The complaints of a 400 that none of the reasons explains, each as `place: sentence`."""
    path = urlsplit(uri).path
    found = list(_complaints(json.loads(answer)))
    return [
        f"{place}: {sentence}"
        for place, sentence in found or [("", answer)]
        if not any(reason.explains(f"{method} {path} {place}", sentence) for reason in REASONS)
        and not (TOO_SHORT.fullmatch(sentence) and _is_trimmed(body, place))
        and not (sentence == NO_MEDIA and any(f"Content-Type: {kind}/*" in body for kind in ("audio", "video")))
    ]


def _complaints(part: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Each sentence of an error body with its place, as `urns.0`; rules about several fields have none."""
    if isinstance(part, Mapping):
        for key, inner in part.items():
            if key not in ("error_id", "cmds") and not (key == "code" and isinstance(inner, str)):
                name = "" if key == "non_field_errors" else key
                yield from _complaints(inner, f"{place}.{name}" if place else name)
    elif isinstance(part, list):
        for inner in part:
            yield from _complaints(inner, place)
    else:
        yield place, part


def _is_trimmed(body: str, place: str) -> bool:
    """Whether the text at a place has white space around it, which does not count in its length."""
    value = json.loads(body)
    for step in place.split("."):
        value = value[int(step)] if isinstance(value, list) else value.get(step) if isinstance(value, dict) else None
    return isinstance(value, str) and value != value.strip()
