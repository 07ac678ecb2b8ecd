"""What the widget of a chat and the service need to know of the settings of its channel."""

import re
from urllib.parse import urlsplit

from channels.calls import Settings

VISITOR_LENGTH = 24
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
HOST = re.compile(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]")
USUAL_COLOUR = "#0b6e4f"
USUAL_PORTS = {"http": 80, "https": 443}


def allowed_origins(settings: Settings) -> frozenset[str]:
    """The origins of the sites that may show the chat, as browsers write them; what is none is left out."""
    return frozenset(filter(None, map(read_origin, str(settings.get("origins") or "").split())))


def check_origins(text: str) -> None:
    """Raises ValueError for what is no site: it would never show the chat, and nobody would know why."""
    wrong = [each for each in text.split() if read_origin(each) is None]
    if wrong:
        raise ValueError(f"{wrong[0][:100]} is not a site: write it as https://www.example.org")


def read_origin(text: str) -> str | None:
    """The origin of a URL as browsers write it: `https://www.example.org`; None if it has none."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in USUAL_PORTS or not host:
        return None
    try:
        name = f"[{host}]" if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        return None
    if not HOST.fullmatch(name):
        return None
    is_usual = port is None or port == USUAL_PORTS[parts.scheme]
    return f"{parts.scheme}://{name}" + ("" if is_usual else f":{port}")


def colour_of(settings: Settings) -> str:
    """The colour of the widget, `#rrggbb`."""
    chosen = str(settings.get("colour") or "")
    return chosen if COLOUR.fullmatch(chosen) else USUAL_COLOUR
