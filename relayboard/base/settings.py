"""Settings, read once from the environment or a `.env` file (prefix `RELAYBOARD_`) into one typed object."""

import contextlib
import ipaddress
import math
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from dotenv import dotenv_values

from relayboard.base.mail_server import MailServer, read_mail_server
from relayboard.base.private_files import make_folder

PREFIX = "RELAYBOARD_"
SECRET_KEY_LENGTH = 16
LONGEST_DAYS = 36_500
DATABASES = ("sqlite", "postgresql", "postgres", "postgresql+psycopg2")
QUEUES = (*DATABASES, "redis", "rediss", "unix")
NO_SETTINGS = frozenset(
    {"LIFELINE_FD", "READY_FD", "CONVERSATIONS", "FLOW_CASES", "FLOW_EXAMPLES", "FUZZ_EXAMPLES", "WORKSPACE"}
)
"""Other variables with our prefix: between a service and its processes, for tests, and for the command line alone."""
KUBERNETES_LINKS = re.compile(r"(?:SERVICE_(?:HOST|PORT\w*)|PORT(?:_\d+_(?:TCP|UDP)(?:_(?:ADDR|PORT|PROTO))?)?)")
"""Variables that Kubernetes sets for a Service named `relayboard`."""
PERIODS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
SWITCHES = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Value = TypeVar("Value")


_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_BUCKET_URL = re.compile(r"s3://[a-z0-9][a-z0-9._-]{1,62}(/[^?#]*)?")
_DATABASE_URL = re.compile(
    r"""[a-z0-9+]+ ://
    ([^:/]* (:[^@]*)? @)?                     # user and password
    (\[[^/?]+\] | [^/:?]*) (:[0-9]*)?         # host and port
    (/[^?]*)? (\?.*)?                         # database and options""",
    re.VERBOSE | re.DOTALL,
)


class SettingError(Exception):
    """A setting has no usable value; the message names the variable, and never shows a secret."""

    def __init__(self, message: str, variable: str = "") -> None:
        super().__init__(message)
        self.variable = variable


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A number of requests per period, for each workspace and scope, or for each address."""

    requests: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; each environment variable has the same name in capitals. The text form contains no secrets."""

    database_url: str = field(repr=False)
    queue_url: str = field(repr=False)
    base_url: str
    secret_key: str = field(repr=False)
    secret_key_fallbacks: tuple[str, ...] = field(repr=False)
    media_url: str = field(repr=False)
    s3_endpoint: str
    s3_region: str
    s3_path_style: bool
    s3_access_key: str = field(repr=False)
    s3_secret_key: str = field(repr=False)
    rate_limit: RateLimit
    registration_limit: RateLimit
    callback_limit: RateLimit
    sign_in_limit: RateLimit
    address_sign_in_limit: RateLimit
    sign_in_days: float
    sign_in_idle_days: float
    audit_days: float
    page_size: int
    body_limit_bytes: int
    media_quota_bytes: int
    max_uploads: int
    max_workspace_uploads: int
    max_connections: int
    max_workspace_streams: int
    stream_seconds: float
    head_timeout_seconds: float
    body_timeout_seconds: float
    keep_alive_seconds: int
    trusted_proxies: tuple[Network, ...]
    webhook_allowed_networks: tuple[Network, ...]
    webhook_allowed_ports: frozenset[int]
    flow_blocked_domains: frozenset[str]
    webhook_retry_delays_seconds: tuple[float, ...]
    webhook_timeout_seconds: float
    webhook_switch_off_days: float
    smtp_url: MailServer | None = field(repr=False)
    llm_url: str = field(repr=False)
    llm_key: str = field(repr=False)
    llm_model: str
    classifier_url: str = field(repr=False)
    classifier_key: str = field(repr=False)
    airtime_url: str = field(repr=False)
    airtime_key: str = field(repr=False)
    log_format: str
    metrics: bool
    traces: bool


