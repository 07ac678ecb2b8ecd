"""HTTP gateways of any provider: a template describes the requests to them."""

from flows.urn_schemes import SCHEMES
from persistence.channels.types import ChannelType, Setting

PART_LENGTH = 160

TYPE = ChannelType(
    "external",
    schemes=tuple(sorted(SCHEMES)),
    is_default=True,
    callback_path="/c/ex/{uuid}/{secret}/",
    settings=(
        Setting("send_url", "where messages to send are put in", "url", is_required=True),
        Setting("method", "default: POST", choices=("GET", "POST", "PUT"), default="POST"),
        Setting("content_type", "urlencoded, json, xml, or a media type", default="urlencoded", is_header=True),
        Setting("body", "template of a request; default: a form with all variables", "text"),
        Setting("max_length", "of one message; default: 160", "number", default=PART_LENGTH, bounds=(60, 6400)),
        Setting(
            "send_authorization",
            "the value of the Authorization header",
            "secret",
            "--authorization-file",
            is_header=True,
        ),
        Setting("mt_response_check", "text that an accepting reply contains", option="--response-check"),
        Setting(
            "recognizes_repeats",
            "send a part again, under its Idempotency-Key, when nobody knows whether it arrived",
            "flag",
        ),
    ),
)
