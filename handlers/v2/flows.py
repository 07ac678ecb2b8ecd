"""`/api/v2/flows.json`, `flow_actions.json`, `flow_figures.json`, `flow_issues.json`, `flow_results.json`,
`flow_revisions.json`, `flow_starts.json`, `flow_start_actions.json`, `flow_tests.json`, `flow_texts.json` and
`simulations.json`.
"""

import binascii
from base64 import b64decode, b64encode
from typing import Any

from flows.definition import DefinitionError
from handlers.answers import Answer, ListAnswer, Rehearsed, as_json, changed_record, created, created_record, no_content
from handlers.request import Request
from persistence.definitions.checking import check_definition
from persistence.definitions.drafts import list_drafts, publish_draft, read_draft, save_draft
from persistence.definitions.editing import change_from_form, create_from_form, save_from_form
from persistence.definitions.translating import read_flow_texts as read_texts
from persistence.definitions.translating import result_of, translate_from_form
from persistence.errors import InvalidInput, NothingFound, RecordMissing, Refused
from persistence.figures import figures
from persistence.flow_starts.batches import interrupt_starts
from persistence.flow_starts.flow_starts import STARTS, create_shown, read_form
from persistence.flows.records import (
    FLOWS,
    add_flow_label,
    find_flow,
    find_flows,
    put_away_flow,
    remove_flow_label,
    restore_flow,
)
from persistence.flows.simulations import simulate
from persistence.flows.testing import play_from_form
from persistence.flows.writes import list_revisions, read_revision
from persistence.runs.results import Asked
from persistence.runs.results import read_flow_results as read_results
from persistence.tokens import check_area, covers

list_flows = ListAnswer(FLOWS)

list_flow_starts = ListAnswer(STARTS)
USUAL_DAYS = 30
WITH_LABEL = {"label": add_flow_label, "unlabel": remove_flow_label}
WITHOUT_LABEL = {"archive": put_away_flow, "restore": restore_flow}


