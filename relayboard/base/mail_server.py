"""The mail server for the e-mail of flows, read from one URL."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

EXAMPLE = "smtp://user:password@host:587/?from=flows@example.org&tls=starttls"
STARTTLS, TLS, PLAIN = "starttls", "tls", "none"
PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server and the sender's address. `security` is `tls` (from the start), `starttls`, or `none`."""

    host: str
    port: int
    sender: str
    security: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


def read_mail_server(text: str) -> MailServer | None:
    """The mail server of a URL, None for an empty string. Raises ValueError, which never contains the URL. `smtp` uses
    STARTTLS unless `tls=none`, `smtps` uses TLS from the start; the default ports are 587 and 465.
    """
    if not text:
        return None
    try:
        parts = urlsplit(text)
        options = dict(parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=True))
        port = parts.port
    except ValueError:
        raise ValueError(f"expected a URL like {EXAMPLE}") from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in ("", "/") or port == 0:
        raise ValueError(f"expected a URL like {EXAMPLE}")
    if not is_address(options.get("from", "")) or options.keys() - {"from", "tls"}:
        raise ValueError("it needs the sender's address, like ?from=flows@example.org, and only from and tls")
    security = _read_security(parts.scheme, options.get("tls"))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not (user + password).isascii():
        raise ValueError("user and password must be ASCII")
    return MailServer(parts.hostname, port or PORTS[parts.scheme], options["from"], security, user, password)


def is_address(text: str) -> bool:
    """Whether a string is one plain e-mail address: no name, no list, nothing that could end a header."""
    local, separator, domain = text.rpartition("@")
    return (
        bool(local and separator and domain)
        and len(text) <= 254
        and text.isascii()
        and text.isprintable()
        and not any(character in ' ()<>[],;:"\\@' for character in local + domain)
        and not domain.startswith((".", "-"))
        and not any(".." in part or part.endswith(".") for part in (local, domain))
        and not local.startswith(".")
    )


def _read_security(scheme: str, wanted: str | None) -> str:
    if scheme == "smtps":
        if wanted not in (None, TLS):
            raise ValueError("smtps uses TLS from the start; use smtp for anything else")
        return TLS
    if wanted not in (None, STARTTLS, PLAIN):
        raise ValueError("tls must be starttls or none")
    return wanted or STARTTLS
