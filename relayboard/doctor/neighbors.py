"""What else the service needs: its queue, its own address as clients see it, the mail server, phones."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests

from flows.engine.services import ServiceError
from persistence.channels.channels import LOST_AFTER
from persistence.database import utc_now
from persistence.service.diagnosis import Heartbeat
from relayboard.base.certificates import explain_tls
from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, make_probe
from relayboard.base.settings import Settings
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding, Findings
from worker.app import OTHER_QUEUE, SAME_QUEUE, check_queue, look_for_other_queues
from worker.errors import QueueError
from worker.flows.services.email import check_mail_server
from worker.push.fcm import AccountUnusable, Unavailable, open_account
from worker.runtime import open_http

SECONDS = 10.0
LOST_MINUTES = round(LOST_AFTER.total_seconds() / 60)


NEAR = "http://127.0.0.1:8080"
"""Where `serve` listens unless it is told."""


def check_queue_driver(settings: Settings, workers: Sequence[Heartbeat]) -> Findings:
    """Whether the queue answers, and whether all alive workers use this one."""
    kind = settings.queue_url.partition("://")[0]
    others: list[str] = []
    try:
        check_queue(settings.queue_url)
        others = look_for_other_queues(settings.queue_url, workers)
    except ImportError as error:
        yield Finding("queue", PROBLEM, f"the driver for {kind} is missing ({error.name}): install it with pip")
    except QueueError as error:
        reason = " ".join(str(error).split())
        yield Finding("queue", PROBLEM, f"{reason}: start it, or correct RELAYBOARD_QUEUE_URL")
    else:
        if others:
            yield Finding("queue", PROBLEM, f"{OTHER_QUEUE.format(hosts=', '.join(others))}: {SAME_QUEUE}")
            return
        yield Finding("queue", OK, f"in {kind}, it answers")


def check_base_url(settings: Settings, *, knows_key: bool) -> Findings:
    """Asks the service through the address that clients use, and what it sees of the request. The service tells only
    those who know its key.
    """
    if not settings.base_url:
        yield Finding(
            "base URL", WARNING, "RELAYBOARD_BASE_URL is not set: set the address that clients and phones use"
        )
        with contextlib.suppress(requests.RequestException):
            if knows_key and _read_seen(_probe(settings, NEAR)) is not None:
                yield from _ask_service(NEAR)
        return
    try:
        answer = _probe(settings, settings.base_url)
    except requests.exceptions.SSLError as error:
        yield Finding(
            "base URL",
            PROBLEM,
            f"clients that call {settings.base_url} are refused: {explain_tls(error) or _short(error)}",
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
    yield from _ask_service(settings.base_url)


def _probe(settings: Settings, url: str) -> requests.Response:
    headers = {PROBE_HEADER: make_probe(settings.secret_key)}
    return requests.get(url + PROBE_PATH, headers=headers, timeout=SECONDS, allow_redirects=False)


def _ask_service(url: str) -> Findings:
    """What the running service finds wrong with itself: it may see what this program does not, such as a file that was
    replaced under it.
    """
    try:
        said = requests.get(f"{url}/health/ready", timeout=SECONDS, allow_redirects=False).json()
    except (requests.RequestException, ValueError) as error:
        yield Finding("service", PROBLEM, f"it does not say whether it is ready ({_short(error)}): look into its log")
        return
    reasons = {**dict.fromkeys(said.get("failing", []), ""), **said.get("reasons", {}), **said.get("warnings", {})}
    for name, reason in sorted(reasons.items()):
        sentence = f"the running service says of its {name}: {reason or 'it cannot be used'}"
        yield Finding("service", PROBLEM, f"{sentence}. Mend what is told above, or look into its log")


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
        check_mail_server(server, SECONDS)
    except ServiceError as error:
        yield Finding(
            "mail",
            PROBLEM,
            f"the mail server {server.host}:{server.port} cannot be used ({error}): start it, or correct "
            "RELAYBOARD_SMTP_URL",
        )
    else:
        yield Finding("mail", OK, f"{server.host}:{server.port} takes mail from {server.sender}")


@dataclass(frozen=True, slots=True)
class PhonesSeen:
    """What the database says of claimed phones: how many there are, how many are silent, how many could not be pushed
    in the last day, and why the last one was not."""

    count: int
    silent: int
    unpushed: int = 0
    last_error: str | None = None


def check_push(settings: Settings, phones: PhonesSeen | None) -> Findings:
    """Tries out the account of Firebase, if there is one, by a message that is checked and not sent; and tells which
    phones are not pushed, and whether phones ask. `phones` is None if nobody could count them.
    """
    why = "without an account of Firebase (RELAYBOARD_FCM_ACCOUNT_FILE) phones ask by themselves every ten minutes"
    if settings.fcm_account:
        sentence = _try_account(settings)
        if sentence is not None:
            yield Finding("push", PROBLEM, sentence)
            return
        why = "Firebase takes messages of the service account"
    if phones is not None and phones.unpushed:
        rest = f"{phones.unpushed} of {phones.count} phones could not be pushed in the last day, the last one because"
        yield Finding("push", WARNING, f"{rest} {phones.last_error} They come by themselves every ten minutes")
    elif phones is not None and phones.silent:
        yield Finding(
            "push",
            WARNING,
            f"{why}, but {phones.silent} of {phones.count} {'have' if phones.silent > 1 else 'has'} not asked for "
            f"{LOST_MINUTES} minutes: open the app on them, keep battery savers off it, and look whether they have a "
            "network",
        )
    elif phones is not None and phones.count:
        yield Finding("push", OK, f"{why}, and none of {phones.count} has been silent for {LOST_MINUTES} minutes")
    else:
        yield Finding("push", OK, why if phones is None else f"{why}; there is no phone yet")


def _try_account(settings: Settings) -> str | None:
    """What is wrong with the account of Firebase, and what to do."""
    http = open_http(settings)
    account = open_account(settings, http, utc_now)
    assert account is not None, "somebody has set one"
    try:
        account.try_out()
    except AccountUnusable as error:
        return (
            f"Firebase cannot be used ({error}): give RELAYBOARD_FCM_ACCOUNT_FILE the file of a service account that "
            "may send messages of this project, and switch on the Firebase Cloud Messaging API"
        )
    except Unavailable as error:
        return f"Firebase cannot be asked ({error}): let this machine reach Google, and look whether its clock is right"
    finally:
        http.close()
    return None


def _short(error: Exception) -> str:
    """The innermost reason, without addresses of objects."""
    while isinstance(error.__context__, Exception):
        error = error.__context__
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__
