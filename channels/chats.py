"""What the widget of a chat and the service need to know of the settings of its channel."""

import re
from urllib.parse import urlsplit

from channels.calls import Settings

VISITOR_LENGTH = 24
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
