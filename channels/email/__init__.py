"""E-mail: messages out by SMTP, in as whole mails that a provider posts or that are fetched by IMAP. What goes over the
wire is computed here; `worker/channels/email/` speaks SMTP and IMAP, `reading.py` reads what comes in.
"""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from functools import partial

from channels.calls import Callback, Heard, Later, Message, Outcome, Refused, Sent, Settings, Unread
from channels.declaration import Carries, ChannelType, Setting
from channels.email.reading import ANSWERS, UNSUBSCRIBE, read_mail
from channels.sms import with_links

MAIL_TYPES = ("message/rfc822", "application/octet-stream", "text/plain", "")
POLICY = SMTP.clone(cte_type="7bit")
"""Not all servers take eight bits."""
CLOSING, FIRST_FAULT, FIRST_REFUSAL = 421, 400, 500
CLOSED_SECONDS, PUT_OFF_SECONDS = 60.0, 300.0
"""Servers that put off unknown senders take what comes again after some minutes."""


def message_id_of(message: Message, settings: Settings) -> str:
    """The Message-ID of a message, the same each time it is sent, without its angle brackets."""
    return f"{message.uuid}@{str(settings['from_address']).rpartition('@')[2]}"


def write_mail(message: Message, settings: Settings, now: datetime) -> bytes:
    """The mail of a message. Raises ValueError if it cannot be written as one."""
    if not message.to.isascii():
        raise ValueError("an address beyond ASCII")
    sender, mail = str(settings["from_address"]), EmailMessage(policy=POLICY)
    name = str(settings.get("from_name") or "")
    mail["From"] = Address(name, addr_spec=sender)
    mail["To"] = Address(addr_spec=message.to)
    mail["Subject"] = _subject(message, settings)
    mail["Date"] = format_datetime(now)
    mail["Message-ID"] = f"<{message_id_of(message, settings)}>"
    if message.answers:
        mail["In-Reply-To"] = mail["References"] = f"<{message.answers}>"
    mail["List-Unsubscribe"] = f"<mailto:{sender}?subject={UNSUBSCRIBE}>"
    mail["X-Auto-Response-Suppress"] = "OOF, AutoReply"
    mail.set_content(with_links(message.text, (each.url for each in message.attachments)))
    return mail.as_bytes()


def _subject(message: Message, settings: Settings) -> str:
    """That of the mail that is answered; else the channel's own."""
    if message.subject:
        return message.subject if ANSWERS.match(message.subject) else f"Re: {message.subject}"
    return str(settings.get("subject") or settings.get("from_name") or settings["from_address"])


def answered(code: int, words: str, message_id: str = "") -> Outcome:
    """What a reply of the mail server means (RFC 5321, 4.2)."""
    said = f"The mail server says {code}: {' '.join(words.split())}"
    if code == CLOSING:
        return Later(said, CLOSED_SECONDS, is_for_all=True)
    if FIRST_FAULT <= code < FIRST_REFUSAL:
        return Later(said, PUT_OFF_SECONDS)
    return Refused(said) if code >= FIRST_REFUSAL else Sent(message_id)


def hear(callback: Callback, settings: Settings) -> Heard:
    """A whole mail (RFC 5322) is the body. Raises Unread."""
    if callback.content_type not in MAIL_TYPES or not callback.body:
        raise Unread("Expected a whole mail as body, with the type message/rfc822.")
    return Heard(read_mail(callback.body, str(settings["from_address"])))


def check_line(text: str) -> None:
    """Raises ValueError for what would end a header, or a command of IMAP."""
    if not text.isprintable():
        raise ValueError("expected one line without control characters")


def check_folder(text: str) -> None:
    """Raises ValueError."""
    if not text.isascii() or not text.isprintable():
        raise ValueError("expected the name of a folder in ASCII, as the server lists it")


def check_address(text: str) -> None:
    """Raises ValueError."""
    if Address(addr_spec=text).addr_spec != text or "." not in text.rpartition("@")[2] or not text.isascii():
        raise ValueError("expected an e-mail address such as clinic@example.org")


Advanced = partial(Setting, is_advanced=True)

TYPE = ChannelType(
    "email",
    schemes=("mailto",),
    title="E-mail",
    help="mails to an address of your own, by its mail server",
    transport="smtp",
    settings=(
        Setting("host", "host name of the mail server that takes messages", is_required=True),
        Advanced("port", "its port; default: 587", "number", default=587, bounds=(1, 65535)),
        Advanced(
            "security",
            "TLS from the start, after a greeting in clear (STARTTLS), or none; default: starttls",
            choices=("starttls", "tls", "none"),
            default="starttls",
        ),
        Setting("user", "user name at the mail server, if it asks for one"),
        Setting("password", "its password", "secret", "--password-file"),
        Setting(
            "from_address", "e-mail address of messages, which people answer", is_required=True, check=check_address
        ),
        Advanced("from_name", "name beside that address", check=check_line),
        Advanced("subject", "of messages that answer no mail; default: the name or the address", check=check_line),
        Setting("imap_host", "host name of the mail server that has what came in; without it, mails are posted"),
        Advanced("imap_port", "its port; default: 993", "number", default=993, bounds=(1, 65535)),
        Advanced(
            "imap_security",
            "TLS from the start, after a greeting in clear (STARTTLS), or none; default: tls",
            choices=("tls", "starttls", "none"),
            default="tls",
        ),
        Advanced("imap_user", "user name there; default: the one for messages", check=check_line),
        Advanced("imap_password", "its password; default: the one for messages", "secret", "--imap-password-file"),
        Advanced("imap_folder", "folder that is read; default: INBOX", default="INBOX", check=check_folder),
        Advanced(
            "imap_seconds",
            "seconds between two looks into it; default: 60",
            "number",
            default=60,
            bounds=(15, 3600),
        ),
    ),
    carries=Carries(length=65_536),
    rate=5.0,
    events=hear,
)
