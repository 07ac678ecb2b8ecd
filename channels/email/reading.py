"""Reads e-mail that strangers wrote: what a person says in it, or what a mail server says of one of ours. Its parts,
their depth and each header are bounded before anything is parsed.
"""

import html
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parseaddr
from typing import Any, cast

from channels.calls import Event, Media, Received, Status, Stopped, Unread, read_bytes
from channels.reading import moment

MOST_PARTS, MOST_BOUNDARIES, MOST_MAILS_INSIDE = 100, 20, 10
HEADER_LENGTH, SUBJECT_LENGTH, TEXT_BYTES = 2000, 255, 256 * 1024
BOUNDARY = re.compile(rb'boundary\s{0,20}=\s{0,20}(?:"([^"\\\r\n]{1,200})"|([^\s;"\\<>]{1,200}))', re.IGNORECASE)
ANY_BOUNDARY = re.compile(rb"boundary\s{0,20}[=*(]", re.IGNORECASE)
"""Also one that is escaped or in pieces, whose parts we could not count."""
MAIL_INSIDE = re.compile(rb"message/|multipart/digest", re.IGNORECASE)
MESSAGE_ID = re.compile(r"<([^<>\s]{1,255})>")
ADDRESS = re.compile(r"[^\s@<>,;\"]{1,64}@[^\s@<>,;\".]+(?:\.[^\s@<>,;\".]+)+")
CHARSET = re.compile(r"(?:utf|us-ascii|iso-|windows|cp|koi8|big5|gb|euc|shift|latin|ks_c|tis|mac)[a-z0-9_-]{0,20}")
"""Others are read as what they look like: some codecs of Python are none of characters, or take very long."""

ANSWERS = re.compile(r"(?:re|aw|sv|vs|antw|res|rif)\s*(?:\[\d{1,3}\])?\s*:", re.IGNORECASE)
UNSUBSCRIBE = "unsubscribe"
OF_MACHINES = ("x-autoreply", "x-autorespond", "x-auto-response-suppress", "list-id")
BULK = ("bulk", "junk", "list", "auto_reply")
MAIL_SYSTEM = ("mailer-daemon@", "postmaster@")
FAILED, DELIVERED = "failed", "delivered"

QUOTE = ">"
SIGNATURE = "-- "
HEAD = re.compile(
    r"(?:on|le|el|em|am)\b[^\r\n]{0,500}(?:wrote|écrit|escribió|escreveu|schrieb[^\r\n]{0,200})\s?:", re.I
)
HEAD_LINES = 3

TOKEN = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,15})(?=[\s/>])[^<>]*>|<[^<>]*>|[^<]+|<")
UNSEEN = ("script", "style", "head", "title", "template")
BLOCKS = ("p", "div", "li", "tr", "ul", "ol", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "br", "hr")
QUOTING = "blockquote"


def read_mail(content: bytes, own: str) -> tuple[Event, ...]:
    """What a mail says; nothing if a machine wrote it, or the address `own` of the channel itself. Raises Unread."""
    _check_bounds(content)
    try:
        mail = message_from_bytes(content, policy=policy.compat32)
        if mail.get_content_type() == "multipart/report":
            return tuple(_read_report(mail))
        name, sender = _sender_of(mail)
        if sender == own.lower() or _is_of_machine(mail, sender):
            return ()
        return (_read_message(mail, name, sender),)
    except (RecursionError, ValueError, HeaderParseError) as error:
        raise Unread("The mail cannot be read.") from error


def message_id_of(mail: Message, name: str = "message-id") -> str:
    """The first id in a header, without its angle brackets; empty if there is none."""
    found = MESSAGE_ID.search(str(mail.get(name) or "")[:HEADER_LENGTH])
    return found[1] if found else ""