def write_flow(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    by: dict[str, Any] = {"user_id": request.credentials.user_id, "areas": request.areas}
    if uuid is None:
        return created_record(request, FLOWS, create_from_form(tx, workspace, body, **by))
    return changed_record(request, FLOWS, change_from_form(tx, workspace, uuid, body, **by))


def act_on_flows(request: Request) -> Answer:
    workspace_id, body = request.workspace.id, request.body
    action, label = body["action"], body.get("label")
    if bool(label) != (action in WITH_LABEL):
        verb = "needs a" if action in WITH_LABEL else "takes no"
        raise InvalidInput.across(f'The action "{action}" {verb} label.')
    for flow_id in find_flows(request.tx, workspace_id, body["flows"]):
        if label is None or action in WITHOUT_LABEL:
            WITHOUT_LABEL[action](request.tx, workspace_id, flow_id)
            continue
        try:
            WITH_LABEL[action](request.tx, workspace_id, flow_id, label)
        except RecordMissing as error:
            raise NothingFound("label", label) from error
        except InvalidInput as error:
            raise InvalidInput({"label": error.errors["name"]}, error.code) from error
    return no_content()


def read_flow_revisions(request: Request, *, uuid: str, number: int | None = None, draft: str | None = None) -> Answer:
    tx, workspace_id = request.tx, request.workspace.id
    if number is not None and draft is not None:
        raise Refused("Parameters number and draft cannot be used together.")
    flow_id = find_flow(tx, workspace_id, uuid)
    if flow_id is None:
        raise RecordMissing
    definition = None if draft is None else read_draft(tx, workspace_id, flow_id, draft)
    if number is not None:
        try:
            definition = read_revision(tx, workspace_id, flow_id, int(number))
        except DefinitionError as error:
            raise RecordMissing from error
    found = {"revisions": list_revisions(tx, workspace_id, flow_id), "drafts": list_drafts(tx, workspace_id, flow_id)}
    return as_json(200, {**found, "definition": definition})


def write_flow_revision(request: Request, *, uuid: str) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    known: dict[str, Any] = {
        "user_id": request.credentials.user_id,
        "networks": request.settings.webhook_allowed_networks,
    }
    draft, tests = None, None
    if body.get("draft"):
        made = save_draft(tx, workspace, uuid, body, **known)
        draft, revision, is_new, found = made.record, made.revision, made.is_new, made.found
    elif body.get("publish") is not None:
        saved, played = publish_draft(tx, workspace, uuid, body, **known, areas=request.areas)
        revision, is_new, found, tests = saved.record, saved.is_new, saved.found, played.to_json()
    else:
        saved = save_from_form(tx, workspace, uuid, body, **known, areas=request.areas)
        revision, is_new, found = saved.record, saved.is_new, saved.found
    issues = [each.to_json() for each in found]
    shown = {"revision": revision, "draft": draft, "issues": issues, "tests": tests}
    return as_json(201 if is_new else 200, shown)


def check_flow(request: Request) -> Answer:
    networks = request.settings.webhook_allowed_networks
    found = check_definition(request.tx, request.workspace, request.body["definition"], networks).found
    return as_json(200, {"issues": [each.to_json() for each in found]})


def run_flow_tests(request: Request) -> Answer:
    return as_json(200, play_from_form(request.tx, request.workspace, request.body).to_json())


def read_flow_texts(
    request: Request, *, uuid: str, language: str = "", since: int | None = None, format: str | None = None
) -> Answer:
    number = None if since is None else int(since)
    found = read_texts(request.tx, request.workspace.id, uuid, language, since=number, kind=format)
    texts = [
        {"key": row.key, "where": row.where, "text": row.text, "translation": row.translation, "before": before}
        for row, before in found.rows
    ]
    shown = {
        "language": language,
        "base_language": found.base_language,
        "based_on": found.based_on,
        "based_on_draft": found.draft,
        "texts": texts,
        "file": None if found.file is None else b64encode(found.file).decode(),
    }
    return as_json(200, shown)


def write_flow_texts(request: Request, *, uuid: str) -> Answer:
    body, is_dry = request.body, request.body.get("dry_run", False)
    if body.get("file") is not None:
        try:
            body = {**body, "file": b64decode(body["file"], validate=True)}
        except binascii.Error as error:
            raise InvalidInput.on("file", "This is not Base64.", "wrong_form") from error
    known: dict[str, Any] = {
        "user_id": request.credentials.user_id,
        "networks": request.settings.webhook_allowed_networks,
    }
    made = translate_from_form(request.tx, request.workspace, uuid, body, **known)
    changes = [
        {
            "key": each.row.key,
            "text": each.row.text,
            "before": each.before,
            "translation": each.row.translation,
            "result": result_of(each),
        }
        for each in made.changes
    ]
    draft = None if made.saved is None or is_dry else made.saved.record
    shown = {"dry_run": is_dry, "changes": changes, "untranslated": made.untranslated, "draft": draft}
    if is_dry:
        raise Rehearsed(as_json(200, shown))
    return as_json(200, shown)


def run_simulation(request: Request) -> Answer:
    with_tickets = covers(request.areas, "tickets")
    return as_json(200, simulate(request.tx, request.workspace, request.body, with_tickets=with_tickets))


def create_flow_start(request: Request) -> Answer:
    workspace = request.workspace
    if request.body.get("query"):
        check_area(request.areas, "contacts")
    form = read_form(request.tx, workspace, request.body, request.credentials.user_id)
    return created(create_shown(request.tx, workspace.id, form))


def act_on_flow_starts(request: Request) -> Answer:
    ends_runs = request.body["action"] == "interrupt_runs"
    interrupt_starts(request.tx, request.workspace.id, request.body["starts"], ends_runs=ends_runs)
    return no_content()


def read_flow_figures(request: Request, *, uuid: str, days: int = USUAL_DAYS) -> Answer:
    return as_json(200, figures.read_flow_figures(request.tx, request.workspace.id, uuid, int(days)))


def read_flow_results(
    request: Request, *, uuid: str, result: str | None = None, field: str | None = None, days: int | None = None
) -> Answer:
    asked = Asked(uuid, result, None if days is None else int(days))
    return as_json(200, read_results(request.tx, request.workspace.id, asked, field))
