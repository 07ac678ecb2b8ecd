"""The commands that create records that are read-only in the API."""

import pytest

from relayboard.cli import main
from tests.api import Api
from tests.channel_rows import add_channel, add_contact
from tests.definition_files import bring_in, make_definition, make_file, say

NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"
CHANNEL = "aa7d0b9c-22e1-4f8f-8f6d-1b3c5d7e9f00"
TEMPLATE = ("--name", "reminder", "--channel", CHANNEL, "--locale")


@pytest.mark.parametrize(
    ("noun", "path", "arguments"),
    [
        ("topic", "topics", ["--name", "Billing"]),
        ("field", "fields", ["--name", "Due Date", "--type", "datetime", "--agents", "edit"]),
        ("resthook", "resthooks", ["--slug", "New-Birth"]),
        ("global", "globals", ["--name", "Clinic Phone", "--value", "112"]),
        ("optin", "optins", ["--name", "News"]),
        ("ticketer", "ticketers", ["--name", "Desk", "--type", "zendesk"]),
        ("classifier", "classifiers", ["--name", "Booking", "--type", "wit", "--intent", "b", "--intent", "a"]),
    ],
)
def test_what_a_command_makes_is_printed_and_listed_by_the_api(run, api: Api, noun, path, arguments):
    status, printed = run(noun, "create", *arguments)

    assert status == 0
    assert api.results(f"/api/v2/{path}.json")[0] == printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["topic", "create", "--name", "general"],
        ["resthook", "create", "--slug", "a b"],
        ["global", "create", "--name", "4", "--value", "x"],
        ["ticketer", "create", "--name", "Relayboard Tickets", "--type", "zendesk"],
        ["classifier", "create", "--name", "", "--type", "wit"],
        ["classifier", "create", "--name", "Booking", "--type", "wit", "--intent", " "],
        ["ticket", "open", "--contact", NOWHERE],
        ["ticket", "open", "--contact", "nobody"],
    ],
)
def test_what_breaks_a_rule_is_not_made(run, arguments):
    assert run(*arguments) == (1, None)


def test_a_classifier_lists_its_intents_sorted(run):
    _, printed = run("classifier", "create", "--name", "Booking", "--type", "wit", "--intent", "b", "--intent", "a")

    assert printed["intents"] == ["a", "b"]


def test_a_template_grows_by_translations_and_replaces_those_it_has(run, api: Api, database, workspace):
    add_channel(database, workspace, uuid=CHANNEL)
    run("template", "create", *TEMPLATE, "swa-KE", "--content", "Karibu")
    run("template", "create", *TEMPLATE, "eng", "--content", "Welcome {{1}}", "--status", "pending")

    status, printed = run("template", "create", *TEMPLATE, "swa-KE", "--content", "Karibu {{1}}, saa {{2}}")

    assert status == 0
    assert api.results("/api/v2/templates.json") == [printed]
    shown = [
        (each["locale"], each["language"], each["variable_count"], each["status"]) for each in printed["translations"]
    ]
    assert shown == [("eng", "eng", 1, "pending"), ("swa-KE", "swa", 2, "approved")]
    assert printed["translations"][0]["channel"] == {"uuid": CHANNEL, "name": "Front desk"}


@pytest.mark.parametrize("arguments", [["swahili", "--content", "x"], ["swa", "--content", " "]])
def test_a_bad_translation_is_refused(run, database, workspace, arguments):
    add_channel(database, workspace, uuid=CHANNEL)

    assert run("template", "create", *TEMPLATE, *arguments) == (1, None)


def test_the_channel_of_a_translation_has_to_exist(run):
    assert run("template", "create", *TEMPLATE, "swa", "--content", "x") == (1, None)


def test_a_ticket_is_opened_once_for_a_contact(run, api: Api, database, workspace):
    add_contact(database, workspace)
    contact = api.results("/api/v2/contacts.json")[0]["uuid"]
    _, topic = run("topic", "create", "--name", "Billing")
    email = f"administrator@{workspace.uuid[:8]}.example.org"
    arguments = ("--contact", contact, "--topic", topic["uuid"], "--assignee", email, "--note", "Wants a bill")

    status, printed = run("ticket", "open", *arguments)

    assert status == 0
    assert api.results("/api/v2/tickets.json") == [printed]
    assert (printed["topic"]["name"], printed["assignee"]["email"]) == ("Billing", email)
    assert run("ticket", "open", *arguments) == (1, None)


