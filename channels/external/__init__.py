"""HTTP gateways of any provider (relayer protocol, section 22): settings say how they are called (`sending.py`), and
what they say (`hearing.py`). Presets are settings of this type for one provider, `channels/presets/`.
"""

from functools import partial

from channels.declaration import Carries, ChannelType, Setting, read_headers
from channels.external.hearing import EVENTS, STATUSES, read_callback
from channels.external.names import check_table
from channels.external.sending import LENGTH, MEANINGS, PART_LENGTH, SEGMENTS, judge, make_requests
from flows.urn_schemes import SCHEMES

Advanced = partial(Setting, is_advanced=True)

REQUESTS = (
    Setting("send_url", "where messages to send are put in", "url", is_required=True),
    Setting("method", "default: POST", choices=("GET", "POST", "PUT"), default="POST"),
    Setting("content_type", "urlencoded, json, xml, or a media type", default="urlencoded", is_header=True),
    Setting("body", "template of a request; default: a form with all variables", "text"),
    Advanced("max_length", "of one message; default: 160", "number", default=PART_LENGTH, bounds=(60, 6400)),
    Advanced(
        "split",
        "how long texts are divided: by max_length, or so that each request is one SMS; default: length",
        choices=(LENGTH, SEGMENTS),
        default=LENGTH,
    ),
    Setting(
        "send_authorization", "the value of the Authorization header", "secret", "--authorization-file", is_header=True
    ),
    Advanced("username", "the user name of basic authentication, or for the templates"),
    Advanced("password", "the password of that user", "secret", "--password-file"),
    Advanced(
        "headers", "further headers, a line `Name: value` for each", "headers", "--headers-file", check=read_headers
    ),
    Advanced("use_national", "send numbers without their country code", "flag"),
    Advanced(
        "recognizes_repeats",
        "send a part again, under its Idempotency-Key, when nobody knows whether it arrived",
        "flag",
    ),
)
RESPONSES = (
    Setting("mt_response_check", "text that an accepting reply contains", option="--response-check"),
    Advanced("mt_status_field", "the field of a reply that says what became of a message; default: the HTTP status"),
    Advanced(
        "mt_status_words",
        "what that field says: accepted, refused, stopped or later, such as 101=accepted, 403=refused",
        check=partial(check_table, meanings=MEANINGS),
    ),
    Advanced("mt_id_field", "the field of a reply with the gateway's id of a message"),
    Advanced("mt_reason_field", "the field of a reply that explains a refusal"),
)
CALLBACKS = (
    Advanced("event_field", "the field of a callback that says what it reports; default: the action in the URL"),
    Advanced(
        "event_words",
        f"what that field says: {', '.join(EVENTS)}; * for all others, such as sms:received=receive, *=ignore",
        check=partial(check_table, meanings=EVENTS),
    ),
    Advanced("mo_list_field", "the field with a list of messages, if a callback has several"),
    Advanced("mo_from_field", "the field with the sender; default: from, sender"),
    Advanced("mo_text_field", "the field with the text; default: text, message"),
    Advanced("mo_date_field", "the field with the time; default: date, time"),
    Advanced("mo_id_field", "the field with the gateway's id of an incoming message; default: message_id"),
    Advanced("mo_name_field", "the field with the name of the sender"),
    Advanced("mo_coding_field", "the field with the data coding of SMPP; with 8, the text is that of mo_hex_field"),
    Advanced("mo_hex_field", "the field with the text in hexadecimal digits of UTF-16"),
    Advanced("mo_response", "what the gateway wants to read as response"),
    Advanced("mo_response_content_type", "the media type of that response; default: plain text", is_header=True),
    Advanced("status_field", "the field with the status of a sent message; default: status"),
    Advanced(
        "status_words",
        f"what that field says: {', '.join(STATUSES)}; * for all others, such as DELIVRD=delivered",
        check=partial(check_table, meanings=STATUSES),
    ),
    Advanced("status_id_field", "the field with the gateway's id of a sent message"),
    Advanced("status_message_field", "the field with the id that the request had; default: id"),
    Advanced("status_date_field", "the field with the time of a status; default: date, time"),
    Advanced("status_reason_field", "the field that says why a message failed; default: reason"),
)
CHECKS = (
    Advanced("callback_check", "how callbacks prove their origin", choices=("hmac", "secret", "basic", "jwt")),
    Advanced(
        "callback_secret",
        "the key or secret for that; for basic, user:password",
        "secret",
        "--callback-secret-file",
    ),
    Advanced(
        "signature_field", "the header or field with the proof; default: X-Signature for hmac, else Authorization"
    ),
    Advanced("signature_digest", "of hmac; default: sha256", choices=("sha1", "sha256", "sha512")),
    Advanced("signature_encoding", "of hmac; default: hex", choices=("hex", "base64")),
    Advanced("signature_content", "what is signed, of {{body}}, {{timestamp}} and {{url}}; default: {{body}}"),
    Advanced("timestamp_field", "the header or field with the timestamp; default: X-Timestamp"),
)

TYPE = ChannelType(
    "external",
    schemes=tuple(sorted(SCHEMES)),
    title="HTTP gateway",
    help="any other provider of SMS that is called by HTTP",
    is_default=True,
    code="ex",
    actions=("receive", "status"),
    carries=Carries(PART_LENGTH),
    requests=make_requests,
    accepted=judge,
    events=read_callback,
    settings=(*REQUESTS, *RESPONSES, *CALLBACKS, *CHECKS),
)
