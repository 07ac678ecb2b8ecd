"""`/api/v2/definitions.json`: exports and imports."""

from dataclasses import asdict
from typing import Any

from flows.definition.exports import Dependencies
from handlers.answers import Answer, Rehearsed, as_json, ok
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.definitions.checking import CheckedImport, check_import
from persistence.definitions.exporting import export_definitions
from persistence.definitions.importing import ImportRefused
from persistence.errors import InvalidInput, NotAllowed

WORDS = {
    **dict.fromkeys(("true", "yes", "y", "1", "all"), Dependencies.ALL),
    **dict.fromkeys(("false", "no", "n", "0", "none"), Dependencies.NONE),
    "flows": Dependencies.FLOWS,
}
"""What is included, as a Boolean and in the words of older clients."""


def read_definitions(
    request: Request,
    *,
    flow: list[str] | None = None,
    campaign: list[str] | None = None,
    dependencies: str = "all",
) -> Answer:
    workspace = request.workspace
    wanted = WORDS[dependencies.lower()]
    with_campaigns = may_use(request.credentials, "list_campaigns")
    if campaign and not with_campaigns:
        raise NotAllowed("You may not read campaigns.")
    found = export_definitions(
        request.tx,
        workspace,
        flow or (),
        campaign or (),
        dependencies=wanted,
        site=request.root,
        with_campaigns=with_campaigns,
        with_groups=may_use(request.credentials, "list_groups"),
    )
    return ok(found)


def write_definitions(request: Request) -> Answer:
    body = request.body
    is_dry = body.get("dry_run", False)
    checked = check_import(
        request.tx,
        request.workspace,
        body["document"],
        media_url=body.get("media_url") or "",
        networks=request.settings.webhook_allowed_networks,
        user_id=request.credentials.user_id,
    )
    if is_dry:
        raise Rehearsed(_tell(checked, is_dry=True))
    if isinstance(checked.refusal, ImportRefused):
        raise InvalidInput.on("document", str(checked.refusal), "wrong_form") from checked.refusal
    if checked.refusal is not None:
        raise checked.refusal
    return _tell(checked, is_dry=False)


def _tell(checked: CheckedImport, *, is_dry: bool) -> Answer:
    report: dict[str, Any] = asdict(checked.report)
    flows = [{name: value for name, value in each.items() if name != "issues"} for each in report["flows"]]
    refusal = None if checked.refusal is None else str(checked.refusal)
    issues = [each.to_json() for each in checked.found]
    return as_json(200, {**report, "flows": flows, "dry_run": is_dry, "refusal": refusal, "issues": issues})
