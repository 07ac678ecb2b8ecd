"""Settings: names that there are not, values that cannot be used, and settings that contradict each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relayboard.base.settings import (
    PREFIX,
    SettingError,
    Settings,
    is_postgres,
    list_unknown_names,
    load_settings,
    sqlite_file,
)
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding

STAND_IN_KEY = "no key was given to this one"


@dataclass(frozen=True, slots=True)
class Read:
    """Settings as far as they can be read, and what is wrong with the rest."""

    settings: Settings
    has_key: bool
    findings: list[Finding]


def read_settings(environ: Mapping[str, str]) -> Read:
    """Leaves out one after the other what cannot be used; nothing is made or changed."""
    findings = [Finding("settings", PROBLEM, sentence) for sentence in list_unknown_names(environ)]
    known = {name: value for name, value in environ.items() if name not in set(_unknown(environ))}
    has_key = True
    while True:
        try:
            settings = load_settings(known, makes_secret_key=False)
            break
        except SettingError as error:
            if error.variable in known:
                findings.append(Finding("settings", PROBLEM, f"{error}: correct it"))
                del known[error.variable]
            else:
                findings.append(Finding("settings", PROBLEM, str(error)))
                known[f"{PREFIX}SECRET_KEY"] = STAND_IN_KEY
                has_key = False
    findings += [Finding("settings", status, sentence) for status, sentence in _contradictions(settings)]
    if not findings:
        findings.append(Finding("settings", OK, "all are known and can be used together"))
    return Read(settings, has_key, findings)


def _unknown(environ: Mapping[str, str]) -> Iterator[str]:
    return (sentence.partition(" ")[0] for sentence in list_unknown_names(environ))


def _contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """The status and sentence for each pair of settings that do not go together."""
    if sqlite_file(settings.database_url) and sqlite_file(settings.database_url) == sqlite_file(settings.queue_url):
        yield PROBLEM, f"{PREFIX}QUEUE_URL names the file of the database: give the queue a file of its own"
    if settings.max_workspace_uploads > settings.max_uploads:
        yield (
            PROBLEM,
            f"{PREFIX}MAX_WORKSPACE_UPLOADS is more than {PREFIX}MAX_UPLOADS: one workspace can keep all others from "
            "uploading, so set it lower",
        )
    if settings.secret_key in settings.secret_key_fallbacks:
        yield PROBLEM, f"{PREFIX}SECRET_KEY is also among {PREFIX}SECRET_KEY_FALLBACKS: name only former keys there"
    for name in ("LLM", "CLASSIFIER", "AIRTIME"):
        if getattr(settings, f"{name.lower()}_key") and not getattr(settings, f"{name.lower()}_url"):
            yield PROBLEM, f"{PREFIX}{name}_KEY is set and {PREFIX}{name}_URL is not: set the address that it is for"
    if settings.base_url.startswith("https") and not settings.trusted_proxies:
        yield (
            PROBLEM,
            f"{PREFIX}BASE_URL is https and {PREFIX}TRUSTED_PROXIES trusts nobody: name the address of the proxy that "
            "ends TLS",
        )
    if is_postgres(settings.database_url) and settings.queue_url.startswith("sqlite"):
        yield (
            WARNING,
            f"{PREFIX}QUEUE_URL is a file of this machine: workers on other machines are not woken by it, but look by "
            "themselves every few seconds. Use PostgreSQL or Redis for several machines",
        )
