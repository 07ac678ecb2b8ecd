"""The doctor: a healthy installation, and many broken ones, each named in a sentence that says what to do."""

import json
import re
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from sqlalchemy import create_engine, text

from relayboard.doctor.findings import OK, WARNING, Finding, report
from testbed.poolers import transaction_pooler
from testbed.running import forked_service
from testbed.servers import postgres_database
from tests.relayboard.doctor.patients import Patient, examine, own_postgres

CHECKS = {
    *("settings", "database", "time zone", "clock", "schema", "key", "worker", "queue", "media", "disk"),
    *("base URL", "mail", "push", "files"),
}
NOBODY = "postgresql://nobody:secret-word@127.0.0.1:1/none"


@contextmanager
def proxy(upstream: str | None, more: dict[str, str] | None = None) -> Iterator[str]:
    """A server that passes requests on with more headers, or one that is somebody else's."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if upstream is None:
                status, body = 200, b"Welcome!"
            else:
                given = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                answer = requests.get(upstream + self.path, headers={**given, **(more or {})}, timeout=60)
                status, body = answer.status_code, answer.content
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("service", ["sqlite", "postgresql"], indirect=True)
def test_nothing_is_wrong_with_a_healthy_installation(patient: Patient) -> None:
    status, told = examine(patient)
    read = json.loads(told)
    assert (status, read["healthy"]) == (0, True)
    assert {each["check"] for each in read["findings"]} == CHECKS
    assert all(each["status"] in ("ok", "warning") for each in read["findings"])
    assert list(patient.folder.iterdir()) == []


def unknown_setting(patient: Patient) -> None:
    patient.set(TRUSTED_PROXYS="10.0.0.1")


def unusable_value(patient: Patient) -> None:
    patient.set(PAGE_SIZE="many", SMTP_URL="nonsense")


def contradiction(patient: Patient) -> None:
    patient.set(MAX_UPLOADS="2", MAX_WORKSPACE_UPLOADS="5", LLM_KEY="x")


def database_away(patient: Patient) -> None:
    patient.set(DATABASE_URL=NOBODY)


def pooler_as_database(patient: Patient) -> None:
    patient.set(DATABASE_URL=pooled(patient, patient.postgres_url))


def pooler_away(patient: Patient) -> None:
    own_database(patient)
    patient.set(DATABASE_POOLED_URL=NOBODY)


def pooler_elsewhere(patient: Patient) -> None:
    own_postgres(patient)
    patient.set(DATABASE_POOLED_URL=pooled(patient, patient.postgres_url))


def standby_away(patient: Patient) -> None:
    own_postgres(patient)
    patient.set(DATABASE_READ_URL=NOBODY)


def standby_of_nothing(patient: Patient) -> None:
    patient.set(DATABASE_READ_URL=own_postgres(patient))


def pooled(patient: Patient, url: str) -> str:
    return patient.ending.enter_context(transaction_pooler(url, connections=1))


def database_missing(patient: Patient) -> None:
    patient.set(DATABASE_URL=f"sqlite:///{patient.folder}/none.db")


def database_empty(patient: Patient) -> None:
    path = patient.folder / "empty.db"
    path.touch(mode=0o600)
    patient.set(DATABASE_URL=f"sqlite:///{path}")


def schema_newer(patient: Patient) -> None:
    url = own_database(patient)
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()


def queue_away(patient: Patient) -> None:
    patient.set(QUEUE_URL="redis://127.0.0.1:1/0")


def media_not_writable(patient: Patient) -> None:
    (patient.folder / "taken").write_text("a file")
    patient.set(MEDIA_URL=f"file://{patient.folder}/taken/media")


def media_not_shared(patient: Patient) -> None:
    patient.set(MEDIA_URL=f"file://{patient.folder}/media")


def another_key(patient: Patient) -> None:
    patient.set(SECRET_KEY="another-key-of-some-length")


def no_key(patient: Patient) -> None:
    url = own_database(patient)
    assert url
    del patient.settings["RELAYBOARD_SECRET_KEY"]


def nobody_at_base_url(patient: Patient) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        patient.set(BASE_URL=f"http://127.0.0.1:{free.getsockname()[1]}")


def stranger_at_base_url(patient: Patient) -> None:
    patient.set(BASE_URL=patient.ending.enter_context(proxy(None)))


def proxy_without_scheme(patient: Patient) -> None:
    """What ends TLS would be asked by https; here the doctor is told so, and a plain proxy stands for it."""
    patient.set(BASE_URL=patient.ending.enter_context(proxy(patient.service.url, {"X-Forwarded-Proto": "https"})))


def proxy_not_trusted(patient: Patient) -> None:
    place = patient.folder / "distrustful"
    place.mkdir()
    trusting = forked_service(f"sqlite:///{place / 'x.db'}", place, ["api"], TRUSTED_PROXIES="10.9.9.9")
    service = patient.ending.enter_context(trusting)
    patient.set(BASE_URL=patient.ending.enter_context(proxy(service.url, {"X-Forwarded-For": "192.0.2.7"})))


def clock_wrong(patient: Patient) -> None:
    """A database whose clock is an hour ahead, as its sessions see it."""
    url = patient.ending.enter_context(postgres_database(patient.postgres_url))
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
                "$$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$"
            )
        )
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{name}" SET search_path = public, pg_catalog'))
    engine.dispose()
    patient.set(DATABASE_URL=url)


def no_worker(patient: Patient) -> None:
    own_database(patient)


def mail_server_away(patient: Patient) -> None:
    patient.set(SMTP_URL="smtp://127.0.0.1:1/?from=flows@example.org&tls=none")


def open_file(patient: Patient) -> None:
    own_database(patient)
    path = patient.folder / "relayboard.db"
    path.chmod(path.stat().st_mode | stat.S_IROTH)


def foreign_package(patient: Patient) -> None:
    place = patient.folder / "elsewhere" / "worker"
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("")
    patient.settings["PYTHONPATH"] = str(place.parent)


def own_database(patient: Patient) -> str:
    """A migrated database that nobody works with."""
    path = patient.folder / "relayboard.db"
    path.touch(mode=0o600)
    path.write_bytes(patient.sqlite_template.read_bytes())
    url = f"sqlite:///{path}"
    patient.set(DATABASE_URL=url)
    return url


BROKEN: dict[str, tuple[Callable[[Patient], None], str, str]] = {
    "unknown setting": (
        unknown_setting,
        "settings",
        "RELAYBOARD_TRUSTED_PROXYS is not a setting; did you mean RELAYBOARD_TRUSTED_PROXIES?",
    ),
    "unusable value": (unusable_value, "settings", "RELAYBOARD_PAGE_SIZE"),
    "contradicting settings": (
        contradiction,
        "settings",
        "RELAYBOARD_LLM_URL is not: set the address",
    ),
    "database away": (database_away, "database", "start it, and compare RELAYBOARD_DATABASE_URL"),
    "pooler instead of the database": (pooler_as_database, "database", "set RELAYBOARD_DATABASE_URL to the address of"),
    "pooler away": (pooler_away, "pooler", "start it, or correct RELAYBOARD_DATABASE_POOLED_URL"),
    "pooler of another database": (pooler_elsewhere, "pooler", "it leads to another database than"),
    "standby away": (standby_away, "standby", "start it, or correct RELAYBOARD_DATABASE_READ_URL"),
    "standby of another database": (standby_of_nothing, "standby", "leads to no standby of the database"),
    "database missing": (database_missing, "database", "none.db: run `relayboard migrate`"),
    "no tables": (database_empty, "schema", "the database has no tables yet: run `relayboard migrate`"),
    "newer schema": (schema_newer, "schema", "start that one"),
    "queue away": (queue_away, "queue", "start it, or correct RELAYBOARD_QUEUE_URL"),
    "media not writable": (media_not_writable, "media", "let the user that runs Relayboard write there"),
    "media not shared": (media_not_shared, "media", "let all machines use one folder or one bucket"),
    "another key": (another_key, "key", "Set that key again"),
    "no key": (no_key, "settings", "give the key of this installation"),
    "nobody at the base URL": (nobody_at_base_url, "base URL", "start the service, or correct RELAYBOARD_BASE_URL"),
    "a stranger at the base URL": (stranger_at_base_url, "base URL", "it is not this installation: correct"),
    "scheme lost": (proxy_without_scheme, "base URL", "let the proxy set X-Forwarded-Proto"),
    "proxy not trusted": (proxy_not_trusted, "base URL", "add 127.0.0.1 to RELAYBOARD_TRUSTED_PROXIES"),
    "clock wrong": (clock_wrong, "clock", "3600 s apart: run a time service (NTP)"),
    "no worker": (no_worker, "worker", "no worker is alive: start `relayboard worker`"),
    "mail server away": (mail_server_away, "mail", "start it, or correct RELAYBOARD_SMTP_URL"),
    "open file": (open_file, "files", "relayboard.db: run `chmod 600"),
    "foreign package": (foreign_package, "packages", "in the place of Relayboard's own package worker: take it off"),
}


THROUGH_A_POOLER = ("pooler instead of the database", "pooler of another database")
ON_EACH_DATABASE = ("another key", "media not shared")
"""The others have nothing to do with where the installation has its database, or break one of their own."""
PAGE = Path(__file__).parents[3] / "docs" / "troubleshooting.md"
ROW = re.compile(r"^\| (.+?) \| `(.+?)` \| (.+?) \|$", re.MULTILINE)


def documented() -> dict[str, tuple[str, re.Pattern[str]]]:
    """What the page says that the doctor says: by what is broken, the check and the sentence, with ... for what
    differs."""
    rows = ROW.findall(PAGE.read_text().partition("## What the doctor says")[2].partition("\n## ")[0])
    return {name: (check, re.compile(re.escape(sentence).replace(r"\.\.\.", ".*"))) for name, check, sentence in rows}


DOCUMENTED = documented()


def test_the_page_tells_of_every_break_that_is_tried_and_no_other() -> None:
    assert list(DOCUMENTED) == list(BROKEN)


# Not with "name" in one decorator: pytest would set the service up anew for each pair.
@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.pgbouncer if name in THROUGH_A_POOLER else ()) for name in BROKEN]
)
def test_what_is_broken_is_named_in_a_sentence_that_says_what_to_do(patient: Patient, name: str) -> None:
    check_named(patient, name)


@pytest.mark.parametrize("service", ["postgresql"], indirect=True)
@pytest.mark.parametrize("name", ON_EACH_DATABASE)
def test_it_is_named_whatever_the_database(patient: Patient, name: str) -> None:
    check_named(patient, name)


def check_named(patient: Patient, name: str) -> None:
    break_it, check, sentence = BROKEN[name]
    break_it(patient)

    status, told = examine(patient, "--json")

    problems = [each for each in json.loads(told)["findings"] if each["status"] == "problem"]
    assert status == 1
    assert [each for each in problems if each["check"] == check and sentence in each["sentence"]], problems
    known_check, known_sentence = DOCUMENTED[name]
    assert [each for each in problems if each["check"] == known_check and known_sentence.fullmatch(each["sentence"])]
    assert "secret-word" not in told


def test_people_are_told_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    found = [Finding("clock", OK, "it is right"), Finding("files", WARNING, "this runs as root")]

    assert report(found, as_json=False) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      clock: it is right",
        "warning files: this runs as root",
        "No problems, warnings: 1.",
    ]