def load_settings(environ: Mapping[str, str] | None = None, *, makes_secret_key: bool = True) -> Settings:
    """The settings of this process. Raises SettingError, which names the invalid variable. Without an argument they are
    read from the process environment and then from the file `.env`. An empty value counts as absent. Without a
    SECRET_KEY, a key is created and stored next to the SQLite database (`var/` for other databases), or refused.
    """
    environ = read_environment() if environ is None else environ
    for sentence in list_unknown_names(environ):
        raise SettingError(sentence)
    read = _Reader(environ).read
    database_url = read("DATABASE_URL", "sqlite:///var/relayboard.db", _database_url)
    return Settings(
        database_url=database_url,
        queue_url=read("QUEUE_URL", "sqlite:///var/queue.db", _queue_url),
        base_url=read("BASE_URL", "", _base_url),
        secret_key=read("SECRET_KEY", "", _secret_key) or _kept_secret_key(database_url, makes_secret_key),
        secret_key_fallbacks=read("SECRET_KEY_FALLBACKS", "", _secret_keys),
        media_url=read("MEDIA_URL", "file://var/media", _media_url),
        s3_endpoint=read("S3_ENDPOINT", "", _service_url).rstrip("/"),
        s3_region=read("S3_REGION", "", str),
        s3_path_style=read("S3_PATH_STYLE", "off", _switch),
        s3_access_key=read("S3_ACCESS_KEY", "", _header_value),
        s3_secret_key=read("S3_SECRET_KEY", "", _header_value),
        rate_limit=read("RATE_LIMIT", "2500/hour", _rate_limit),
        registration_limit=read("REGISTRATION_LIMIT", "1000/hour", _rate_limit),
        page_size=read("PAGE_SIZE", "250", _count),
        body_limit_bytes=read("BODY_LIMIT_BYTES", "1048576", _count),
        callback_limit=read("CALLBACK_LIMIT", "6000/minute", _rate_limit),
        sign_in_limit=read("SIGN_IN_LIMIT", "10/hour", _rate_limit),
        address_sign_in_limit=read("ADDRESS_SIGN_IN_LIMIT", "100/hour", _rate_limit),
        sign_in_days=read("SIGN_IN_DAYS", "14", _age),
        sign_in_idle_days=read("SIGN_IN_IDLE_DAYS", "1", _age),
        audit_days=read("AUDIT_DAYS", "365", _days),
        media_quota_bytes=read("MEDIA_QUOTA_BYTES", "10737418240", _count),
        max_uploads=read("MAX_UPLOADS", "16", _count),
        max_workspace_uploads=read("MAX_WORKSPACE_UPLOADS", "4", _count),
        max_connections=read("MAX_CONNECTIONS", "1000", _count),
        max_workspace_streams=read("MAX_WORKSPACE_STREAMS", "100", _count),
        stream_seconds=read("STREAM_SECONDS", "120", _timeout),
        head_timeout_seconds=read("HEAD_TIMEOUT_SECONDS", "20", _timeout),
        body_timeout_seconds=read("BODY_TIMEOUT_SECONDS", "30", _timeout),
        keep_alive_seconds=read("KEEP_ALIVE_SECONDS", "65", _count),
        trusted_proxies=read("TRUSTED_PROXIES", "127.0.0.0/8,::1", _proxies),
        webhook_allowed_networks=read("WEBHOOK_ALLOWED_NETWORKS", "", _networks),
        webhook_allowed_ports=read("WEBHOOK_ALLOWED_PORTS", "", _ports),
        flow_blocked_domains=read("FLOW_BLOCKED_DOMAINS", "", _domains),
        webhook_retry_delays_seconds=read("WEBHOOK_RETRY_DELAYS_SECONDS", "10,120,900", _delays),
        webhook_timeout_seconds=read("WEBHOOK_TIMEOUT_SECONDS", "15", _timeout),
        webhook_switch_off_days=read("WEBHOOK_SWITCH_OFF_DAYS", "5", _days),
        smtp_url=read("SMTP_URL", "", read_mail_server),
        llm_url=read("LLM_URL", "", _service_url),
        llm_key=read("LLM_KEY", "", _header_value),
        llm_model=read("LLM_MODEL", "default", str),
        classifier_url=read("CLASSIFIER_URL", "", _service_url),
        classifier_key=read("CLASSIFIER_KEY", "", _header_value),
        airtime_url=read("AIRTIME_URL", "", _service_url),
        airtime_key=read("AIRTIME_KEY", "", _header_value),
        log_format=read("LOG_FORMAT", "text", _log_format),
        metrics=read("METRICS", "on", _switch),
        traces=read("TRACES", "off", _switch),
    )


def read_environment() -> Mapping[str, str]:
    """The variables of this process, and for those that it leaves out the file `.env`."""
    from_file = {name: value for name, value in dotenv_values(".env").items() if value is not None}
    return {**from_file, **os.environ}


def sqlite_file(url: str) -> Path | None:
    """The file of a URL like `sqlite:///var/queue.db`; None for a database in memory and for other databases."""
    scheme, _, rest = url.partition("://")
    name = rest.partition("?")[0].partition("/")[2]
    return Path(name) if scheme == "sqlite" and name not in ("", ":memory:") else None


def is_postgres(url: str) -> bool:
    """Whether a URL can be that of a database in PostgreSQL."""
    try:
        return _database_url(url).startswith("postgres")
    except ValueError:
        return False


