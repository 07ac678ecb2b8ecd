"""Settings, read once from the environment or a `.env` file (prefix `RELAYBOARD_`) into one typed object."""

import ipaddress
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from dotenv import dotenv_values
from sqlalchemy.engine import make_url

PREFIX = "RELAYBOARD_"
PERIODS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Value = TypeVar("Value")


class SettingError(Exception):
    """A setting has no usable value; the message names it."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """So many requests per period, for each workspace and scope."""

    requests: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of design section 6; each is the environment variable of its name in capitals."""

    database_url: str
    queue_url: str
    base_url: str
    secret_key: str
    media_url: str
    rate_limit: RateLimit
    page_size: int
    body_limit_bytes: int
    webhook_allowed_networks: tuple[Network, ...]
    webhook_retry_delays_seconds: tuple[float, ...]
    webhook_timeout_seconds: float
    log_format: str
    metrics: bool


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process. Raises SettingError naming the variable that cannot be used.

    Without an argument the process environment counts, and for what it leaves out the file `.env`.
    """
    if environ is None:
        from_file = {name: value for name, value in dotenv_values(".env").items() if value is not None}
        environ = {**from_file, **os.environ}
    read = _Reader(environ).read
    database_url = read("DATABASE_URL", "sqlite:///var/relayboard.db", _url)
    return Settings(
        database_url=database_url,
        queue_url=read("QUEUE_URL", "sqlite:///var/queue.db", _url),
        base_url=read("BASE_URL", "", str),
        secret_key=environ.get(PREFIX + "SECRET_KEY") or _kept_secret_key(database_url),
        media_url=read("MEDIA_URL", "file://var/media", str),
        rate_limit=read("RATE_LIMIT", "2500/hour", _rate_limit),
        page_size=read("PAGE_SIZE", "250", _positive),
        body_limit_bytes=read("BODY_LIMIT_BYTES", "1048576", _positive),
        webhook_allowed_networks=read("WEBHOOK_ALLOWED_NETWORKS", "", _networks),
        webhook_retry_delays_seconds=read("WEBHOOK_RETRY_DELAYS_SECONDS", "10,120,900", _delays),
        webhook_timeout_seconds=read("WEBHOOK_TIMEOUT_SECONDS", "15", float),
        log_format=read("LOG_FORMAT", "text", _log_format),
        metrics=read("METRICS", "on", _switch),
    )


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ

    def read(self, name: str, default: str, convert: Callable[[str], Value]) -> Value:
        text = self.environ.get(PREFIX + name, "").strip() or default
        try:
            return convert(text)
        except ValueError as error:
            raise SettingError(f"{PREFIX}{name} cannot be used: {error}") from error


def _url(text: str) -> str:
    if "://" not in text:
        raise ValueError("it is no URL")
    return text


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("it has to be at least 1")
    return number


def _rate_limit(text: str) -> RateLimit:
    requests, separator, period = text.partition("/")
    if not separator or period not in PERIODS:
        raise ValueError("expected a form like 2500/hour")
    return RateLimit(_positive(requests), PERIODS[period])


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def _delays(text: str) -> tuple[float, ...]:
    delays = tuple(float(part) for part in text.split(",") if part.strip())
    if any(delay < 0 for delay in delays):
        raise ValueError("delays cannot be negative")
    return delays


def _log_format(text: str) -> str:
    if text not in ("text", "json"):
        raise ValueError("expected text or json")
    return text


def _switch(text: str) -> bool:
    words = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}
    if text.lower() not in words:
        raise ValueError("expected on or off")
    return words[text.lower()]


def _kept_secret_key(database_url: str) -> str:
    """The key made at the first start, kept in a file only its owner can read beside the SQLite database."""
    url = make_url(database_url)
    embedded = url.get_backend_name() == "sqlite" and url.database
    path = (Path(url.database).parent if embedded and url.database else Path("var")) / "secret.key"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
    return path.read_text().strip()
