"""`relayboard flow run`, `check` and `draw`, which need no database."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from persistence.database import Database
from persistence.flows.records import list_all_flows
from persistence.globals import create_global
from persistence.sql.columns import new_uuid
from persistence.workspaces.records import Workspace
from relayboard.cli import main
from relayboard.flow_tools.files import read_document, write_folder
from relayboard.flow_tools.translating import read_file
from testbed.flow_rows import ask, definition, node, uuid_of
from tests.definition_files import REGISTRATION, bring_in, make_definition, make_file, say, tested

Command = Callable[..., tuple[int, str, str]]
TEMPLATES = Path(__file__).parents[3] / "console" / "flows" / "templates"
PLAYED = {
    "registration": (("Amina", "Gasabo", "old", "27"), "< You are registered, Amina. Thank you!"),
    "survey": (("9", "4", "Longer hours", "yes"), "groups: +May be called"),
    "reminder": (("soon", "2020-01-01", "2099-03-02"), "We will remind you of your appointment on 2099-03-02."),
    "missed_call": (("/timeout",), "ticket: General"),
    "help": (("When do you open?",), "ticket: General"),
    "opt_out": ((), "status: stopped"),
}
"""What somebody types into the first flow of each template of the console, and what it does in the end."""


@pytest.fixture
def flow(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a flow command with lines that are typed; its status and what it writes."""

    def run_command(verb: str, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        status = main(["flow", verb, *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run_command


@pytest.fixture
def flow_in_service(flow: Command, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The same with the address of the database, which is never that of a pooler."""
    monkeypatch.setenv("RELAYBOARD_DATABASE_URL", database_url)
    return flow


def write(folder: Path, document: Any) -> str:
    path = folder / "file.json"
    path.write_text(json.dumps(document))
    return str(path)


ADULT = {
    "name": "An adult agrees",
    "contact": {"name": "", "groups": []},
    "at": "2026-05-04T08:00:00Z",
    "services": {"webhooks": [{"status": 200, "body": '{"name": "Riverside"}'}]},
    "steps": [
        {"expect": ["Welcome to Riverside Clinic! What is your name?"]},
        {"say": "Bob"},
        {"say": "abc"},
        {"pass": 60},
        {"expect": ["Please send your age as a number, like 27."]},
        {"say": "41"},
        {"expect": [{"text": "May we send Bob a reminder before each checkup?", "quick_replies": ["Yes", "No"]}]},
        {"say": "yes"},
    ],
    "then": {
        "status": "completed",
        "name": "Bob",
        "results": {"age": {"value": "41", "category": "Age"}},
        "fields": {"age": "41"},
        "groups": ["adults", "Registered"],
        "not_groups": ["Consent"],
    },
}


class TestTranslations:
    @pytest.mark.parametrize("suffix", [".po", ".csv", ".xlsx"])
    def test_a_file_goes_to_translators_and_comes_back(self, flow: Command, tmp_path: Path, suffix: str) -> None:
        thanks = {**say("=1+1 thanks, @contact.name"), "uuid": uuid_of("thanks")}
        written = {"fra": {uuid_of("thanks"): {"text": ["--"]}}}
        flows = [definition("Other", []), definition("Ask", [node("n", [thanks])], localization=written)]
        path, texts = write(tmp_path, make_file(*flows)), tmp_path / f"texts{suffix}"
        assert flow("texts", path, "--flow", "Ask", "--language", "fra", "-o", str(texts))[0] == 0
        back, rows = tmp_path / "back.po", read_file(texts)
        assert [(row.text, row.translation) for row in rows] == [("=1+1 thanks, @contact.name", "--")]
        assert flow("translate", path, str(texts), "--flow", "Ask", "--language", "fra") == (0, "", "")

        back.write_text(f'msgctxt "{rows[0].key}"\nmsgid "{rows[0].text}"\nmsgstr "Merci, @contact.name"\n')
        out = tmp_path / "out.json"
        told = flow("translate", path, str(back), "--flow", "Ask", "--language", "fra", "-o", str(out))

        assert told[:2] == (0, "changed: '=1+1 thanks, @contact.name': '--' -> 'Merci, @contact.name'\n")
        other, ask_flow = json.loads(out.read_text())["flows"]
        assert (other["name"], ask_flow["localization"]["fra"][uuid_of("thanks")]) == (
            "Other",
            {"text": ["Merci, @contact.name"]},
        )

    def test_what_is_left_out_is_told_by_the_status(self, flow: Command, tmp_path: Path) -> None:
        path = write(tmp_path, definition("Ask", [node("n", [{**say("Hi @contact"), "uuid": uuid_of("hi")}])]))
        texts = tmp_path / "texts.po"
        texts.write_text(f'msgctxt "{uuid_of("hi")}/text/0"\nmsgid "Hi @contact"\nmsgstr "Salut @contcat"\n')

        status, out, _ = flow("translate", path, str(texts), "--language", "fra")

        assert (status, out) == (1, "left out (expressions): 'Hi @contact': 'Salut @contcat'\n")

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("texts.txt", b"", "ends in .po, .csv, .xlsx"),
            ("texts.po", b"\xff", "is not in UTF-8"),
            ("texts.csv", b"key,text\na,b\n", "has no column translation"),
            ("texts.xlsx", b"PK\x03\x04 no workbook", "texts.xlsx: "),
        ],
    )
    def test_what_is_no_file_of_translations_is_refused(
        self, flow: Command, tmp_path: Path, name: str, content: bytes, sentence: str
    ) -> None:
        path = write(tmp_path, definition("Ask", []))
        (tmp_path / name).write_bytes(content)

        status, _, err = flow("translate", path, str(tmp_path / name), "--language", "fra")

        assert status == 1
        assert sentence in err


class TestTests:
    def test_a_test_passes_when_the_flow_says_and_does_what_it_expects(self, flow: Command, tmp_path: Path) -> None:
        status, out, err = flow("test", write(tmp_path, tested(ADULT)))
        assert (status, out, err) == (0, "ok      Registration: An adult agrees\n", "")

    def test_what_differs_is_said_with_its_step_and_fails_the_command(self, flow: Command, tmp_path: Path) -> None:
        steps = [{"expect": ["Hello"]}, {"say": "Bob"}, {"expect": []}, {"timeout": True}, {"timeout": True}]
        then = {"status": "failed", "results": {"age": "1"}, "fields": {"age": 1}, "groups": ["Adults"]}
        status, out, _ = flow("test", write(tmp_path, tested({"name": "Wrong", "steps": steps, "then": then})))
        assert status == 1
        first, *failures = (line.strip() for line in out.splitlines())
        assert first == "FAILED  Registration: Wrong"
        assert failures[:2] == [
            "step 1: text is 'Welcome to Riverside Clinic! What is your name?', expected 'Hello'",
            "step 3: 0 messages are expected, the flow wrote 'Thanks Bob. How old are you?'",
        ]
        assert failures[2].startswith("step 5: ")

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            ({}, "tests[0].name must be a text"),
            ({"name": "X", "setps": []}, "tests[0]: setps means nothing here"),
            ({"name": "X", "steps": [{"say": 41}]}, "tests[0].steps[0].say must be a text: put it into quotes"),
            ({"name": "X", "steps": [{"say": "a", "expect": []}]}, "tests[0].steps[0] must be one of"),
            ({"name": "X", "steps": [{"pass": -1}]}, "tests[0].steps[0].pass must be a number of seconds"),
            ({"name": "X", "at": "soon"}, "tests[0].at must be a time"),
            ({"name": "X", "contact": {"groups": ["Nobody"]}}, "there is no group 'Nobody'"),
            ({"name": "X", "then": {"groups": "Adults"}}, "tests[0].then.groups must be a list"),
        ],
    )
    def test_a_test_that_cannot_be_read_says_where_it_is_wrong(
        self, flow: Command, tmp_path: Path, wrong: dict[str, Any], sentence: str
    ) -> None:
        status, _, err = flow("test", write(tmp_path, tested(wrong)))
        assert status == 1
        assert sentence in err

    def test_without_a_test_the_command_fails(self, flow: Command) -> None:
        assert flow("test", str(REGISTRATION))[0] == 1
        assert flow("test")[0] == 1

    def test_the_tests_of_a_workspace_are_played_with_what_it_has(
        self, flow_in_service: Command, database: Database, workspace: Workspace
    ) -> None:
        bring_in(database, workspace, tested(ADULT))
        status, out, _ = flow_in_service("test", "--workspace", workspace.uuid, "--json")
        played = json.loads(out)
        assert (status, played) == (0, [{"flow": "Registration", "test": "An adult agrees", "failures": []}])


class TestFolders:
    def test_a_folder_says_the_same_as_the_export_file(
        self, flow_in_service: Command, database: Database, workspace: Workspace, tmp_path: Path
    ) -> None:
        bring_in(database, workspace, tested(ADULT))
        arguments = ("--workspace", workspace.uuid)
        document = json.loads(flow_in_service("export", *arguments)[1])
        folder = tmp_path / "flows"
        written = json.loads(flow_in_service("export", *arguments, "--folder", str(folder))[1])
        names = ["checkup_reminder.yaml", "consent.yaml", "registration.yaml", "workspace.yaml"]
        assert (sorted(written["written"]), written["left"]) == (names, [])
        read = read_document(folder)
        by_uuid = {each["uuid"]: each for each in document.pop("flows")}
        assert {each["uuid"]: each for each in read.pop("flows")} == by_uuid
        assert read == document
        assert "tests:\n- name: An adult agrees\n" in (folder / "registration.yaml").read_text()
        assert flow_in_service("test", str(folder))[0] == 0
        assert flow_in_service("check", str(folder))[0] == flow_in_service("check", str(REGISTRATION))[0]
        assert flow_in_service("import", *arguments, str(folder))[0] == 0
        assert json.loads(flow_in_service("export", *arguments)[1])["flows"] == list(by_uuid.values())

    def test_a_renamed_flow_keeps_its_file_and_files_of_others_are_left(self, tmp_path: Path) -> None:
        one, other = make_definition(say("Hi")), make_definition(say("Ho"))
        first = write_folder(tmp_path, make_file(one, other))
        assert first["written"] == ["welcome.yaml", f"welcome-{other['uuid'][:8]}.yaml", "workspace.yaml"]
        again = write_folder(tmp_path, make_file({**one, "name": "Greeting"}))
        assert again == {"written": ["welcome.yaml", "workspace.yaml"], "left": [first["written"][1]]}

    @given(
        values=st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"]))
            | st.sampled_from(["yes", "012", "1:30", "2026-01-01", "~", "<<", "=", "1e5", " a\n b ", "\n", "a\n\n"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
            ),
            max_leaves=8,
        )
    )
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_definition_is_read_as_it_was_written(self, tmp_path: Path, values: Any) -> None:
        definition = {**make_definition(say("Hi")), "extra": values}
        write_folder(tmp_path, make_file(definition))
        [read] = [each for each in read_document(tmp_path)["flows"] if each["uuid"] == definition["uuid"]]
        assert read == definition
        (tmp_path / "welcome.yaml").unlink()

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            ("nodes: &all [1]\nother: *all", "references (*) are not read"),
            ("nodes: " + "[" * 300, "more than 200 levels"),
            ("nodes: []\nnodes: []", "nodes is there twice"),
            ("nodes: []\n1: x", "1 must be in quotes"),
            ("name: Hi", "is not a flow: it has no nodes"),
            ("- 1", "is not an object"),
            ("nodes: !!python/object/apply:os.getcwd []", "is not YAML"),
            ("nodes: [", "is not YAML"),
            ("nodes: \xff", "is not YAML"),
        ],
    )
    def test_a_file_that_is_no_flow_is_refused(
        self, flow: Command, tmp_path: Path, content: str, sentence: str
    ) -> None:
        (tmp_path / "flow.yaml").write_bytes(content.encode("latin-1"))
        status, _, err = flow("check", str(tmp_path))
        assert status == 1
        assert sentence in err
        assert "Traceback" not in err


class TestRun:
    def test_it_answers_what_is_typed(self, flow: Command) -> None:
        status, out, err = flow("run", str(REGISTRATION), typed="Bob\nabc\n41\nyes\n")
        assert (status, err) == (0, "")
        assert "< Thanks Bob. How old are you?" in out
        assert "< Please send your age as a number, like 27." in out
        assert "  · result Age: 41 (Age)" in out
        assert out.endswith("  · completed\n")

    def test_the_contact_can_be_described(self, flow: Command, tmp_path: Path) -> None:
        path = write(tmp_path, make_definition(say("@contact.name is @(fields.age + 1)")))
        _, out, _ = flow("run", path, "--contact", '{"name": "Bob", "fields": {"age": "27"}}')
        assert out.startswith("< Bob is 28\n")

    def test_events_can_be_had_as_json(self, flow: Command, tmp_path: Path) -> None:
        _, out, _ = flow("run", write(tmp_path, make_definition(say("Hi"))), "--json")
        assert [json.loads(line)["type"] for line in out.splitlines()] == ["run_started", "msg_created", "run_ended"]

    def test_waits_can_time_out(self, flow: Command) -> None:
        _, out, _ = flow("run", str(REGISTRATION), typed="Bob\n/timeout\n")
        assert out.endswith("(No Response)\n  · completed\n")

    def test_pauses_are_told_where_the_file_is_checked_and_passed_where_it_is_run(
        self, flow: Command, tmp_path: Path
    ) -> None:
        hour = ask("hour", {}, "call", timeout=(3600, "call"))
        call = ask("call", {}, "end")
        hour["router"]["wait"]["pause"] = {"ends_by": "time"}
        call["router"]["wait"]["pause"] = {"ends_by": "callback"}
        path = write(
            tmp_path,
            definition(
                "Pauses", [hour, call, node("end", [{**say("Paid: @resume.json.paid"), "uuid": uuid_of("paid")}])]
            ),
        )

        checked, _, told = flow("check", path)
        _, out, _ = flow("run", path, typed='Hello\n/timeout\n/callback {"paid": 12}\n')

        assert (checked, told.count("a message does not end its wait")) == (0, 2)
        assert "< Paid: 12\n" in out
        steps = [{"timeout": True}, {"callback": '{"paid": 12}'}, {"expect": ["Paid: 12"]}]
        tested = {**json.loads(Path(path).read_text()), "_ui": {"tests": [{"name": "Pays", "steps": steps}]}}
        assert flow("test", write(tmp_path, tested))[:2] == (0, "ok      Pauses: Pays\n")

    def test_what_a_wait_does_not_accept_is_said_and_the_session_goes_on(self, flow: Command) -> None:
        status, out, err = flow("run", str(REGISTRATION), typed="/timeout\nBob\n")
        assert status == 0
        assert "cannot be resumed by wait_timeout" in err
        assert "< Thanks Bob" in out

    def test_a_flow_that_fails_is_told_by_the_status(self, flow: Command, tmp_path: Path) -> None:
        missing = {"uuid": "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e", "name": "Gone"}
        status, out, _ = flow("run", write(tmp_path, make_definition({"type": "enter_flow", "flow": missing})))
        assert status == 1
        assert out.endswith("  · failed\n")

    def test_control_characters_do_not_reach_the_terminal(self, flow: Command, tmp_path: Path) -> None:
        _, out, _ = flow("run", write(tmp_path, make_definition(say("Hi\x1b[2J"))))
        assert "\x1b" not in out

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["--contact", "{"], "--contact is not JSON"),
            (["--contact", "[]"], "--contact must be a JSON object"),
            (["--contact", '{"status": "lost"}'], "is not a status of contacts"),
            (["--flow", "Other"], "there is no flow Other in the file"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, flow: Command, arguments: list[str], complaint: str) -> None:
        status, out, err = flow("run", str(REGISTRATION), *arguments)
        assert (status, out) == (1, "")
        assert complaint in err

    def test_what_is_referred_to_without_a_name_goes_by_its_uuid(self, flow: Command, tmp_path: Path) -> None:
        group, label, channel = {"uuid": new_uuid()}, {"uuid": new_uuid()}, {"uuid": new_uuid()}
        definition = make_definition(
            {"type": "add_contact_groups", "groups": [group]},
            {"type": "add_input_labels", "labels": [label]},
            {"type": "set_contact_channel", "channel": channel},
            say("Done"),
        )
        status, out, err = flow("run", write(tmp_path, definition))
        assert (status, err) == (0, "")
        assert f"groups: +{group['uuid']}" in out
        assert "< Done" in out


class TestCheck:
    def test_a_good_file_passes(self, flow: Command) -> None:
        assert flow("check", str(REGISTRATION)) == (0, "", "")

    def test_issues_are_told_with_their_place(self, flow: Command, tmp_path: Path) -> None:
        definition = make_definition(say("Hi @(upper("))
        definition["nodes"][0]["actions"][0]["text"] = "Hi @(1 +)"
        node, action = definition["nodes"][0]["uuid"], definition["nodes"][0]["actions"][0]["uuid"]
        status, out, _ = flow("check", write(tmp_path, definition))
        assert status == 1
        assert f"Welcome, node {node}, action {action}, text: @(1 +)" in out

    def test_what_an_export_lacks_is_an_issue(self, flow: Command, tmp_path: Path) -> None:
        missing = {"uuid": "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e", "name": "Gone"}
        definition = make_definition({"type": "enter_flow", "flow": missing})
        status, out, _ = flow("check", write(tmp_path, make_file(definition)), "--json")
        assert status == 1
        assert [(each["flow_name"], each["type"]) for each in json.loads(out)] == [("Welcome", "missing_dependency")]

    def test_what_an_import_makes_by_itself_is_no_issue(self, flow: Command, tmp_path: Path) -> None:
        group, label = {"uuid": new_uuid(), "name": "Mothers"}, {"uuid": new_uuid(), "name": "Asked"}
        definition = make_definition(
            {"type": "add_contact_groups", "groups": [group]},
            {"type": "add_input_labels", "labels": [label]},
            {"type": "set_contact_field", "field": {"key": "age", "name": "Age"}, "value": "@globals.limit"},
            name=f'The "{"x" * 70}"',
        )
        assert flow("check", write(tmp_path, make_file(definition))) == (0, "", "")

    def test_what_an_import_skips_is_an_issue(self, flow: Command, tmp_path: Path) -> None:
        definition = make_definition()
        named = {"uuid": definition["uuid"], "name": "Welcome"}
        trigger = {"trigger_type": "K", "flow": named, "keywords": ["join us"], "match_type": "F"}
        status, out, _ = flow("check", write(tmp_path, make_file(definition, triggers=[trigger])), "--json")
        assert status == 1
        assert [(each["flow_name"], each["type"]) for each in json.loads(out)] == [("Welcome", "skipped_trigger")]

    def test_all_faults_for_which_an_import_is_refused_are_issues(self, flow: Command, tmp_path: Path) -> None:
        bad = [make_definition(name="One", type="song"), make_definition(name="Two", type="dance")]
        status, out, _ = flow("check", write(tmp_path, make_file(make_definition(name="Fine"), *bad)), "--json")
        assert status == 1
        assert [(each["flow_name"], each["fatal"]) for each in json.loads(out)] == [("One", True), ("Two", True)]

    def test_a_fault_around_the_flows_is_an_issue(self, flow: Command, tmp_path: Path) -> None:
        group = {"uuid": new_uuid(), "name": "Adults", "query": "age >"}
        status, out, _ = flow("check", write(tmp_path, make_file(make_definition(), groups=[group])))
        assert status == 1
        assert "groups[0]: query: " in out
        assert out.endswith("(refused)\n")

    def test_a_document_that_is_no_flow_is_an_issue(self, flow: Command, tmp_path: Path) -> None:
        status, out, _ = flow("check", write(tmp_path, {"version": "13", "letters": []}))
        assert status == 1
        assert "neither an export file nor a flow" in out

    def test_a_workspace_has_what_the_file_lacks_and_stays_as_it_is(
        self, flow_in_service: Command, tmp_path: Path, database: Database, workspace: Workspace
    ) -> None:
        there = make_definition(name="Gone")
        bring_in(database, workspace, make_file(there))
        named = {"uuid": there["uuid"], "name": "Gone"}
        path = write(tmp_path, make_definition({"type": "enter_flow", "flow": named}))

        assert flow_in_service("check", path)[0] == 1
        assert flow_in_service("check", path, "--workspace", workspace.uuid) == (0, "", "")
        with database.reading() as tx:
            assert [json.loads(each)["name"] for each in list_all_flows(tx, workspace)] == ["Gone"]


@pytest.mark.parametrize("name", sorted(path.stem for path in TEMPLATES.iterdir()))
def test_a_template_has_no_issues_and_can_be_played_to_its_end(flow: Command, name: str) -> None:
    path, (typed, wanted) = str(TEMPLATES / f"{name}.json"), PLAYED[name]

    assert flow("check", path) == (0, "", "")
    status, out, err = flow("run", path, typed="".join(f"{line}\n" for line in typed))
    assert (status, err) == (0, "")
    assert wanted in out
    assert out.endswith("  · completed\n")


class TestDraw:
    def test_a_drawing_is_written_to_a_file(self, flow: Command, tmp_path: Path) -> None:
        drawn = tmp_path / "flow.svg"
        assert flow("draw", str(REGISTRATION), "-o", str(drawn)) == (0, "", "")
        assert drawn.read_text().startswith("<svg ")

    def test_a_drawing_is_printed(self, flow: Command) -> None:
        _, out, _ = flow("draw", str(REGISTRATION), "--flow", "consent")
        assert "<title>Consent</title>" in out


def test_a_workspace_lends_its_fields_groups_globals_and_languages(
    flow_in_service: Command, tmp_path: Path, database: Database, workspace: Workspace
) -> None:
    with database.writing() as tx:
        create_global(tx, workspace.id, "Clinic Phone", "+250788123123")
    document = write(tmp_path, make_definition(say("Call @globals.clinic_phone in @contact.language")))

    status, out, err = flow_in_service(
        "run", document, "--workspace", workspace.uuid, "--contact", '{"language": "kin"}'
    )

    assert (status, err) == (0, "")
    assert out == "< Call +250788123123 in kin\n  · completed\n"
