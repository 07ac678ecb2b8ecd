"""Whether tests take all of their cases. Otherwise those are left out that ask again what another case has asked: every
case stays that differs in what the rule is about.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from zlib import crc32

import pytest

EVERY_CASE = os.environ.get("RELAYBOARD_EVERY_CASE") == "1"
TURNS = not (EVERY_CASE or os.environ.get("TEST_POOLER") or int(os.environ.get("TEST_PARTITIONS", "0")))
"""Whether cases take turns: not where all are wanted, nor where one of the databases is what is tested."""
DATABASES = ("sqlite", "postgresql")
TAKING_TURNS = (
    "tests/acceptance/",
    "tests/contract/test_examples.py",
    "tests/contract/test_sentences.py",
    "tests/persistence/broadcasts/test_personal_texts.py",
    "tests/persistence/contact_imports/test_workbooks.py",
    "tests/relayboard/commands/",
    "tests/relayboard/every_command/",
    "tests/relayboard/test_cli.py",
    "tests/worker/channels/",
    "tests/worker/flows/services/",
    "tests/worker/flows/test_changed_flows.py",
    "tests/worker/flows/test_inactive_contacts.py",
    "tests/worker/flows/test_started_runs.py",
    "tests/worker/mirrors/test_everything_of_contacts.py",
    "tests/worker/mirrors/test_flows.py",
    "tests/worker/mirrors/test_globals.py",
    "tests/worker/mirrors/test_messages.py",
    "tests/worker/mirrors/test_runs_and_starts.py",
    "tests/worker/mirrors/test_templates_and_resthooks.py",
    "tests/worker/mirrors/test_tickets.py",
    "tests/worker/test_campaigns.py::TestClocks",
    "tests/worker/webhooks/test_dispatcher.py::TestReplies",
    "tests/worker/webhooks/test_receiver_health.py",
)
"""How the ids of tests begin whose cases are about what people and other servers send and are told. Each such rule
holds on both databases, and each of its cases on one of them."""
ASKING_DATABASES = (
    "tests/handlers/asgi/test_gateway.py::test_while_the_database_is_busy",
    "tests/handlers/pairs/",
    "tests/handlers/relay/test_busy_sync.py::TestBusySync",
    "tests/handlers/relay/test_busy_sync.py::TestPoison::test_an_sms_with_characters",
    "tests/handlers/relay/test_replacing.py::TestAtOnce",
    "tests/handlers/test_idempotency.py::test_rivals",
    "tests/handlers/test_idempotency.py::test_simultaneous",
    "tests/handlers/test_large_numbers.py",
    "tests/handlers/test_reading_beside_writers.py",
    "tests/handlers/test_runs.py::TestRunsOfAFlow::test_each_of_these_filters",
    "tests/handlers/test_threads.py",
    "tests/handlers/v2/test_calendar.py",
    "tests/handlers/v2/test_concurrent_counts.py",
    "tests/handlers/v2/test_concurrent_deletions.py",
    "tests/handlers/v2/test_contact_queries.py",
    "tests/handlers/v2/test_contact_timeline.py",
    "tests/handlers/v2/test_figures.py",
    "tests/handlers/v2/test_grouped_figures.py",
    "tests/handlers/v2/test_if_match.py::test_of_two",
    "tests/handlers/v2/test_message_search.py",
    "tests/handlers/v2/test_rival_names.py",
    "tests/persistence/backups/test_backups.py::test_a_restore_that_was_killed",
    "tests/persistence/backups/test_backups.py::test_everything",
    "tests/persistence/contact_imports/test_contact_imports.py::test_a_worker_that_lost",
    "tests/persistence/contact_imports/test_taking_back.py::test_taking_back_goes_on",
    "tests/persistence/data_requests/test_erasing.py::test_a_worker",
    "tests/persistence/data_requests/test_erasing.py::test_nothing",
    "tests/persistence/service/test_backlog.py::test_a_snapshot",
    "tests/persistence/service/test_backlog.py::test_no_number",
    "tests/persistence/sessions/test_sessions.py::TestSaveSessions::test_the_lease",
    "tests/relayboard/commands/test_progress.py",
    "tests/relayboard/move/test_moving.py",
    "tests/relayboard/move/test_switching.py",
    "tests/worker/channels/test_every_type.py::test_an_incoming_message_is_stored_once",
    "tests/worker/channels/test_files.py::test_a_worker_whose_lease_is_over",
    "tests/worker/channels/test_mailboxes.py::test_two_workers",
    "tests/worker/channels/test_sending.py::TestFrozenWorkers",
    "tests/worker/channels/test_sending.py::TestOnce",
    "tests/worker/channels/test_smpp.py::TestConnections::test_a_stopped_worker",
    "tests/worker/channels/test_smpp.py::TestConnections::test_one_worker",
    "tests/worker/channels/test_smpp.py::TestConnections::test_who_has_lost_the_lease",
    "tests/worker/channels/test_smpp.py::TestReceiving::test_characters_that_no_database_keeps",
    "tests/worker/flows/effects/test_effects.py::test_an_address_is_added_unless",
    "tests/worker/flows/effects/test_effects.py::test_what_cannot_be_recorded",
    "tests/worker/flows/test_circles.py::test_two_machines",
    "tests/worker/flows/test_conversation.py::test_several_messages",
    "tests/worker/flows/test_frozen_recording.py",
    "tests/worker/flows/test_given_up.py",
    "tests/worker/flows/test_parked.py::test_a_contact_who_is_parked",
    "tests/worker/flows/test_parked.py::test_a_start_whose_contacts",
    "tests/worker/flows/test_parked.py::test_a_worker_that_dies",
    "tests/worker/flows/test_pauses.py::test_a_callback_ends_its_wait_once",
    "tests/worker/flows/test_pauses.py::test_a_callback_that_was_accepted",
    "tests/worker/flows/test_runner.py",
    "tests/worker/flows/test_sprints.py::test_smart_groups",
    "tests/worker/flows/test_start_costs.py",
    "tests/worker/flows/test_started_runs.py::TestInterruptedRuns",
    "tests/worker/flows/test_started_runs.py::test_a_contact_that",
    "tests/worker/flows/test_started_runs.py::test_a_start_is_interrupted_while",
    "tests/worker/flows/test_started_runs.py::test_who_had_a_lease",
    "tests/worker/mirrors/test_contacts.py",
    "tests/worker/push/test_pushing.py::TestWhen::test_nobody_pushes_twice",
    "tests/worker/test_archiving.py::test_of_two",
    "tests/worker/test_campaigns.py::TestChangesMeanwhile::test_a_fire_that_was_overtaken",
    "tests/worker/test_campaigns.py::TestWhatIsToCome",
    "tests/worker/test_campaigns.py::TestWorkers",
    "tests/worker/test_mail.py::test_a_letter_that_was_sent_while",
    "tests/worker/test_run_archiving.py::test_flows_go_on_counting",
    "tests/worker/webhooks/test_dispatcher.py::TestManyReceivers::test_a_lease",
    "tests/worker/webhooks/test_dispatcher.py::TestManyReceivers::test_each_event",
    "tests/worker/webhooks/test_dispatcher.py::TestReplies::test_a_reply_is_sent_once",
    "tests/worker/webhooks/test_dispatcher.py::test_a_database",
    "tests/worker/webhooks/test_dispatcher.py::test_an_attempt_that_cannot",
    "tests/worker/webhooks/test_own_settings.py::test_its_rate_limit",
)
"""Those among them whose cases are about what a database finds, stores or holds up: each is asked on both."""
ASKING_NO_DATABASE = (
    "tests/faults/test_unusable_databases.py",
    "tests/handlers/",
    "tests/persistence/accounts/",
    "tests/persistence/backups/test_backups.py",
    "tests/persistence/broadcasts/test_expansion.py::TestTexts",
    "tests/persistence/campaigns/test_scheduling.py",
    "tests/persistence/channels/test_health.py",
    "tests/persistence/channels/test_terms.py",
    "tests/persistence/contact_imports/",
    "tests/persistence/data_requests/",
    "tests/persistence/definitions/",
    "tests/persistence/deliveries/test_settings.py",
    "tests/persistence/flows/",
    "tests/persistence/move/",
    "tests/persistence/secrets/",
    "tests/persistence/service/test_backlog.py",
    "tests/persistence/sessions/test_sessions.py",
    "tests/persistence/triggers/",
    "tests/relayboard/commands/",
    "tests/relayboard/move/",
    "tests/relayboard/test_cli.py",
    "tests/worker/channels/",
    "tests/worker/flows/",
    "tests/worker/mirrors/",
    "tests/worker/push/",
    "tests/worker/test_alarms.py",
    "tests/worker/test_archiving.py",
    "tests/worker/test_campaigns.py",
    "tests/worker/test_dispatcher.py",
    "tests/worker/test_faults.py",
    "tests/worker/test_mail.py",
    "tests/worker/test_metrics.py",
    "tests/worker/test_process.py",
    "tests/worker/test_run_archiving.py",
    "tests/worker/test_schedules.py",
    "tests/worker/webhooks/",
)
"""Those whose rules are about HTTP, files, flows, times, who may do what, commands, and what other servers say and are
told: what they ask a database is asked on both by the tests of its list or its table. Also a rule of few cases, or of
one, is asked on one database; handlers only translate, a worker decides in Python what it asks of persistence, and half
of the rules of each module are asked on either."""
ON_POSTGRESQL = (
    "tests/acceptance/test_conversations.py",
    "tests/faults/test_airtime_kills.py",
    "tests/faults/test_archive_kills.py",
    "tests/faults/test_broadcast_kills.py",
    "tests/faults/test_callback_kills.py",
    "tests/faults/test_campaign_kills.py",
    "tests/faults/test_data_job_kills.py::test_all_who_match",
    "tests/faults/test_deleted_meanwhile.py",
    "tests/faults/test_flow_kills.py",
    "tests/faults/test_gateway_kills.py",
    "tests/faults/test_mail_kills.py",
    "tests/faults/test_push_kills.py",
    "tests/faults/test_smpp_kills.py",
    "tests/handlers/test_held_syncs.py::test_a_killed",
    "tests/handlers/test_held_syncs.py::test_a_worker_that_is_killed",
    "tests/persistence/test_migrations.py::test_a_revision_is_written",
    "tests/persistence/workspace_files/test_workspace_files.py::test_rows_get_other_ids",
    "tests/worker/mirrors/test_everything_of_contacts.py::test_mirrors_miss_nothing",
    "tests/worker/mirrors/test_flows.py::test_a_mirror_misses_nothing",
    "tests/worker/mirrors/test_globals.py::test_a_mirror_misses_nothing",
    "tests/worker/mirrors/test_messages.py::test_no_change_is_taken_back",
    "tests/worker/mirrors/test_runs_and_starts.py::test_mirrors_miss_nothing",
    "tests/worker/mirrors/test_templates_and_resthooks.py::test_a_mirror_misses_nothing",
    "tests/worker/mirrors/test_tickets.py::test_a_mirror_misses_nothing",
    "tests/worker/test_campaign_races.py",
    "tests/worker/test_senders.py::test_little_and_much",
)
"""Stories of killed workers and of writers side by side, each told where it breaks first: there a worker is several
processes, what a killed one had begun may still be committed, and writers do not wait for one another. Also how a
revision is written, where keys have the workspace in them, and the ids of rows that come from there. Leases are tested
on both; SMS and phones amid kills in `tests/faults/test_kills.py` on SQLite, on PostgreSQL in
`tests/quality/test_nodes.py`."""
FEW = 4
"""Fewer cases than these are all asked on both."""


def takes_turns(test: str, cases: int) -> bool:
    """Whether so many cases of a test, by its id, are asked on one of the databases each."""
    return cases >= FEW and test.startswith(TAKING_TURNS) and not test.startswith(ASKING_DATABASES)


def is_asked_once(test: str) -> bool:
    """Whether each case of a test, by its id, is asked on one database, however few there are."""
    return test.startswith(ASKING_NO_DATABASE) and not test.startswith(ASKING_DATABASES)


def has_its_turn(number: int, database: str) -> bool:
    # Not every other: a table of pairs would ask the first of each on one database, the second on the other.
    return DATABASES[number.bit_count() % 2] != database


def find_repeats(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Those whose turn it is on the other database."""
    tables: defaultdict[str, defaultdict[str, dict[str, pytest.Item]]] = defaultdict(lambda: defaultdict(dict))
    for item in items:
        rule, _, case = item.nodeid.partition("[")
        if rule.startswith(ON_POSTGRESQL):
            if "sqlite" in case.removesuffix("]").split("-"):
                yield item
        elif case and (takes_turns(rule, FEW) or is_asked_once(rule)):
            parts = case.removesuffix("]").split("-")
            (*_, database) = ["", *(part for part in parts if part in DATABASES)]
            tables[rule]["-".join(part for part in parts if part not in DATABASES)][database] = item
    for rule, cases in tables.items():
        both = [asked for asked in cases.values() if set(asked) == set(DATABASES)]
        # Rules of one case begin with either database, by their names.
        first = crc32(rule.encode()) % 2 if is_asked_once(rule) else 0
        for number, asked in enumerate(both if is_asked_once(rule) or takes_turns(rule, len(both)) else (), first):
            yield from (item for database, item in asked.items() if not has_its_turn(number, database))
