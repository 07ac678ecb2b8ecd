"""What commands change, as the audit log tells it: the resource and the action of each."""

from tests.relayboard.every_command.leaves import Leaf

CREATED, CHANGED, DELETED = "created", "changed", "deleted"
NAMED = ("group", "label", "topic", "team", "field", "global", "optin", "ticketer", "classifier", "campaign")
DELETED_NAMED = ("group", "label", "field", "global", "topic", "team", "optin", "resthook")
TOLD: dict[Leaf, tuple[str, str]] = {
    ("workspace", "change"): ("workspace", CHANGED),
    ("user", "create"): ("users", CREATED),
    ("user", "change"): ("users", CHANGED),
    ("user", "remove"): ("users", DELETED),
    ("user", "password"): ("account", CHANGED),
    ("user", "invite"): ("invitations", CREATED),
    ("invitation", "withdraw"): ("invitations", DELETED),
    ("session", "end"): ("sessions", DELETED),
    ("token", "create"): ("tokens", CREATED),
    ("token", "revoke"): ("tokens", DELETED),
    ("channel", "claim"): ("channels", CREATED),
    ("channel", "create"): ("channels", CREATED),
    ("channel", "change"): ("channels", CHANGED),
    ("channel", "limit"): ("channels", CHANGED),
    ("channel", "webhook"): ("channels", CHANGED),
    ("channel", "secret"): ("channels", CHANGED),
    ("channel", "release"): ("channels", DELETED),
    ("contact", "delete"): ("contacts", DELETED),
    ("media", "delete"): ("media", DELETED),
    ("template", "create"): ("templates", CREATED),
    ("resthook", "create"): ("resthooks", CREATED),
    ("webhook", "subscribe"): ("resthook_subscribers", CREATED),
    ("webhook", "unsubscribe"): ("resthook_subscribers", DELETED),
    ("resthook", "secret"): ("resthook_subscribers", CHANGED),
    ("flow", "import"): ("flows", CREATED),
    ("flow", "change"): ("flows", CHANGED),
    ("flow", "archive"): ("flows", CHANGED),
    ("trigger", "create"): ("triggers", CREATED),
    ("trigger", "change"): ("triggers", CHANGED),
    ("trigger", "archive"): ("triggers", CHANGED),
    ("trigger", "restore"): ("triggers", CHANGED),
    ("trigger", "delete"): ("triggers", DELETED),
    ("campaign", "archive"): ("campaigns", CHANGED),
    ("campaign", "restore"): ("campaigns", CHANGED),
    **{(noun, "create"): (f"{noun}s", CREATED) for noun in NAMED},
    **{(noun, "change"): (f"{noun}s", CHANGED) for noun in NAMED},
    **{(noun, "delete"): (f"{noun}s", DELETED) for noun in DELETED_NAMED},
}
BEFORE: dict[Leaf, Leaf] = {("trigger", "restore"): ("trigger", "archive")}
"""What has to be done before a command changes anything."""
