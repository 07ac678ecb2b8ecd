"""Settings, read once from the environment or a `.env` file (prefix `RELAYBOARD_`) into one typed object. Each field of
`Settings` declares its text form, default and meaning; `python -m tools.settings_page` writes docs/settings.md of them.
"""

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast

from dotenv import dotenv_values

from relayboard.base.mail_server import MailServer, read_mail_server
from relayboard.base.private_files import make_folder
from relayboard.base.setting_values import (
    SECRET_KEY_LENGTH,
    read_age,
    read_base_url,
    read_count,
    read_database_url,
    read_days,
    read_delays,
    read_domains,
    read_endpoint,
    read_header_value,
    read_hold,
    read_log_format,
    read_log_level,
    read_media_url,
    read_networks,
    read_pooled_url,
    read_ports,
    read_proxies,
    read_queue_url,
    read_rate_limit,
    read_secret_key,
    read_secret_keys,
    read_service_account,
    read_service_url,
    read_switch,
    read_timeout,
)
from relayboard.base.setting_values import Network as Network
from relayboard.base.setting_values import RateLimit as RateLimit
from relayboard.base.setting_values import is_postgres as is_postgres
from relayboard.base.setting_values import sqlite_file as sqlite_file

PREFIX = "RELAYBOARD_"
FROM_FILE = "_FILE"
NO_SETTINGS = frozenset(
    {
        "BEGIN_FD",
        "LIFELINE_FD",
        "READY_FD",
        "CONVERSATIONS",
        "FLOW_CASES",
        "FUZZ_EXAMPLES",
    }
)
"""Other variables with our prefix: between a service and its processes, and for tests."""
OF_COMMANDS = ("MOVE_TOKEN", "WORKSPACE")
"""Variables that are for the command line alone."""
KUBERNETES_LINKS = re.compile(
    r"SERVICE_HOST=[\da-f.:]+|SERVICE_PORT\w*=\d+|PORT(?:_\d+_(?:TCP|UDP|SCTP))?=(?:tcp|udp|sctp)://\S+"
    r"|PORT_\d+_(?:TCP|UDP|SCTP)_(?:ADDR=[\da-f.:]+|PORT=\d+|PROTO=\w+)"
)
"""Variables that Kubernetes sets for a Service named `relayboard`, with their values."""
OPTIONS = {"HOST": "--host", "PORT": "--port", "WORKERS": "--workers"}
"""What people take for settings, and options of `relayboard serve` are."""

Value = TypeVar("Value")


class SettingError(Exception):
    """A setting has no usable value; the message names the variable, and never shows a secret."""

    def __init__(self, message: str, variable: str = "") -> None:
        super().__init__(message)
        self.variable = variable


