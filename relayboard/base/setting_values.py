"""The values of settings, read from texts. Each function raises ValueError, which says what was expected."""

import ipaddress
import json
import logging
import math
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

SERVICE_ACCOUNT = ("project_id", "client_email", "private_key", "token_uri")
"""What the file of a service account must contain."""
SECRET_KEY_LENGTH = 16
LONGEST_DAYS = 36_500
LONGEST_HOLD_SECONDS = 50
DATABASES = ("sqlite", "postgresql", "postgres", "postgresql+psycopg2")
QUEUES = (*DATABASES, "redis", "rediss", "unix")
PERIODS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
LOG_LEVELS = ("debug", "info", "warning", "error")
SWITCHES = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_BUCKET_LENGTHS = range(3, 64)
_DATABASE_URL = re.compile(
    r"""[a-z0-9+]+ ://
    ([^:/]* (:[^@]*)? @)?                     # user and password
    (\[[^/?]+\] | [^/:?]*) (:[0-9]*)?         # host and port
    (/[^?]*)? (\?.*)?                         # database and options""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests per period, for each workspace and scope, or for each address."""

    requests: int
    period: timedelta


def sqlite_file(url: str) -> Path | None:
    """The file of a URL like `sqlite:///var/queue.db`; None for a database in memory and for other databases."""
    scheme, _, rest = url.partition("://")
    name = rest.partition("?")[0].partition("/")[2]
    return Path(name) if scheme == "sqlite" and name not in ("", ":memory:") else None


def is_postgres(url: str) -> bool:
    """Whether a URL can be that of a database in PostgreSQL."""
    try:
        return read_database_url(url).startswith("postgres")
    except ValueError:
        return False


def _scheme(text: str, allowed: tuple[str, ...], example: str) -> str:
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in allowed:
        raise ValueError(f"expected a URL like {example}")
    return text


def read_database_url(text: str) -> str:
    example = "sqlite:///var/relayboard.db or postgresql://user:password@host/name"
    if not _DATABASE_URL.fullmatch(_scheme(text, DATABASES, example)):
        raise ValueError(f"expected a URL like {example}")
    return text


def read_pooled_url(text: str) -> str:
    """The URL of a database in PostgreSQL, or nothing."""
    if not text:
        return text
    example = "postgresql://user:password@host:6432/name"
    if not _DATABASE_URL.fullmatch(_scheme(text, DATABASES, example)) or text.startswith("sqlite"):
        raise ValueError(f"expected a URL like {example}")
    return text


def read_queue_url(text: str) -> str:
    example = "sqlite:///var/queue.db, postgresql://... or redis://..."
    if not _scheme(text, QUEUES, example).startswith(DATABASES):
        return text
    if not _DATABASE_URL.fullmatch(text):
        raise ValueError(f"expected a URL like {example}")
    if text.startswith("sqlite") and sqlite_file(text) is None:
        raise ValueError("a queue in SQLite needs a file, because processes share it")
    return text


def read_media_url(text: str) -> str:
    example = "file://var/media or s3://bucket/prefix"
    if _scheme(text, ("file", "s3"), example).startswith("s3:"):
        _check_bucket(text, example)
    return text


def _check_bucket(text: str, example: str) -> None:
    """Raises ValueError that says what is wrong with the URL of a bucket."""
    bucket, _, prefix = text.removeprefix("s3://").partition("/")
    if not text.startswith("s3://") or "?" in prefix or "#" in prefix:
        raise ValueError(f"expected a URL like {example}")
    if len(bucket) not in _BUCKET_LENGTHS:
        raise ValueError(f"the name of a bucket has 3 to 63 characters, this one has {len(bucket)}")
    if not _BUCKET_NAME.fullmatch(bucket):
        raise ValueError(
            "the name of a bucket has only small letters, digits, dots and hyphens, and begins with neither"
        )


def read_base_url(text: str) -> str:
    return _scheme(text, ("http", "https"), "https://sms.example.org").rstrip("/") if text else ""


def read_service_url(text: str) -> str:
    """A URL that is called unchanged, without user information, which every call would refuse."""
    try:
        parts = urlsplit(text)
        is_callable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_callable = False
    if text and (not is_callable or "@" in parts.netloc):
        raise ValueError("expected a URL like https://host/path, without user and password")
    return text


def read_service_account(text: str) -> str:
    """The file of a service account of Google, as JSON."""
    if not text:
        return ""
    try:
        account = json.loads(text)
    except ValueError:
        account = None
    if not isinstance(account, dict) or account.get("type") != "service_account":
        raise ValueError("expected the JSON file of a service account")
    missing = [name for name in SERVICE_ACCOUNT if not isinstance(account.get(name), str) or not account[name]]
    if missing:
        raise ValueError(f"the service account has no {missing[0]}")
    return text


def read_secret_key(text: str) -> str:
    if text and len(text) < SECRET_KEY_LENGTH:
        raise ValueError(f"it needs at least {SECRET_KEY_LENGTH} characters")
    if "," in text:
        raise ValueError("it must not contain a comma, which separates keys in SECRET_KEY_FALLBACKS")
    return text


def read_secret_keys(text: str) -> tuple[str, ...]:
    return tuple(read_secret_key(part.strip()) for part in text.split(",") if part.strip())


def read_header_value(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it must be printable ASCII")
    return text


def read_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 18 or int(text) < 1:
        raise ValueError("expected a whole number of at least 1")
    return int(text)


def read_rate_limit(text: str) -> RateLimit:
    requests, _, period = text.partition("/")
    if period not in PERIODS:
        raise ValueError(f"expected a form like 2500/hour (periods: {', '.join(PERIODS)})")
    return RateLimit(read_count(requests), PERIODS[period])


def read_networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def read_proxies(text: str) -> tuple[Network, ...]:
    return () if text == "none" else read_networks(text)


def read_ports(text: str) -> frozenset[int]:
    ports = frozenset(read_count(part.strip()) for part in text.split(",") if part.strip())
    if any(port > 65_535 for port in ports):
        raise ValueError("a port is a number up to 65535")
    return ports


def read_domains(text: str) -> frozenset[str]:
    domains = frozenset(part.strip().lower().strip(".") for part in text.split(",") if part.strip())
    if not all(_DOMAIN.fullmatch(domain) for domain in domains):
        raise ValueError("expected domains, like example.com,example.org")
    return domains


def _number(text: str) -> float:
    """The number in a string, or NaN if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def read_seconds(text: str) -> float:
    seconds = _number(text)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError("expected seconds, like 15 or 0.5")
    return seconds


def read_hold(text: str) -> float:
    seconds = read_seconds(text)
    if seconds > LONGEST_HOLD_SECONDS:
        raise ValueError(f"expected at most {LONGEST_HOLD_SECONDS} seconds: phones and proxies give up on late answers")
    return seconds


def read_days(text: str) -> float:
    days = _number(text)
    if not 0 <= days <= LONGEST_DAYS:
        raise ValueError("expected days, like 5 or 0.5, or 0")
    return days


def read_age(text: str) -> float:
    days = _number(text)
    if not 0 < days <= LONGEST_DAYS:
        raise ValueError("expected days above 0, like 14 or 0.5")
    return days


def read_delays(text: str) -> tuple[float, ...]:
    return tuple(read_seconds(part) for part in text.split(",") if part.strip())


def read_timeout(text: str) -> float:
    seconds = read_seconds(text)
    if seconds == 0:
        raise ValueError("a timeout must be above 0")
    return seconds


def read_log_format(text: str) -> str:
    if text not in ("text", "json"):
        raise ValueError("expected text or json")
    return text


def read_log_level(text: str) -> int:
    if text.lower() not in LOG_LEVELS:
        raise ValueError(f"expected {', '.join(LOG_LEVELS)}")
    return logging.getLevelNamesMapping()[text.upper()]


def read_switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise ValueError("expected on or off")
    return SWITCHES[text.lower()]


def read_endpoint(text: str) -> str:
    return read_service_url(text).rstrip("/")
