"""Direct messages of Instagram's professional accounts, by the Instagram API with Instagram Login."""

from collections.abc import Sequence

from channels import meta
from channels.calls import Callback, Heard, Message, Request, Settings
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import fetch_linked
from channels.sms import split_text

API_URL = "https://graph.instagram.com"
MOST_BYTES = 1000
FIELDS = "messages,messaging_postbacks,messaging_referral,messaging_seen"


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """A request for each file and each part of the text."""
    return meta.send(message, split_bytes(meta.text_of(message)), _account(settings) + "/messages", settings)


def split_bytes(text: str) -> list[str]:
    """Parts of at most a thousand bytes. A character has one to four, so one of these lengths fits."""
    lengths = (MOST_BYTES // size for size in (1, 2, 3, 4))
    parts = next(
        found
        for found in (split_text(text, length) for length in lengths)
        if all(len(each.encode()) <= MOST_BYTES for each in found)
    )
    return parts if text else []


def _account(settings: Settings) -> str:
    """The account to which the token belongs."""
    return meta.graph(settings, API_URL) + "/me"


def events(callback: Callback, settings: Settings) -> Heard:
    """Messages, buttons, links and read states of this account. Raises BadSignature, Unread."""
    return meta.hear(callback, settings, "instagram", str(settings["account_id"]))


def check(settings: Settings) -> Request:
    """What Meta knows of the account."""
    return Request("GET", _account(settings) + "?fields=user_id,username", meta.signed_in(settings))


def connect(settings: Settings, url: str, secret: str) -> Sequence[Request]:
    """Has the account's events sent to the app. The URL is the app's, not the account's: it is entered by hand."""
    fields = {"subscribed_fields": FIELDS}
    return [Request.form("POST", _account(settings) + "/subscribed_apps", fields, meta.signed_in(settings))]


TYPE = ChannelType(
    "instagram",
    schemes=("instagram",),
    title="Instagram",
    help="direct messages to a professional account on Instagram",
    settings=(
        Setting("account_id", "the id of the account, 17 digits (user_id)", is_required=True),
        Setting("access_token", "the account's access token", "secret", "--access-token-file", is_required=True),
        Setting(
            "app_secret",
            "the Instagram app secret, which signs callbacks",
            "secret",
            "--app-secret-file",
            is_required=True,
        ),
        *meta.api_settings(API_URL),
    ),
    carries=Carries(
        length=MOST_BYTES, attachments=True, quick_replies=meta.MOST_REPLIES, window_hours=meta.WINDOW_HOURS
    ),
    rate=10,
    requests=requests,
    accepted=meta.accepted,
    events=events,
    check=check,
    connect=connect,
    fetch=fetch_linked,
)
