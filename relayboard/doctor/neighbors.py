"""What else the service needs: its queue, its own address as clients see it, the mail server, phones."""

import smtplib
import ssl
from typing import Any
from urllib.parse import urlsplit

import requests

from persistence.channels.states import LOST_AFTER
from relayboard.base.mail_server import STARTTLS, TLS, MailServer
from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, make_probe
from relayboard.base.settings import Settings
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding, Findings
from worker.app import check_queue
from worker.errors import QueueError

SECONDS = 10.0
LOST_MINUTES = round(LOST_AFTER.total_seconds() / 60)


def check_queue_driver(settings: Settings) -> Findings:
    kind = settings.queue_url.partition("://")[0]
    try:
        check_queue(settings.queue_url)
    except ImportError as error:
        yield Finding("queue", PROBLEM, f"the driver for {kind} is missing ({error.name}): install it with pip")
    except QueueError as error:
        reason = " ".join(str(error).split())
        yield Finding("queue", PROBLEM, f"{reason}: start it, or correct RELAYBOARD_QUEUE_URL")
    else:
        yield Finding("queue", OK, f"in {kind}, it answers")


def check_base_url(settings: Settings, *, knows_key: bool) -> Findings:
    """Asks the service through the address that clients use, and what it sees of the request. The service tells only
    those who know its key.
    """
    if not settings.base_url:
        yield Finding(
            "base URL", WARNING, "RELAYBOARD_BASE_URL is not set: set the address that clients and phones use"
        )
        return
    try:
        answer = requests.get(
            settings.base_url + PROBE_PATH,
            headers={PROBE_HEADER: make_probe(settings.secret_key)},
            timeout=SECONDS,
            allow_redirects=False,
        )
    except requests.exceptions.SSLError as error:
        yield Finding(
            "base URL", PROBLEM, f"the certificate of {settings.base_url} is not good ({_short(error)}): renew it"
        )
        return
    except (requests.RequestException, ValueError) as error:
        yield Finding(
            "base URL",
            PROBLEM,
            f"nobody answers at {settings.base_url} ({_short(error)}): start the service, or correct "
            "RELAYBOARD_BASE_URL, its name server entry or the proxy",
        )
        return
    seen = _read_seen(answer)
    if seen is None and not knows_key:
        yield Finding(
            "base URL",
            WARNING,
            f"somebody answers at {settings.base_url}: set the right key to see whether it is this one",
        )
        return
    if seen is None:
        yield Finding(
            "base URL",
            PROBLEM,
            f"{settings.base_url} answers with status {answer.status_code}, but it is not this installation: correct "
            "RELAYBOARD_BASE_URL, or let the proxy pass requests and their headers on to it",
        )
        return
    yield from _judge_seen(settings, seen)


def _read_seen(answer: requests.Response) -> dict[str, Any] | None:
    """What the service saw; None when it is not ours, or does not know the key."""
    try:
        read = answer.json()
        seen = read.get("seen") if isinstance(read, dict) else None
    except ValueError:
        return None
    return seen if isinstance(seen, dict) else None


def _judge_seen(settings: Settings, seen: dict[str, Any]) -> Findings:
    if seen["is_forwarded"] and not seen["is_trusted"]:
        yield Finding(
            "base URL",
            PROBLEM,
            f"the proxy at {seen['client']} is not trusted, so all clients look like that one: add {seen['client']} to "
            "RELAYBOARD_TRUSTED_PROXIES",
        )
        return
    wanted = urlsplit(settings.base_url).scheme
    if seen["scheme"] != wanted:
        yield Finding(
            "base URL",
            PROBLEM,
            f"clients use {wanted}, and the service sees {seen['scheme']}: let the proxy set X-Forwarded-Proto and "
            "X-Forwarded-For",
        )
        return
    yield Finding("base URL", OK, f"{settings.base_url} leads to this installation, which sees clients as they are")


def check_mail(settings: Settings) -> Findings:
    """Signs in to the mail server and sends nothing."""
    if settings.smtp_url is None:
        yield Finding("mail", OK, "no mail server is set (RELAYBOARD_SMTP_URL), so flows send no e-mail")
        return
    server = settings.smtp_url
    try:
        _sign_in(server)
    except (OSError, smtplib.SMTPException) as error:
        yield Finding(
            "mail",
            PROBLEM,
            f"the mail server {server.host}:{server.port} cannot be used ({_short(error)}): start it, or correct "
            "RELAYBOARD_SMTP_URL",
        )
    else:
        yield Finding("mail", OK, f"{server.host}:{server.port} takes mail from {server.sender}")


def _sign_in(server: MailServer) -> None:
    context = ssl.create_default_context()
    if server.security == TLS:
        connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=SECONDS, context=context)
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=SECONDS)
    with connection:
        if server.security == STARTTLS:
            connection.starttls(context=context)
        if server.user:
            connection.login(server.user, server.password)
        connection.noop()


def check_push(phones: int | None, silent: int) -> Findings:
    """There is no push to set up, so what counts is whether phones ask; `phones` is None if nobody could count them."""
    why = "none is sent, and none has to be set up: phones ask for their messages by themselves"
    if phones is None:
        yield Finding("push", OK, why)
    elif phones == 0:
        yield Finding("push", OK, f"{why}; there is no phone yet")
    elif silent:
        yield Finding(
            "push",
            WARNING,
            f"{why}, but {silent} of {phones} {'have' if silent > 1 else 'has'} not asked for {LOST_MINUTES} minutes: "
            "open the app on them, keep battery savers off it, and look whether they have a network",
        )
    else:
        yield Finding("push", OK, f"{why}, and none of {phones} has been silent for {LOST_MINUTES} minutes")


def _short(error: Exception) -> str:
    """The innermost reason, without addresses of objects."""
    while isinstance(error.__context__, Exception) and not isinstance(error, smtplib.SMTPException):
        error = error.__context__
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