@pytest.mark.parametrize("option", ["--topic", "--assignee"])
def test_a_ticket_refers_to_what_exists(run, api: Api, database, workspace, option):
    add_contact(database, workspace)
    contact = api.results("/api/v2/contacts.json")[0]["uuid"]

    assert run("ticket", "open", "--contact", contact, option, NOWHERE) == (1, None)


def test_a_field_is_made_with_what_agents_may_do_in_one_step(run, api: Api):
    _, made = run("field", "create", "--name", "Age", "--agents", "none")

    told = [each for each in api.results("/api/v2/audit_events.json") if each["resource"] == "fields"]
    assert (made["agent_access"], [each["action"] for each in told]) == ("none", ["created"])
    assert told[0]["changes"]["agent_access"] == [None, "none"]


def test_what_agents_may_do_with_a_field_is_set(run, api: Api):
    run("field", "create", "--name", "Age")

    status, printed = run("field", "access", "--key", "age", "--agents", "none")

    assert (status, printed["agent_access"]) == (0, "none")
    assert api.results("/api/v2/fields.json")[0]["agent_access"] == "none"
    assert run("field", "access", "--key", "nothing", "--agents", "edit") == (1, None)


@pytest.mark.parametrize(
    ("option", "text"),
    [("--authorization-file", "Bearer a\r\nHost: b"), ("--authorization-file", "ж"), ("--content-type", "a\nb")],
)
def test_a_gateway_whose_headers_could_not_be_sent_is_not_made(run, api: Api, tmp_path, option, text):
    arguments = ["--name", "Gateway", "--address", "8080", "--send-url", "https://gateway.example.org/send"]
    (tmp_path / "secret").write_bytes(text.encode())
    value = str(tmp_path / "secret") if option.endswith("-file") else text

    assert run("channel", "create", *arguments, option, value) == (1, None)
    assert api.results("/api/v2/channels.json") == []


@pytest.mark.parametrize("option", ["--authorization-file", "--send-url-file", "--recognizes-repeats"])
def test_a_setting_of_another_type_is_refused_before_its_file_is_read(workspace, database, run, capsys, option):
    add_channel(database, workspace, uuid=CHANNEL)
    given = [option, "nowhere"] if option.endswith("-file") else [option]

    status = main(["channel", "change", CHANNEL, *given])

    assert (status, capsys.readouterr().err.count("is not a setting of the type android")) == (1, 1)


def test_a_changed_record_is_what_the_api_shows(run, api: Api):
    made = {
        "optin": run("optin", "create", "--name", "News")[1],
        "ticketer": run("ticketer", "create", "--name", "Desk", "--type", "zendesk")[1],
        "classifier": run("classifier", "create", "--name", "Booking", "--type", "wit", "--intent", "book")[1],
        "group": run("group", "create", "--name", "Mothers")[1],
    }
    made["campaign"] = run("campaign", "create", "--name", "Births", "--group", "mothers")[1]
    changes = {
        "optin": ["--name", "Tips"],
        "ticketer": ["--name", "Counter"],
        "classifier": ["--intent", "cancel", "--intent", "book"],
        "campaign": ["--name", "Care"],
    }
    for noun, given in changes.items():
        status, printed = run(noun, "change", made[noun]["uuid"], *given)

        assert (status, api.results(f"/api/v2/{noun}s.json", uuid=made[noun]["uuid"])[0]) == (0, printed), noun
        assert printed != made[noun] and printed["uuid"] == made[noun]["uuid"]
        assert run(noun, "change", NOWHERE, *given) == (1, None)
    assert run("classifier", "change", made["classifier"]["uuid"], "--intent", " ") == (1, None)


@pytest.mark.parametrize(
    ("noun", "more", "verbs"),
    [
        ("group", [], "show change delete"),
        ("label", [], "show change delete"),
        ("topic", [], "show change"),
        ("optin", [], "show change"),
        ("ticketer", ["--type", "zendesk"], "show change"),
        ("classifier", ["--type", "wit", "--intent", "book"], "show change"),
    ],
)
def test_a_record_is_called_by_its_name_in_any_case(run, noun, more, verbs):
    _, made = run(noun, "create", "--name", "Health", *more)

    assert run(noun, "show", "HEALTH") == (0, made)
    _, changed = run(noun, "change", "health", "--name", "Care")
    assert (changed["uuid"], changed["name"]) == (made["uuid"], "Care")
    assert run(noun, "change", "Health", "--name", "Other") == (1, None)
    if "delete" in verbs:
        assert run(noun, "delete", "Care", "--yes") == (0, {"deleted": made["uuid"]})
        assert run(noun, "show", "Care") == (1, None)


