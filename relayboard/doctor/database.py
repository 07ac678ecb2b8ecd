"""The database, the clocks, the key, and the workers that say in it that they are alive."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from persistence.accounts.invitations import read_given_up
from persistence.archives.writing import list_given_up
from persistence.channels.connections import BOUND, ENDED, FAILED
from persistence.channels.health import list_connections
from persistence.database import Database
from persistence.errors import DatabaseError, fault_of, reason_of
from persistence.migrations import MigrationError, check_schema, current_revision
from persistence.migrations.part_indexes import finds_parts
from persistence.relayers.pushes import read_push_trouble
from persistence.secrets.encryption import KeyRing
from persistence.service.backlog import count_phones, list_refused_phones
from persistence.service.diagnosis import (
    DatabaseFacts,
    Heartbeat,
    find_stored_key_fault,
    find_troubles,
    is_one_database,
    list_heartbeats,
    read_facts,
)
from persistence.sql.standby import Standby
from relayboard.base.settings import Settings, is_postgres, sqlite_file
from relayboard.base.version import program_version
from relayboard.doctor.findings import OK, PROBLEM, WARNING, Finding, Findings
from relayboard.doctor.neighbors import PhonesSeen

CLOCK_SECONDS = 5.0
CONNECT_SECONDS = 5
OLDEST_POSTGRES = 14
SMALL_BYTES = 128 * 1024 * 1024
"""A database of this size is in the memory that PostgreSQL takes when nobody tells it how much."""
NO_PART_INDEX = (
    "contacts are searched by name and number without an index, which takes seconds where there are many: install the "
    "modules that come with PostgreSQL (on Debian the package postgresql-contrib), let this user create the extension "
    "pg_trgm, and run `relayboard migrate`"
)

REFUSALS = {
    "wrong_clock": "its clock is wrong by more than fifteen minutes; set the time of the phone automatically",
    "wrong_secret": "it does not sign with its secret; reset the app on the phone and claim it again",
}


MEND_CONNECTION = "Correct its settings with `relayboard channel change`, or ask its provider"
START_WORKER = "no worker has it: start one, or look into its log"


class DatabaseDoctor:
    """Looks into the database; `workers` and the numbers of phones are those that it knows, once `check` has run to its
    end.
    """

    def __init__(self, settings: Settings, *, has_key: bool) -> None:
        self.workers: Sequence[Heartbeat] = ()
        self.phones: PhonesSeen | None = None
        self._settings = settings
        self._has_key = has_key

    def check(self) -> Findings:
        """Stops at what makes all that follows impossible to find out."""
        file = sqlite_file(self._settings.database_url)
        if file is not None and not file.exists():
            sentence = f"there is no database at {file}: run `relayboard migrate`, or correct RELAYBOARD_DATABASE_URL"
            yield Finding("database", PROBLEM, sentence)
            return
        with closing(Database(_hurried(self._settings.database_url), keys=KeyRing.of(self._settings))) as database:
            try:
                yield from self._look(database)
            except DatabaseError as error:
                reason, fault = " ".join(reason_of(error).split()), fault_of(error)
                remedy = _remedy(reason) if fault is None else fault.remedy
                yield Finding("database", PROBLEM, f"it cannot be used ({reason}): {remedy}")

    def _look(self, database: Database) -> Findings:
        facts = read_facts(database)
        yield from _judge(facts)
        for trouble in find_troubles(database):
            yield Finding(trouble.check, PROBLEM, f"{trouble.sentence}: {trouble.remedy}")
        try:
            check_schema(database.engine)
        except MigrationError as error:
            yield Finding("schema", PROBLEM, str(error))
            return
        yield Finding("schema", OK, f"revision {current_revision(database.engine)} is what this version works with")
        if not finds_parts(database):
            yield Finding("names", WARNING, NO_PART_INDEX)
        yield from self._check_key(database)
        with database.reading() as tx:
            self.workers = list_heartbeats(tx)
            self.phones = PhonesSeen(*count_phones(tx), *read_push_trouble(tx))
            refused = list_refused_phones(tx)
            given_up = list_given_up(tx)
            letters, reason = read_given_up(tx)
            connections = list_connections(tx)
        yield from _judge_workers(self.workers)
        for uuid, reason in refused:
            yield Finding("phones", WARNING, f"the phone {uuid} calls and is refused: {REFUSALS.get(reason, reason)}")
        for name, archives in given_up:
            sentence = f"{archives} archives of {name} failed several times, and are tried once a day"
            yield Finding("archives", PROBLEM, f"{sentence}: see the logs of the workers")
        if letters:
            sentence = f"{letters} letters about accounts were not sent in the last seven days"
            yield Finding("letters", WARNING, f"{sentence}, the last one because: {reason}")
        yield from judge_connections(connections)
        yield from self._check_pooler(database)
        yield from self._check_standby(database)

    def _check_pooler(self, database: Database) -> Findings:
        url = self._settings.database_pooled_url
        if not url:
            return
        with closing(Database(_hurried(url), pool_size=1, is_behind_pooler=True)) as pooled:
            try:
                is_same = pooled.is_reachable() and not database.sqlite and is_one_database(database, pooled)
            except DatabaseError as error:
                reason = " ".join(reason_of(error).split())
                yield Finding(
                    "pooler",
                    PROBLEM,
                    f"it cannot be used ({reason}): start it, or correct RELAYBOARD_DATABASE_POOLED_URL",
                )
                return
        if is_same:
            yield Finding("pooler", OK, "it leads to the database")
        else:
            yield Finding(
                "pooler",
                PROBLEM,
                "it leads to another database than RELAYBOARD_DATABASE_URL: correct RELAYBOARD_DATABASE_POOLED_URL",
            )

    def _check_standby(self, database: Database) -> Findings:
        url = self._settings.database_read_url
        if not url or database.sqlite:
            return
        is_pooled = bool(self._settings.database_pooled_url)
        with closing(Database(_hurried(url), pool_size=1, is_behind_pooler=is_pooled)) as other:
            standby = Standby(database, other, self._settings.database_read_lag_seconds)
            lag = standby.wait_for(self._settings.database_read_lag_seconds)
        if not standby.fault and lag > self._settings.database_read_lag_seconds:
            yield Finding(
                "standby",
                PROBLEM,
                f"it has not followed the database for {lag:.1f} s, so lists come from the database itself: see in its "
                "log why it does not replay (pg_is_wal_replay_paused, long queries, a slow disk or network)",
            )
        elif standby.fault:
            yield Finding(
                "standby",
                PROBLEM,
                f"it cannot be read ({' '.join(standby.fault.split())}), so lists come from the database itself: start "
                "it, or correct RELAYBOARD_DATABASE_READ_URL",
            )
        else:
            yield Finding("standby", OK, "it follows the database")

    def _check_key(self, database: Database) -> Findings:
        if not self._has_key:
            return
        fault = find_stored_key_fault(database)
        if fault is None:
            yield Finding("key", OK, "it is the one that the secrets in the database are stored under")
        else:
            yield Finding("key", PROBLEM, fault)


def _remedy(reason: str) -> str:
    if "startup parameter" in reason:
        return (
            "a pooler is there; set RELAYBOARD_DATABASE_URL to the address of the database itself, and "
            "RELAYBOARD_DATABASE_POOLED_URL to that of the pooler"
        )
    return "start it, and compare RELAYBOARD_DATABASE_URL with its address, user and password"


def _hurried(url: str) -> str:
    """The address, with a limit to how long connecting may take."""
    if not is_postgres(url) or "connect_timeout" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}connect_timeout={CONNECT_SECONDS}"


def _judge(facts: DatabaseFacts) -> Findings:
    if facts.is_postgres and facts.major_version < OLDEST_POSTGRES:
        yield Finding(
            "database", PROBLEM, f"{facts.version} is too old: upgrade to PostgreSQL {OLDEST_POSTGRES} or newer"
        )
    else:
        yield Finding("database", OK, f"{facts.version}, {facts.bytes / 1e6:.1f} MB")
    if facts.small_settings and facts.bytes > SMALL_BYTES:
        yield Finding(
            "server",
            WARNING,
            f"PostgreSQL still has its defaults for {', '.join(facts.small_settings)}, which suit smaller databases: "
            "set them as docs/scaling.md advises, and restart PostgreSQL",
        )
    if facts.time_zone != "UTC":
        yield Finding(
            "time zone",
            PROBLEM,
            f"sessions are in {facts.time_zone}, not in UTC: something between here and the database loses the options "
            "of connections. Set RELAYBOARD_DATABASE_URL to the address of the database itself, and "
            "RELAYBOARD_DATABASE_POOLED_URL to that of the pooler",
        )
    else:
        yield Finding("time zone", OK, "UTC in the database")
    for name in facts.unknown_zones:
        yield Finding(
            "time zone",
            PROBLEM,
            f"the time zone {name} of a workspace is not known here: install the package tzdata anew",
        )
    apart = abs((facts.now - datetime.now(UTC)).total_seconds())
    if apart > CLOCK_SECONDS:
        yield Finding(
            "clock",
            PROBLEM,
            f"the clocks of this machine and of the database are {apart:.0f} s apart: run a time service (NTP) on both",
        )
    else:
        yield Finding("clock", OK, "that of this machine and that of the database agree")


def judge_connections(connections: Sequence[tuple[str, Mapping[str, Any]]]) -> Findings:
    """Whether the connections that channels keep to providers stand; by the UUIDs of the channels."""
    for uuid, told in connections:
        sentence = f"the connection of channel {uuid} has {told['state']} at {told['changed_on'][:19]}Z"
        if told["state"] == FAILED:
            yield Finding("connections", WARNING, f"{sentence}: {told['reason']} {MEND_CONNECTION}")
        elif told["state"] == ENDED:
            yield Finding("connections", WARNING, f"{sentence}, and {START_WORKER}")
    if connections and all(told["state"] == BOUND for _, told in connections):
        yield Finding("connections", OK, f"channels keep {len(connections)} to providers, and all stand")


def _judge_workers(workers: Sequence[Heartbeat]) -> Findings:
    alive = [each for each in workers if each.is_alive]
    if not alive:
        seen = (
            f", the last one was seen at {max(each.seen_on for each in workers):%Y-%m-%d %H:%M} UTC" if workers else ""
        )
        yield Finding(
            "worker",
            PROBLEM,
            f"no worker is alive{seen}: start `relayboard worker`, or `relayboard serve` without --no-worker",
        )
        return
    others = sorted({each.version for each in alive} - {program_version()})
    if others:
        yield Finding(
            "worker",
            WARNING,
            f"workers run version {', '.join(others)}, this is {program_version()}: bring all machines to one version",
        )
    else:
        yield Finding("worker", OK, f"{len(alive)} alive, on {', '.join(sorted({each.host for each in alive}))}")
