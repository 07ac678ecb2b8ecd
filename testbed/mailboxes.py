"""A mailbox that speaks IMAP4rev1, as much of it as it takes to read a folder: it logs in, examines, searches and
fetches. Each connection is a thread; nothing can be changed in it.
"""

import contextlib
import re
import socketserver
import ssl
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage

USER, PASSWORD = "clinic", "pass"
UID_COMMAND = re.compile(r"UID (SEARCH|FETCH) (.*)")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
CAPABILITIES = "IMAP4rev1"


@dataclass(frozen=True, slots=True)
class Stored:
    """A mail of the folder."""

    number: int
    content: bytes
    arrived_on: datetime


def write_mail(text: str, sender: str = "zoe@example.com", file: bytes = b"", **headers: str) -> bytes:
    """A mail as a person writes it, perhaps with a file; headers with `_` for `-`."""
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, "clinic@example.org"
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    if file:
        mail.add_attachment(file, maintype="image", subtype="png", filename="a.png")
    return mail.as_bytes()


class Mailbox:
    """`mails` by their number. `commands` are the words that clients said, without logins; `reads` the numbers of mails
    that were asked for whole. `before_giving` is called before each of these; what it raises ends the connection.
    `most_open` is how many clients were there at a time.
    """

    def __init__(self, starttls: ssl.SSLContext | None = None) -> None:
        self.starttls = starttls
        self.mails: dict[int, Stored] = {}
        self.validity, self.following = 7, 1
        self.password = PASSWORD
        self.capabilities = CAPABILITIES
        self.commands: list[str] = []
        self.logins: list[str] = []
        self.reads: list[int] = []
        self.before_giving: Callable[[int], object] = lambda _number: None
        self.babble = b""
        self.port = self.open = self.most_open = 0
        self.lock = threading.Lock()

    def add(self, content: bytes, arrived_on: datetime) -> int:
        """A new mail; returns its number."""
        with self.lock:
            number, self.following = self.following, self.following + 1
            self.mails[number] = Stored(number, content, arrived_on)
        return number

    def renumber(self, first: int) -> None:
        """As after the server was restored: the numbers are other ones, and nothing is known by the former."""
        with self.lock:
            mails, self.validity = sorted(self.mails.values(), key=lambda each: each.number), self.validity + 1
            self.mails = {first + at: Stored(first + at, *_rest(each)) for at, each in enumerate(mails)}
            self.following = first + len(mails)

    def search(self, criteria: str) -> list[int]:
        with self.lock:
            mails = sorted(self.mails.values(), key=lambda each: each.number)
        kind, _, value = criteria.partition(" ")
        if kind == "SINCE":
            day = datetime.strptime(value, "%d-%b-%Y").replace(tzinfo=UTC)
            return [each.number for each in mails if each.arrived_on >= day]
        first = int(value.partition(":")[0])  # what follows is `*`, the last one, which may have a smaller number
        found = [each.number for each in mails if each.number >= first]
        return found or [each.number for each in mails[-1:]]


def _rest(stored: Stored) -> tuple[bytes, datetime]:
    return stored.content, stored.arrived_on


def _unquoted(said: str) -> tuple[str, str]:
    user, password = (re.sub(r"\\(.)", r"\1", each) for each in QUOTED.findall(said))
    return user, password