def _check_bounds(content: bytes) -> None:
    """Raises Unread for more parts than anybody sends: the parser has no limits of its own."""
    written = [(found[1] or found[2]).rstrip() for found in BOUNDARY.finditer(content)]
    boundaries = set(written)
    if len(boundaries) > MOST_BOUNDARIES or len(written) < sum(1 for _ in ANY_BOUNDARY.finditer(content)):
        raise Unread(f"The mail has more than {MOST_BOUNDARIES} boundaries, or one that is written oddly.")
    if sum(content.count(b"--" + each) for each in boundaries) > MOST_PARTS:
        raise Unread(f"The mail has more than {MOST_PARTS} parts.")
    if sum(1 for _ in MAIL_INSIDE.finditer(content)) > MOST_MAILS_INSIDE:
        raise Unread(f"The mail has more than {MOST_MAILS_INSIDE} mails inside.")


def _header(mail: Message, name: str) -> str:
    """A header as people read it, on one line."""
    given = str(mail.get(name) or "")[:HEADER_LENGTH]
    try:
        pieces = decode_header(given)
    except (HeaderParseError, ValueError):
        pieces = [(given, None)]
    read = [each if isinstance(each, str) else _decode(each, charset or "") for each, charset in pieces]
    return " ".join("".join(read).split())


def _decode(content: bytes, charset: str) -> str:
    known = charset.lower().strip()
    if CHARSET.fullmatch(known) is None:
        return read_bytes(content)
    try:
        return content.decode(known)
    except (UnicodeDecodeError, LookupError):
        return read_bytes(content)


def _sender_of(mail: Message) -> tuple[str, str]:
    """Name and address. Raises Unread."""
    _, sender = parseaddr(str(mail.get("from") or "")[:HEADER_LENGTH])
    if ADDRESS.fullmatch(sender) is None:
        raise Unread("The mail has no sender: expected the header From with an address.")
    return parseaddr(_header(mail, "from"))[0], sender.lower()


def _is_of_machine(mail: Message, sender: str) -> bool:
    """Whether nobody wrote it: an answer to it would be answered again (RFC 3834)."""
    submitted = _header(mail, "auto-submitted").partition(";")[0].strip().lower()
    return (
        submitted not in ("", "no")
        or _header(mail, "precedence").lower() in BULK
        or any(mail.get(name) is not None for name in OF_MACHINES)
        or sender.startswith(MAIL_SYSTEM)
        or str(mail.get("return-path") or "").strip() == "<>"
    )


def _read_message(mail: Message, name: str, sender: str) -> Received | Stopped:
    subject = _header(mail, "subject")[:SUBJECT_LENGTH]
    text, files = _read_parts(mail)
    said = cut_reply(text)
    on = moment(mail.get("date"))
    if UNSUBSCRIBE in (subject.lower(), said.strip(" .\n").lower()):
        return Stopped(sender, on)
    if subject and ANSWERS.match(subject) is None:
        said = f"{subject}\n{said}".strip()
    return Received(sender, said, message_id_of(mail), on, name, tuple(files), subject=subject)


def _read_report(mail: Message) -> Iterator[Status]:
    """What a mail server says of a mail of ours (RFC 3464); reports of another kind say nothing."""
    about = "".join(message_id_of(each) or _id_in_text(each) for each in _leaves(mail, with_mails=True))
    for part in _leaves(mail, with_mails=True):
        if part.get_content_type() != "message/delivery-status" or not about:
            continue
        fields: Any = part.get_payload()
        for each in fields if isinstance(fields, list) else []:
            action = _header(each, "action").lower()
            if action == FAILED:
                code, words = _header(each, "status"), _header(each, "diagnostic-code").partition(";")[2].strip()
                yield Status("failed", about, reason=words or f"The mail came back with {code or 'no reason'}.")
            elif action == DELIVERED:
                yield Status("delivered", about)


def _id_in_text(part: Message) -> str:
    """The id of the mail that a report has inside, whole or only its headers."""
    kind, inside = part.get_content_type(), cast(Any, part.get_payload())
    if kind == "message/rfc822" and isinstance(inside, list):
        return message_id_of(inside[0])
    if kind != "text/rfc822-headers":
        return ""
    return message_id_of(message_from_bytes(_content_of(part), policy=policy.compat32))


