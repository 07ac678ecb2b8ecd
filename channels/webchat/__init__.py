"""A chat of our own on people's sites: visitors write into a widget, and the service itself is the provider. Nothing is
sent by HTTP: a worker hands a message over when it stores that the visitor may have it.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from channels.calls import Message, Request, Settings
from channels.declaration import Carries, ChannelType, Setting

VISITOR_LENGTH = 24
MOST_QUICK_REPLIES = 13
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
USUAL_COLOUR = "#0b6e4f"
USUAL_PORTS = {"http": 80, "https": 443}


def allowed_origins(settings: Settings) -> frozenset[str]:
    """The origins of the sites that may show the chat, as browsers write them; what is none is left out."""
    return frozenset(filter(None, map(read_origin, str(settings.get("origins") or "").split())))


def read_origin(text: str) -> str | None:
    """The origin of a URL as browsers write it: `https://www.example.org`; None if it has none."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in USUAL_PORTS or not host:
        return None
    name = f"[{host}]" if ":" in host else host
    is_usual = port is None or port == USUAL_PORTS[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if is_usual else f":{port}")


def colour_of(settings: Settings) -> str:
    """The colour of the widget, `#rrggbb`."""
    chosen = str(settings.get("colour") or "")
    return chosen if COLOUR.fullmatch(chosen) else USUAL_COLOUR


def no_requests(message: Message, settings: Settings) -> Sequence[Request]:
    """Nobody is called: a message is handed over once it is stored that the visitor may have it."""
    return ()


TYPE = ChannelType(
    "webchat",
    schemes=("webchat",),
    title="Chat on your own site",
    settings=(
        Setting(
            "origins",
            "sites that may show the chat, such as https://www.example.org, with spaces between them",
            is_required=True,
        ),
        Setting("title", "what stands above the chat; default: the name of the channel"),
        Setting("greeting", "what visitors read before they write", "text"),
        Setting("colour", f"of the button and of what visitors write, such as {USUAL_COLOUR}", default=USUAL_COLOUR),
        Setting("asks_name", "ask visitors for their name before they write", "flag"),
        Setting("asks_email", "ask visitors for their e-mail address before they write", "flag"),
        Setting("takes_files", "visitors may send pictures, recordings, videos and PDF files", "flag"),
    ),
    carries=Carries(length=4096, attachments=True, quick_replies=MOST_QUICK_REPLIES),
    transport="webchat",
    requests=no_requests,
)