def setting(
    read: Callable[[str], Value], default: str, meaning: str, *, absent: str = "none", is_secret: bool = False
) -> Value:
    """A field of `Settings`: how its text is read, its text when none is given, and what it means; `absent` says what
    an empty default is. A secret does not show when settings are printed, and may come from a file.
    """
    about = {"read": read, "default": default, "meaning": meaning, "absent": absent, "is_secret": is_secret}
    return cast("Value", field(repr=not is_secret, metadata=about))


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; each environment variable has the same name in capitals. The text form contains no secrets."""

    database_url: str = setting(
        read_database_url, "sqlite:///var/relayboard.db", "or `postgresql://user:password@host/name`", is_secret=True
    )
    database_pooled_url: str = setting(
        read_pooled_url,
        "",
        "the same database through a pooler by transaction, such as PgBouncer, for API processes and workers; see "
        "[scaling](scaling.md#a-pooler-before-the-database)",
        is_secret=True,
    )
    database_read_url: str = setting(
        read_pooled_url,
        "",
        "a standby of the database, from which tokens read lists; see [scaling](scaling.md#a-standby-for-reading)",
        is_secret=True,
    )
    database_read_lag_seconds: float = setting(
        read_timeout,
        "1",
        "how old what it shows may be; while it is further behind, lists come from the database itself",
    )
    queue_url: str = setting(
        read_queue_url,
        "sqlite:///var/queue.db",
        "or `postgresql://...`, `redis://...`: it only wakes workers and holds no work itself",
        is_secret=True,
    )
    base_url: str = setting(
        read_base_url,
        "",
        "the URL that clients use, such as `https://sms.example.org`; without it, responses contain the host of "
        "their request, and URLs of media the socket that received the upload",
    )
    secret_key: str = setting(
        read_secret_key,
        "",
        "at least 16 characters, no comma; it keys the hashes of tokens and encrypts the secrets of phones, "
        "webhooks and gateways",
        absent="created at the first start",
        is_secret=True,
    )
    secret_key_fallbacks: tuple[str, ...] = setting(
        read_secret_keys,
        "",
        "former secret keys, separated by commas; see [Changing the secret key](operating.md#changing-the-secret-key)",
        is_secret=True,
    )
    media_url: str = setting(
        read_media_url,
        "file://var/media",
        "where uploaded files and archives are: a folder, or `s3://bucket/prefix`; see [Files in a "
        "bucket](operating.md#files-in-a-bucket)",
        is_secret=True,
    )
    s3_endpoint: str = setting(
        read_endpoint, "", "the URL of another S3 server, such as `https://minio.example.org`", absent="Amazon's"
    )
    s3_region: str = setting(str, "", "the region of the bucket", absent="of AWS, otherwise `us-east-1`")
    s3_path_style: bool = setting(
        read_switch,
        "off",
        "`on` names the bucket in the path of URLs, not in the host, as most servers other than Amazon's need it",
    )
    s3_access_key: str = setting(read_header_value, "", "the user of the bucket", absent="of AWS", is_secret=True)
    s3_secret_key: str = setting(read_header_value, "", "the password of this user", absent="of AWS", is_secret=True)
    rate_limit: RateLimit = setting(
        read_rate_limit, "2500/hour", "requests per workspace and scope; periods are second, minute, hour, day"
    )
    registration_limit: RateLimit = setting(
        read_rate_limit,
        "1000/hour",
        "new phones that may register from one IP address; a proxy must pass on the address of the client",
    )
    callback_limit: RateLimit = setting(
        read_rate_limit, "6000/minute", "calls by each HTTP gateway, see [gateways](gateways.md)"
    )
    visitor_limit: RateLimit = setting(
        read_rate_limit,
        "20/minute",
        "messages of one visitor of a site's chat; one IP address may send ten times as many, and begin as many visits",
    )
    sign_in_limit: RateLimit = setting(
        read_rate_limit, "10/hour", "failed attempts to sign in to one account from one IP address"
    )
    account_sign_in_limit: RateLimit = setting(
        read_rate_limit,
        "100/hour",
        "failed attempts to sign in to one account from all IP addresses; beyond it the account is slow, not closed",
    )
    address_sign_in_limit: RateLimit = setting(
        read_rate_limit, "100/hour", "failed attempts to sign in from one IP address"
    )
    sign_in_days: float = setting(read_age, "14", "after this time a signed-in browser has to sign in again")
    sign_in_idle_days: float = setting(read_age, "1", "the same, after the browser's last request")
    audit_days: float = setting(read_days, "365", "how long the audit log is kept; 0 means for ever")
    page_size: int = setting(read_count, "250", "records per page of a list")
    body_limit_bytes: int = setting(
        read_count, "1048576", "largest request body; the limit for uploads is always 25 MiB"
    )
    media_quota_bytes: int = setting(
        read_count, "10737418240", "bytes that the uploaded files of one workspace may use together"
    )
    max_uploads: int = setting(read_count, "16", "concurrent uploads to one API process; beyond that a 503")
    max_workspace_uploads: int = setting(
        read_count, "4", "concurrent uploads of one workspace to one API process; beyond that a 429"
    )
    max_connections: int = setting(
        read_count,
        "1000",
        "connections to one API process; beyond that the connection that has been idle longest is closed",
    )
    max_workspace_streams: int = setting(
        read_count,
        "100",
        "clients of one workspace that follow its changes on one API process ([live](live.md)); beyond that a 429",
    )
    max_workspace_visitors: int = setting(
        read_count,
        "250",
        "visitors of one workspace's chats that follow their conversation on one API process; others ask every five "
        "seconds",
    )
    stream_seconds: float = setting(
        read_timeout,
        "120",
        "how long such a stream stays open; a client whose access ended is refused when it comes again",
    )
    sync_hold_seconds: float = setting(
        read_hold,
        "3",
        "how long the answer to a phone that brought messages or calls waits at most for what flows reply to them, so "
        "that people have it at once ([how](relayer-protocol.md#replies-in-the-same-sync)); 0 answers without waiting",
    )
    fcm_account: str = setting(
        read_service_account,
        "",
        "the service account of your Firebase project, by which phones with Google Play services are pushed, as JSON; "
        "better `RELAYBOARD_FCM_ACCOUNT_FILE` with the path of the file that Google gives you ([how](phones.md#push))",
        is_secret=True,
    )
    fcm_url: str = setting(
        read_endpoint,
        "https://fcm.googleapis.com",
        "the server of Firebase Cloud Messaging; another one is for tests",
    )
    unified_push: bool = setting(
        read_switch,
        "on",
        "`off` calls no endpoints of UnifiedPush that claimed phones have named ([how](phones.md#push))",
    )
    head_timeout_seconds: float = setting(
        read_timeout,
        "20",
        "from the first byte of a request, or the start of its connection, to the end of its headers",
    )
    body_timeout_seconds: float = setting(
        read_timeout, "30", "for each piece of a body; for the whole body, one more second for each 4096 bytes"
    )
    keep_alive_seconds: int = setting(
        read_count,
        "65",
        "how long a connection stays open between requests; set it longer than in your proxy (nginx: 60)",
    )
    trusted_proxies: tuple[Network, ...] = setting(
        read_proxies,
        "127.0.0.0/8,::1",
        "addresses and networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted; or `none`",
    )
    webhook_allowed_networks: tuple[Network, ...] = setting(
        read_networks, "", "private networks that webhooks may reach, such as `10.0.0.0/8,fd00::/8`"
    )
    webhook_allowed_ports: frozenset[int] = setting(
        read_ports,
        "",
        "the only ports at which webhooks, gateways and services of flows may be called, such as `80,443`",
        absent="all",
    )
    flow_blocked_domains: frozenset[str] = setting(
        read_domains, "", "domains that flows may not call, with their subdomains, such as `graph.facebook.com`"
    )
    webhook_retry_delays_seconds: tuple[float, ...] = setting(
        read_delays, "10,120,900", "delays before each retry of a webhook"
    )
    webhook_timeout_seconds: float = setting(
        read_timeout,
        "15",
        "for a whole webhook call, for each e-mail, and for each attempt to call another service of flows",
    )
    webhook_switch_off_days: float = setting(
        read_days,
        "5",
        "a receiver that accepts nothing for this many days is switched off, see [webhooks](webhooks.md); 0 means "
        "never",
    )
    smtp_url: MailServer | None = setting(
        read_mail_server,
        "",
        "the mail server for flows, such as `smtp://user:password@host:587/?from=flows@example.org`; see "
        "[services](services.md)",
        is_secret=True,
    )
    llm_url: str = setting(
        read_service_url,
        "",
        "the language model for flows: the URL of a chat completions API; see [services](services.md)",
        is_secret=True,
    )
    llm_key: str = setting(
        read_header_value, "", "key of this service, sent as `Authorization: Bearer`", is_secret=True
    )
    llm_model: str = setting(str, "default", "the model that requests name")
    classifier_url: str = setting(
        read_service_url,
        "",
        "the URL of the service that finds intents for flows; see [services](services.md)",
        is_secret=True,
    )
    classifier_key: str = setting(
        read_header_value, "", "key of this service, sent as `Authorization: Bearer`", is_secret=True
    )
    airtime_url: str = setting(
        read_service_url,
        "",
        "the URL of the service that transfers airtime for flows; see [services](services.md)",
        is_secret=True,
    )
    airtime_key: str = setting(
        read_header_value, "", "key of this service, sent as `Authorization: Bearer`", is_secret=True
    )
    log_format: str = setting(read_log_format, "text", "or `json`: one object per line")
    log_level: int = setting(read_log_level, "info", "the least important lines: `debug`, `info`, `warning` or `error`")
    metrics: bool = setting(read_switch, "on", "`off` hides `/metrics` and counts nothing")
    traces: bool = setting(
        read_switch, "off", "`on` sends traces by OpenTelemetry, see [monitoring](monitoring.md#traces)"
    )


def load_settings(environ: Mapping[str, str] | None = None, *, makes_secret_key: bool = True) -> Settings:
    """The settings of this process. Raises SettingError, which names the invalid variable. Without an argument they are
    read from the process environment and then from the file `.env`. An empty value counts as absent. Without a
    SECRET_KEY, a key is created and stored next to the SQLite database (`var/` for other databases), or refused.
    """
    environ = read_environment() if environ is None else environ
    for sentence in list_unknown_names(environ):
        raise SettingError(sentence)
    values: dict[str, Any] = {}
    for each in fields(Settings):
        variable = PREFIX + each.name.upper()
        text = _given(environ, variable, is_secret=each.metadata["is_secret"])
        try:
            values[each.name] = each.metadata["read"](text or each.metadata["default"])
        except ValueError as error:
            raise SettingError(f"{variable} cannot be used: {error}", variable) from None
    values["secret_key"] = values["secret_key"] or kept_secret_key(values["database_url"], makes_secret_key)
    return Settings(**values)


def _given(environ: Mapping[str, str], variable: str, *, is_secret: bool) -> str:
    """The text of a variable, or for a secret of the file that the variable with _FILE names. Raises SettingError."""
    text = environ.get(variable, "").strip()
    source = environ.get(variable + FROM_FILE, "").strip() if is_secret else ""
    if not source:
        return text
    if text:
        raise SettingError(f"{variable} and {variable}{FROM_FILE} are both set: keep one", variable + FROM_FILE)
    try:
        return Path(source).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise SettingError(
            f"{variable}{FROM_FILE} names a file that cannot be read: {reason}", variable + FROM_FILE
        ) from None


def read_environment() -> Mapping[str, str]:
    """The variables of this process, and for those that it leaves out the file `.env`. Raises SettingError."""
    return {**read_env_file(), **os.environ}


def read_env_file() -> dict[str, str]:
    """The variables of the file `.env` that have a value. Raises SettingError."""
    try:
        values = dotenv_values(".env")
    except UnicodeDecodeError as error:
        raise SettingError("the file .env is not UTF-8: save it as UTF-8") from error
    return {name: value for name, value in values.items() if value is not None}


def list_unknown_names(environ: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable with our prefix that is not a setting: most likely a typing error. It begins with
    the name."""
    own = [(each.name.upper(), each.metadata["is_secret"]) for each in fields(Settings)]
    known = [name for name, _ in own] + [name + FROM_FILE for name, is_secret in own if is_secret]
    for variable in sorted(environ):
        name = variable.removeprefix(PREFIX)
        if (
            name == variable
            or name in known
            or name in (*NO_SETTINGS, *OF_COMMANDS)
            or KUBERNETES_LINKS.fullmatch(f"{name}={environ[variable]}")
        ):
            continue
        if name in OPTIONS:
            yield f"{variable} is not a setting: give `relayboard serve` the option {OPTIONS[name]}"
            continue
        import difflib  # noqa: PLC0415  # nothing else needs it

        alike = difflib.get_close_matches(name.upper(), [*known, *OF_COMMANDS], 1)
        hint = f"; did you mean {PREFIX}{alike[0]}?" if alike else ": docs/settings.md lists those there are"
        yield f"{variable} is not a setting{hint}"


def kept_secret_key(database_url: str, makes_one: bool) -> str:
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