def _leaves(mail: Message, *, with_mails: bool = False) -> Iterator[Message]:
    """The parts that are not parted again, of alternatives the best one to read; pictures of a page are left out."""
    kind, inside = mail.get_content_type(), cast(Any, mail.get_payload())
    if not isinstance(inside, list) or mail.get_content_maintype() == "message":
        if with_mails or mail.get_content_maintype() != "message":
            yield mail
        return
    if kind == "multipart/alternative":
        inside = _best_of(inside)
    elif kind == "multipart/related":
        inside = inside[:1]
    for each in inside:
        yield from _leaves(each, with_mails=with_mails)


def _best_of(parts: list[Message]) -> list[Message]:
    """The plain text, or what may have one inside, or a page."""
    plain = [each for each in parts if each.get_content_type() == "text/plain"]
    parted = [each for each in parts if each.get_content_maintype() == "multipart"]
    return (plain or parted or [each for each in parts if each.get_content_type() == "text/html"])[:1]


def _content_of(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _read_parts(mail: Message) -> tuple[str, list[Media]]:
    """The text, and all files. The first text is what the person wrote."""
    text, files = None, list[Media]()
    for part in _leaves(mail):
        kind, content = part.get_content_type(), _content_of(part)
        is_file = part.get_content_disposition() == "attachment" or bool(part.get_filename())
        if kind in ("text/plain", "text/html") and not is_file:
            if text is None:
                read = _decode(content[:TEXT_BYTES], str(part.get_content_charset() or ""))
                text = text_of_page(read) if kind == "text/html" else read
        elif content:
            files.append(Media(kind, content=content))
    return (text or "").replace("\r\n", "\n"), files


def text_of_page(page: str) -> str:
    """What people see of a page, as text: a line for each block, quotes as quotes. Nothing of it is carried out."""
    page = _without_comments(page)
    lines, line, unseen, quotes = list[str](), list[str](), "", 0

    def end_line() -> None:
        text = " ".join(html.unescape("".join(line)).split())
        line.clear()
        if text or (lines and lines[-1]):
            lines.append(f"{QUOTE} {text}" if quotes else text)

    for found in TOKEN.finditer(page):
        closing, tag = found[1], (found[2] or "").lower()
        if unseen:
            unseen = "" if closing and tag == unseen else unseen
        elif tag in UNSEEN and not closing:
            unseen = tag
        elif tag == QUOTING:
            end_line()
            quotes = max(quotes + (-1 if closing else 1), 0)
        elif tag in BLOCKS:
            end_line()
        elif not found[0].startswith("<") or found[0] == "<":
            line.append(found[0])
    end_line()
    return "\n".join(lines).strip("\n")


def _without_comments(page: str) -> str:
    first, *rest = page.split("<!--")
    return first + "".join(each.partition("-->")[2] for each in rest)


def cut_reply(text: str) -> str:
    """What the person wrote: without lines that begin with `>`, the line above them that says who wrote them, and the
    signature below `-- `. The whole text, if nothing else is left.
    """
    kept = list[str]()
    was_quote = False
    for line in text.splitlines():
        if line == SIGNATURE:
            break
        is_quote = line.startswith(QUOTE)
        if is_quote and not was_quote:
            _drop_head(kept)
        if not is_quote:
            kept.append(line)
        was_quote = is_quote
    return "\n".join(kept).strip() or text.strip()


def _drop_head(lines: list[str]) -> None:
    """Removes `On ... wrote:` from the end, which some programs write on several lines."""
    while lines and not lines[-1].strip():
        lines.pop()
    for count in range(1, HEAD_LINES + 1):
        if HEAD.fullmatch(" ".join(each.strip() for each in lines[-count:])):
            del lines[-count:]
            return
