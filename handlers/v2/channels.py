"""`/api/v2/channels.json`, `channel_events.json`, `channel_health.json`, `channel_settings.json` and the like."""

from handlers.answers import Answer, ListAnswer, as_json, created, created_record, ok, released
from handlers.request import Request
from persistence.channels import settings as channel_settings
from persistence.channels.channels import CHANNELS
from persistence.channels.checks import CHANNEL_CHECKS, ask_provider
from persistence.channels.events import CHANNEL_EVENTS
from persistence.channels.health import ALARMS, GATEWAY_CALLS, read_health
from persistence.channels.settings import add_gateway, describe_presets, describe_types
from persistence.contacts.owners import read_recipient
from persistence.messages.actions import send_test
from persistence.messages.records import MESSAGES
from persistence.messages.routes import foresee_leaving
from persistence.records import Shown
from persistence.relayers import relayers

list_channels = ListAnswer(CHANNELS)

list_channel_events = ListAnswer(CHANNEL_EVENTS)

list_channel_calls = ListAnswer(GATEWAY_CALLS)
list_channel_alarms = ListAnswer(ALARMS)


def read_channel_health(request: Request, *, uuid: str) -> Answer:
    return as_json(200, read_health(request.tx, request.workspace.id, uuid))


list_channel_checks = ListAnswer(CHANNEL_CHECKS)


def check_channel(request: Request) -> Answer:
    body = request.body
    asked = ask_provider(request.tx, request.workspace.id, body["channel"], body.get("kind", "check"))
    return created_record(request, CHANNEL_CHECKS, asked)


def send_channel_test(request: Request, *, uuid: str) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    urn = read_recipient(tx, workspace, body["urn"])
    return created_record(request, MESSAGES, send_test(tx, workspace.id, uuid, urn, body["text"]))


def _describe(request: Request, record: Shown) -> Shown:
    return channel_settings.describe_settings(request.tx, request.workspace.id, record, request.root)


list_channel_settings = ListAnswer(channel_settings.CHANNEL_SETTINGS, show=_describe)


def read_channel_types(_request: Request) -> Answer:
    return as_json(200, {"types": describe_types(), "presets": describe_presets()})


def change_channel_settings(request: Request, *, uuid: str | None = None) -> Answer:
    tx, workspace_id = request.tx, request.workspace.id
    networks = request.settings.webhook_allowed_networks
    if uuid is None:
        made, _ = add_gateway(tx, workspace_id, request.body, networks)
        return created(channel_settings.read_channel_settings(tx, workspace_id, made))
    return ok(channel_settings.change_channel_settings(tx, workspace_id, uuid, request.body, networks))


def release_channel(request: Request, *, uuid: str) -> Answer:
    return released(relayers.release_channel(request.tx, request.workspace.id, uuid))


def read_channel_release(request: Request, *, uuid: str) -> Answer:
    return as_json(200, foresee_leaving(request.tx, request.workspace.id, uuid)._asdict())