def test_an_archived_campaign_is_called_by_its_uuid_alone(run):
    run("group", "create", "--name", "Mothers")
    made = [run("campaign", "create", "--name", "Births", "--group", "mothers")[1]]
    assert main(["campaign", "archive", "--campaign", made[0]["uuid"]]) == 0
    made.append(run("campaign", "create", "--name", "Births", "--group", "mothers")[1])

    assert run("campaign", "show", "births") == (0, made[1])
    assert run("campaign", "show", made[0]["uuid"])[1]["archived"]


def test_a_ticket_is_assigned_moved_closed_and_reopened(run, api: Api, database, workspace):
    add_contact(database, workspace)
    contact = api.results("/api/v2/contacts.json")[0]["uuid"]
    ticket = run("ticket", "open", "--contact", contact)[1]["uuid"]
    topic = run("topic", "create", "--name", "Billing")[1]["uuid"]
    email = f"administrator@{workspace.uuid[:8]}.example.org"

    shown = run("ticket", "change", ticket, "--assignee", email, "--topic", topic)[1]
    assert (shown["assignee"]["email"], shown["topic"]["name"], shown["status"]) == (email, "Billing", "open")
    closed = run("ticket", "change", ticket, "--unassign", "--status", "closed")[1]
    assert (closed["assignee"], closed["status"]) == (None, "closed")
    counts = [each["counts"] for each in api.results("/api/v2/topics.json") if each["uuid"] == topic]
    assert counts == [{"open": 0, "closed": 1}]
    other = run("ticket", "open", "--contact", contact)[1]["uuid"]
    assert run("ticket", "change", ticket, "--status", "open") == (1, None)
    run("ticket", "change", other, "--status", "closed")
    assert run("ticket", "change", ticket, "--status", "open")[1] == api.results("/api/v2/tickets.json", uuid=ticket)[0]


def test_a_flow_is_started_for_those_that_are_named(run, api: Api, database, workspace):
    flow = make_definition(say("Hello"))
    bring_in(database, workspace, make_file(flow))

    status, printed = run(
        "start", "create", "--flow", flow["uuid"], "--urn", "tel:+250788000444", "--params", '{"a": 1}', "--not-busy"
    )

    assert (status, api.results("/api/v2/flow_starts.json")) == (0, [printed])
    assert (printed["params"], printed["exclude_active"], printed["restart_participants"]) == ({"a": 1}, True, True)
    for wrong in ([], ["--urn", "nonsense"], ["--group", "Nobody"], ["--urn", "tel:+250788000444", "--params", "[]"]):
        assert run("start", "create", "--flow", flow["uuid"], *wrong) == (1, None)


def test_the_terms_of_a_channel_are_what_the_api_shows(run, api: Api, database, workspace):
    add_channel(database, workspace, uuid=CHANNEL)
    given = ["--sending-hours", "mon-fri 08:00-18:00", "--cost-per-segment", "0.0075", "--automatic-per-day", "0"]
    assert main(["channel", "change", CHANNEL, *given, "--transliterate", "yes"]) == 0
    assert main(["channel", "change", CHANNEL, "--sending-hours", "always"]) == 1
    assert main(["channel", "change", CHANNEL, "--reset", "cost_per_segment"]) == 0

    (told,) = api.results("/api/v2/channel_settings.json")
    names = ("sending_hours", "cost_per_segment", "automatic_per_day", "transliterate")
    assert [told[name] for name in names] == ["mon-fri 08:00-18:00", None, 0, True]


def test_a_renamed_channel_is_what_the_api_shows(run, api: Api, database, workspace):
    add_channel(database, workspace, uuid=CHANNEL, name="Old")
    assert main(["channel", "change", "--channel", CHANNEL, "--name", "Front desk"]) == 0

    (found,) = api.results("/api/v2/channels.json")
    assert found["name"] == "Front desk"
    assert main(["channel", "show", "--channel", CHANNEL]) == 0
    assert main(["channel", "change", "--channel", CHANNEL, "--name", " "]) == 1
    assert main(["channel", "show", "--channel", NOWHERE]) == 1
