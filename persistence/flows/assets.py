"""Everything of a workspace that flows refer to, as rows from which the flow engine's assets are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from flows.engine import Assets
from flows.engine.asset_types import (
    SEND_ROLE,
    Channel,
    Classifier,
    Field,
    Global,
    Group,
    Label,
    Optin,
    Resthook,
    Template,
    TemplateComponent,
    TemplateTranslation,
    Ticketer,
    Topic,
    User,
)
from flows.places import read_places
from persistence.boundaries.boundaries import read_place_tree
from persistence.database import Transaction
from persistence.deliveries.failing_receivers import is_switched_off
from persistence.tables.accounts import membership, user
from persistence.tables.channels import channel
from persistence.tables.contacts import field, group
from persistence.tables.deliveries import resthook, resthook_subscriber
from persistence.tables.flows import flow
from persistence.tables.messages import label, optin, template, template_translation
from persistence.tables.service import classifier, global_value
from persistence.tables.tickets import ticketer, topic
from persistence.users import USER_NAME
from persistence.workspaces import Workspace

APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class StoredFlow:
    """Which flow there is, without its definition."""

    id: int
    uuid: str
    name: str
    revision: int
    is_archived: bool


@dataclass(frozen=True, slots=True)
class AssetRows:
    """The assets of a workspace at one moment; equal rows make equal assets."""

    channels: tuple[Channel, ...]
    classifiers: tuple[Classifier, ...]
    fields: tuple[Field, ...]
    flows: tuple[StoredFlow, ...]
    globals: tuple[Global, ...]
    groups: tuple[Group, ...]
    labels: tuple[Label, ...]
    optins: tuple[Optin, ...]
    resthooks: tuple[Resthook, ...]
    templates: tuple[Template, ...]
    ticketers: tuple[Ticketer, ...]
    topics: tuple[Topic, ...]
    users: tuple[User, ...]


def load_asset_rows(tx: Transaction, workspace_id: int) -> AssetRows:
    """The assets of a workspace; a constant number of statements."""
    return AssetRows(
        channels=_load_channels(tx, workspace_id),
        classifiers=tuple(
            Classifier(row.uuid, row.name, row.type, tuple(row.intents)) for row in _rows(tx, workspace_id, classifier)
        ),
        fields=_load_fields(tx, workspace_id),
        flows=_load_flows(tx, workspace_id),
        globals=_load_globals(tx, workspace_id),
        groups=tuple(
            Group(row.uuid, row.name, row.query or "") for row in _rows(tx, workspace_id, group) if not row.is_system
        ),
        labels=tuple(Label(row.uuid, row.name) for row in _rows(tx, workspace_id, label)),
        optins=tuple(Optin(row.uuid, row.name) for row in _rows(tx, workspace_id, optin)),
        resthooks=_load_resthooks(tx, workspace_id),
        templates=_load_templates(tx, workspace_id),
        ticketers=tuple(Ticketer(row.uuid, row.name) for row in _rows(tx, workspace_id, ticketer)),
        topics=_load_topics(tx, workspace_id),
        users=_load_users(tx, workspace_id),
    )


def load_contact_assets(
    tx: Transaction, workspace: Workspace, *, with_places: bool = True, with_tickets: bool = True
) -> Assets:
    """The part of a workspace's assets that texts for contacts see; three statements, two more for places or tickets.

    Groups are not among them: contacts bring the names of theirs along.
    """
    tree = read_place_tree(tx, workspace) if with_places else None
    return Assets(
        channels=_load_channels(tx, workspace.id),
        fields=_load_fields(tx, workspace.id),
        globals=_load_globals(tx, workspace.id),
        places=None if tree is None else read_places(tree),
        topics=_load_topics(tx, workspace.id) if with_tickets else (),
        users=_load_users(tx, workspace.id) if with_tickets else (),
    )


def _rows(tx: Transaction, workspace_id: int, table: Any) -> Sequence[Any]:
    return tx.execute(select(table).where(table.c.workspace_id == workspace_id).order_by(table.c.id)).all()


def _load_channels(tx: Transaction, workspace_id: int) -> tuple[Channel, ...]:
    """Active channels, the one seen last first: it is the one that counts when several could do."""
    columns = (channel.c.uuid, channel.c.name, channel.c.address, channel.c.schemes, channel.c.country)
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active
    order = (channel.c.last_seen.desc().nulls_last(), channel.c.id.desc())
    return tuple(
        Channel(
            row.uuid,
            row.name or row.address or "",
            row.address or "",
            tuple(row.schemes),
            (SEND_ROLE, "receive"),
            row.country or "",
        )
        for row in tx.execute(select(*columns).where(mine).order_by(*order))
    )


def _load_fields(tx: Transaction, workspace_id: int) -> tuple[Field, ...]:
    return tuple(Field(row.key, row.name, row.type, row.uuid) for row in _rows(tx, workspace_id, field))


def _load_globals(tx: Transaction, workspace_id: int) -> tuple[Global, ...]:
    return tuple(Global(row.key, row.name, row.value) for row in _rows(tx, workspace_id, global_value))


def _load_topics(tx: Transaction, workspace_id: int) -> tuple[Topic, ...]:
    return tuple(Topic(row.uuid, row.name) for row in _rows(tx, workspace_id, topic))


def _load_flows(tx: Transaction, workspace_id: int) -> tuple[StoredFlow, ...]:
    columns = (flow.c.id, flow.c.uuid, flow.c.name, flow.c.definition_revision, flow.c.is_archived)
    statement = select(*columns).where(flow.c.workspace_id == workspace_id).order_by(flow.c.id)
    return tuple(StoredFlow(*row) for row in tx.execute(statement))


def _load_resthooks(tx: Transaction, workspace_id: int) -> tuple[Resthook, ...]:
    rows = resthook_subscriber.c
    statement = (
        select(resthook.c.slug, rows.target_url)
        .select_from(resthook)
        .outerjoin(resthook_subscriber, (rows.resthook_id == resthook.c.id) & ~is_switched_off(rows))
        .where(resthook.c.workspace_id == workspace_id)
        .order_by(resthook.c.id, rows.id)
    )
    found: dict[str, list[str]] = {}
    for slug, url in tx.execute(statement):
        urls = found.setdefault(slug, [])
        if url and url not in urls:
            urls.append(url)
    return tuple(Resthook(slug, tuple(urls)) for slug, urls in found.items())


def _load_templates(tx: Transaction, workspace_id: int) -> tuple[Template, ...]:
    rows = template_translation.c
    statement = (
        select(template.c.uuid, template.c.name, channel.c.uuid.label("channel_uuid"), template_translation)
        .join(template_translation, rows.template_id == template.c.id)
        .join(channel, (channel.c.id == rows.channel_id) & (channel.c.workspace_id == template.c.workspace_id))
        .where(template.c.workspace_id == workspace_id, rows.status == APPROVED)
        .order_by(template.c.id, rows.id)
    )
    found: dict[tuple[str, str], list[TemplateTranslation]] = {}
    for row in tx.execute(statement):
        numbers = {str(number): number - 1 for number in range(1, row.variable_count + 1)}
        body = TemplateComponent("body", "body/text", row.content, numbers)
        translation = TemplateTranslation(
            row.channel_uuid, row.locale, (body,), ("text",) * row.variable_count, row.namespace
        )
        found.setdefault((row.uuid, row.name), []).append(translation)
    return tuple(Template(uuid, name, tuple(translations)) for (uuid, name), translations in found.items())


def _load_users(tx: Transaction, workspace_id: int) -> tuple[User, ...]:
    statement = (
        select(user.c.uuid, USER_NAME, user.c.email)
        .join(membership, membership.c.user_id == user.c.id)
        .where(membership.c.workspace_id == workspace_id, user.c.is_active)
        .order_by(user.c.id)
    )
    return tuple(User(uuid, name.strip(), email) for uuid, name, email in tx.execute(statement))