class _Conversation(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        mailbox = self.server.mailbox
        with mailbox.lock:
            mailbox.open += 1
            mailbox.most_open = max(mailbox.most_open, mailbox.open)
        try:
            with contextlib.suppress(OSError, ssl.SSLError):
                self._talk(mailbox)
        finally:
            with mailbox.lock:
                mailbox.open -= 1

    def _talk(self, mailbox: Mailbox) -> None:
        is_secure = self.server.context is not None
        if self.server.context is not None:
            self._secure(self.server.context)
        self._say(b"* OK here")
        while line := self.rfile.readline(10_000):
            tag, _, said = line.decode().rstrip("\r\n").partition(" ")
            if not said.startswith("LOGIN"):
                mailbox.commands.append(said)
            if said == "STARTTLS" and mailbox.starttls is not None:
                self._say(f"{tag} OK go on".encode())
                self._secure(mailbox.starttls)
                is_secure = True
                continue
            try:
                answer = self._answer(mailbox, said, is_secure=is_secure)
            except ConnectionError:
                return
            self._say(f"{tag} {answer}".encode())
            if said == "LOGOUT":
                return

    def _answer(self, mailbox: Mailbox, said: str, *, is_secure: bool) -> str:
        command = said.partition(" ")[0]
        if command == "CAPABILITY":
            offers = " STARTTLS" if mailbox.starttls is not None and not is_secure else ""
            self._say(f"* CAPABILITY {mailbox.capabilities}{offers}".encode())
        elif command in ("LOGIN", "AUTHENTICATE"):
            user, password = self._read_login() if command == "AUTHENTICATE" else _unquoted(said)
            mailbox.logins.append(user)
            if (user, password) != (USER, mailbox.password) or (mailbox.starttls is not None and not is_secure):
                return f"NO the password {password} is wrong"
        elif command == "EXAMINE":
            if said != 'EXAMINE "INBOX"':
                return "NO there is no such folder"
            self._say(mailbox.babble + f"* {len(mailbox.mails)} EXISTS".encode())
            self._say(f"* OK [UIDVALIDITY {mailbox.validity}] valid".encode())
            self._say(f"* OK [UIDNEXT {mailbox.following}] next".encode())
        elif (found := UID_COMMAND.fullmatch(said)) is not None:
            (self._search if found[1] == "SEARCH" else self._fetch)(mailbox, found[2])
        elif command != "LOGOUT":
            return "BAD nothing is changed here"
        return "OK done"

    def _read_login(self) -> tuple[str, str]:
        """SASL PLAIN."""
        self._say(b"+ ")
        _, user, password = b64decode(self.rfile.readline(1000)).decode().split("\0")
        return user, password

    def _search(self, mailbox: Mailbox, criteria: str) -> None:
        numbers = mailbox.search(criteria)
        self._say(("* SEARCH " + " ".join(map(str, numbers))).encode())

    def _fetch(self, mailbox: Mailbox, said: str) -> None:
        listed, _, wanted = said.partition(" ")
        for place, number in enumerate(map(int, listed.split(",")), start=1):
            mail = mailbox.mails.get(number)
            if mail is None:
                continue
            if "BODY.PEEK[]" in wanted:
                mailbox.reads.append(number)
                mailbox.before_giving(number)
                head = f"* {place} FETCH (UID {number} BODY[] {{{len(mail.content)}}}\r\n".encode()
                self._say(head + mail.content + b")")
            else:
                arrived = mail.arrived_on.astimezone(UTC).strftime("%d-%b-%Y %H:%M:%S +0000")
                about = f"UID {number} RFC822.SIZE {len(mail.content)} INTERNALDATE"
                self._say(f'* {place} FETCH ({about} "{arrived}")'.encode())

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")

    def _secure(self, context: ssl.SSLContext) -> None:
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)

    def finish(self) -> None:
        super().finish()
        self.connection.close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, mailbox: Mailbox, context: ssl.SSLContext | None) -> None:
        self.mailbox, self.context = mailbox, context
        super().__init__(("127.0.0.1", 0), _Conversation)


@contextlib.contextmanager
def running_mailbox(tls: ssl.SSLContext | None = None, *, starttls: ssl.SSLContext | None = None) -> Iterator[Mailbox]:
    """A mailbox on this machine."""
    mailbox = Mailbox(starttls)
    with _Server(mailbox, tls) as server:
        mailbox.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield mailbox
        finally:
            server.shutdown()
            thread.join()