def list_unknown_names(environ: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable with our prefix that is not a setting: most likely a typing error. It begins with
    the name."""
    known = [each.name.upper() for each in fields(Settings)]
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in known or name in NO_SETTINGS or KUBERNETES_LINKS.fullmatch(name):
            continue
        import difflib  # noqa: PLC0415  # nothing else needs it

        alike = difflib.get_close_matches(name.upper(), known, 1)
        hint = f"; did you mean {PREFIX}{alike[0]}?" if alike else ": docs/operating.md lists those there are"
        yield f"{variable} is not a setting{hint}"


class _Reader:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ

    def read(self, name: str, default: str, convert: Callable[[str], Value]) -> Value:
        text = self.environ.get(PREFIX + name, "").strip() or default
        try:
            return convert(text)
        except ValueError as error:
            raise SettingError(f"{PREFIX}{name} cannot be used: {error}", PREFIX + name) from None


def _scheme(text: str, allowed: tuple[str, ...], example: str) -> str:
    scheme, separator, _ = text.partition("://")
    if not separator or scheme not in allowed:
        raise ValueError(f"expected a URL like {example}")
    return text


def _database_url(text: str) -> str:
    example = "sqlite:///var/relayboard.db or postgresql://user:password@host/name"
    if not _DATABASE_URL.fullmatch(_scheme(text, DATABASES, example)):
        raise ValueError(f"expected a URL like {example}")
    return text


def _queue_url(text: str) -> str:
    example = "sqlite:///var/queue.db, postgresql://... or redis://..."
    if not _scheme(text, QUEUES, example).startswith(DATABASES):
        return text
    if not _DATABASE_URL.fullmatch(text):
        raise ValueError(f"expected a URL like {example}")
    if text.startswith("sqlite") and sqlite_file(text) is None:
        raise ValueError("a queue in SQLite needs a file, because processes share it")
    return text


def _media_url(text: str) -> str:
    example = "file://var/media or s3://bucket/prefix"
    if _scheme(text, ("file", "s3"), example).startswith("s3:") and not _BUCKET_URL.fullmatch(text):
        raise ValueError(f"expected a URL like {example}")
    return text


def _base_url(text: str) -> str:
    return _scheme(text, ("http", "https"), "https://sms.example.org").rstrip("/") if text else ""


def _service_url(text: str) -> str:
    """A URL that is called unchanged, without user information, which every call would refuse."""
    try:
        parts = urlsplit(text)
        is_callable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_callable = False
    if text and (not is_callable or "@" in parts.netloc):
        raise ValueError("expected a URL like https://host/path, without user and password")
    return text


def _secret_key(text: str) -> str:
    if text and len(text) < SECRET_KEY_LENGTH:
        raise ValueError(f"it needs at least {SECRET_KEY_LENGTH} characters")
    if "," in text:
        raise ValueError("it must not contain a comma, which separates keys in SECRET_KEY_FALLBACKS")
    return text


def _secret_keys(text: str) -> tuple[str, ...]:
    return tuple(_secret_key(part.strip()) for part in text.split(",") if part.strip())


def _header_value(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        raise ValueError("it must be printable ASCII")
    return text


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 18 or int(text) < 1:
        raise ValueError("expected a whole number of at least 1")
    return int(text)


def _rate_limit(text: str) -> RateLimit:
    requests, _, period = text.partition("/")
    if period not in PERIODS:
        raise ValueError(f"expected a form like 2500/hour (periods: {', '.join(PERIODS)})")
    return RateLimit(_count(requests), PERIODS[period])


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def _proxies(text: str) -> tuple[Network, ...]:
    return () if text == "none" else _networks(text)


def _ports(text: str) -> frozenset[int]:
    ports = frozenset(_count(part.strip()) for part in text.split(",") if part.strip())
    if any(port > 65_535 for port in ports):
        raise ValueError("a port is a number up to 65535")
    return ports


def _domains(text: str) -> frozenset[str]:
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


def _seconds(text: str) -> float:
    seconds = _number(text)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError("expected seconds, like 15 or 0.5")
    return seconds


def _days(text: str) -> float:
    days = _number(text)
    if not 0 <= days <= LONGEST_DAYS:
        raise ValueError("expected days, like 5 or 0.5; 0 means never")
    return days


def _age(text: str) -> float:
    days = _days(text)
    if days == 0:
        raise ValueError("expected days above 0, like 14 or 0.5")
    return days


def _delays(text: str) -> tuple[float, ...]:
    return tuple(_seconds(part) for part in text.split(",") if part.strip())


def _timeout(text: str) -> float:
    seconds = _seconds(text)
    if seconds == 0:
        raise ValueError("a timeout must be above 0")
    return seconds


def _log_format(text: str) -> str:
    if text not in ("text", "json"):
        raise ValueError("expected text or json")
    return text


def _switch(text: str) -> bool:
    if text.lower() not in SWITCHES:
        raise ValueError("expected on or off")
    return SWITCHES[text.lower()]


def _kept_secret_key(database_url: str, makes_one: bool) -> str:
    """The key created at the first start, in a file that only its owner can read; processes that start at the same time
    use the same key."""
    path = kept_key_file(database_url)
    if not makes_one and not path.exists():
        raise SettingError(f"{PREFIX}SECRET_KEY is not set and there is no {path}: give the key of this installation")
    try:
        if not path.exists():
            _write_secret_key(path)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise SettingError(f"{PREFIX}SECRET_KEY is not set and {path} cannot be used: {error}") from error
    if len(key) < SECRET_KEY_LENGTH:
        raise SettingError(f"{PREFIX}SECRET_KEY is not set and {path} holds no key")
    return key


def kept_key_file(database_url: str) -> Path:
    """Where the key is that was created because none was set."""
    database = sqlite_file(database_url)
    return (Path("var") if database is None else database.parent) / "secret.key"


def _write_secret_key(path: Path) -> None:
    make_folder(path.parent)
    descriptor, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):  # another process was first, so its key is used
            os.link(draft, path)
    finally:
        os.unlink(draft)
