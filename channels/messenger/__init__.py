"""Pages of Facebook, by the Messenger Platform."""

from collections.abc import Sequence
from urllib.parse import quote

from channels import meta
from channels.calls import Callback, Heard, Message, Request, Settings
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import fetch_linked
from channels.sms import split_text

API_URL = "https://graph.facebook.com"
TEXT_LENGTH = 2000
FIELDS = "messages,messaging_postbacks,messaging_referrals,message_deliveries"


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """A request for each file and each part of the text."""
    text = meta.text_of(message)
    return meta.send(message, split_text(text, TEXT_LENGTH) if text else [], _page(settings) + "/messages", settings)


def _page(settings: Settings) -> str:
    return f"{meta.graph(settings, API_URL)}/{quote(str(settings['page_id']), safe='')}"


def events(callback: Callback, settings: Settings) -> Heard:
    """Messages, deliveries, buttons and links of this page. Raises BadSignature, Unread."""
    return meta.hear(callback, settings, "page", str(settings["page_id"]))


def check(settings: Settings) -> Request:
    """What Meta knows of the page."""
    return Request("GET", _page(settings) + "?fields=id,name", meta.signed_in(settings))


def connect(settings: Settings, url: str, secret: str) -> Sequence[Request]:
    """Has the page's events sent to the app, and shows a button to begin with. The URL is the app's, not the page's: it
    is entered by hand."""
    token = meta.signed_in(settings)
    started = {"get_started": {"payload": meta.GET_STARTED}}
    return [
        Request.form("POST", _page(settings) + "/subscribed_apps", {"subscribed_fields": FIELDS}, token),
        Request.json("POST", _page(settings) + "/messenger_profile", started, token),
    ]


TYPE = ChannelType(
    "messenger",
    schemes=("facebook",),
    title="Messenger",
    help="messages to a Facebook page",
    settings=(
        Setting("page_id", "the id of the page", is_required=True),
        Setting("access_token", "the page's access token", "secret", "--access-token-file", is_required=True),
        Setting("app_secret", "the app secret, which signs callbacks", "secret", "--app-secret-file", is_required=True),
        *meta.api_settings(API_URL),
    ),
    carries=Carries(
        length=TEXT_LENGTH, attachments=True, quick_replies=meta.MOST_REPLIES, window_hours=meta.WINDOW_HOURS
    ),
    rate=40,
    requests=requests,
    accepted=meta.accepted,
    events=events,
    check=check,
    connect=connect,
    fetch=fetch_linked,
)
