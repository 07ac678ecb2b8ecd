"""Numbers of the WhatsApp Business Platform, by Meta's Cloud API:
https://developers.facebook.com/documentation/business-messaging/whatsapp/.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from channels.calls import (
    Answer,
    Attachment,
    BadSignature,
    Callback,
    Heard,
    Media,
    Message,
    QuickReply,
    Request,
    Response,
    Settings,
    Template,
    Unread,
)
from channels.declaration import Carries, ChannelType, FoundTemplate, Setting, TemplateStatus
from channels.reading import mapping, mappings, path_of, word
from channels.signatures import hmac_hex, is_same
from channels.sms import split_text
from channels.whatsapp.errors import accepted
from channels.whatsapp.hearing import read_change
from flows.words import cut_between_letters

API, VERSION = "https://graph.facebook.com", "v23.0"
TEXT_LENGTH, CAPTION_LENGTH, BUTTONS_TEXT_LENGTH = 4096, 1024, 1024
MOST_BUTTONS, BUTTON_LENGTH, BUTTON_ID_LENGTH = 3, 20, 200
MOST_ROWS, ROW_LENGTH, DESCRIPTION_LENGTH = 10, 24, 72
WINDOW_HOURS = 24
LIST_BUTTON = "Menu"
TEMPLATES_OF_A_PAGE = 100
LONGEST_CHALLENGE = 200
KINDS = {
    **dict.fromkeys(("image", "image/jpeg", "image/jpg", "image/png"), "image"),
    **dict.fromkeys(("audio", "audio/aac", "audio/amr", "audio/mpeg", "audio/mp3", "audio/mp4", "audio/ogg"), "audio"),
    **dict.fromkeys(("video", "video/mp4", "video/3gp", "video/3gpp"), "video"),
}
"""What people see or hear in the conversation; everything else is a document to open."""
STATES: dict[str, TemplateStatus] = {"APPROVED": "approved", "PENDING": "pending", "IN_APPEAL": "pending"}
VARIABLE = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")

Part = dict[str, Any]


def requests(message: Message, settings: Settings) -> list[Request]:
    """A template, or the texts and files of a message; quick replies go with its last text."""
    parts = [_template(message.template, message.attachments)] if message.template else _parts(message, settings)
    if not parts:
        return []
    # People without a number are named by their id for this business, in another field.
    to = {"to" if message.to.isdecimal() else "recipient": message.to}
    common = {"messaging_product": "whatsapp", "recipient_type": "individual"} | to
    url = f"{_of_number(settings)}/messages"
    return [Request.json("POST", url, common | part, _signed_in(settings)) for part in parts]


def _graph(settings: Settings) -> str:
    return f"{str(settings.get('api_url') or API).rstrip('/')}/{settings.get('api_version') or VERSION}"


def _of_number(settings: Settings) -> str:
    return f"{_graph(settings)}/{quote(str(settings['phone_number_id']), safe='')}"


def _of_account(settings: Settings) -> str:
    return f"{_graph(settings)}/{quote(str(settings['business_account_id']), safe='')}"


def _signed_in(settings: Settings) -> dict[str, str]:
    return {"Authorization": f"Bearer {settings['access_token']}"}


def _template(template: Template, files: Sequence[Attachment]) -> Part:
    """The first file is that of the header. The provider takes no line breaks in values."""
    components: list[Part] = []
    if files:
        file = _file(files[0])
        components.append({"type": "header", "parameters": [file]})
    if template.variables:
        values = [{"type": "text", "text": " ".join(each.split())} for each in template.variables]
        components.append({"type": "body", "parameters": values})
    named: Part = {"name": template.name, "language": {"code": template.language}}
    return {"type": "template", "template": named | ({"components": components} if components else {})}


def _parts(message: Message, settings: Settings) -> list[Part]:
    geo = [each for each in message.attachments if each.kind == "geo"]
    files = [_file(each) for each in message.attachments if each.kind != "geo"]
    replies = _shown(message.quick_replies)
    if files and message.text and len(message.text) <= CAPTION_LENGTH and not replies and files[0]["type"] != "audio":
        files[0][files[0]["type"]]["caption"] = message.text
        texts = []
    else:
        texts = _texts(message.text, replies, settings)
    # Buttons are on top of the keyboard, so what asks comes last.
    places = [place for place in map(_place, geo) if place]
    return [*files, *places, *texts] if replies else [*texts, *files, *places]


def _file(file: Attachment) -> Part:
    kind = KINDS.get(file.content_type, "document")
    link = {"link": file.url}
    name = path_of(file.url).rpartition("/")[2]
    return {"type": kind, kind: link | ({"filename": name} if kind == "document" and name else {})}


def _place(geo: Attachment) -> Part:
    latitude, _, longitude = geo.url.partition(",")
    return {"type": "location", "location": {"latitude": latitude, "longitude": longitude}} if longitude else {}


def _shown(replies: Sequence[QuickReply]) -> list[QuickReply]:
    """At most as many as a list takes, each once. A question for a place stands alone."""
    if replies and all(each.kind == "location" for each in replies):
        return [replies[0]]
    texts = {each.text: each for each in reversed(replies) if each.kind != "location"}
    return list(reversed(texts.values()))[:MOST_ROWS]


def _texts(text: str, replies: Sequence[QuickReply], settings: Settings) -> list[Part]:
    """The parts of a text; the last one has the buttons or the list, and is shorter with buttons."""
    parts = split_text(text, TEXT_LENGTH) if text else []
    if replies:
        last = parts.pop() if parts else ", ".join(each.text for each in replies)
        parts += split_text(last, BUTTONS_TEXT_LENGTH)
    plain = parts[:-1] if replies else parts
    made: list[Part] = [{"type": "text", "text": {"body": each, "preview_url": "://" in each}} for each in plain]
    if replies:
        body = {"body": {"text": parts[-1]}}
        made.append({"type": "interactive", "interactive": _question(replies, settings) | body})
    return made


def _question(replies: Sequence[QuickReply], settings: Settings) -> Part:
    if replies[0].kind == "location":
        return {"type": "location_request_message", "action": {"name": "send_location"}}
    are_buttons = len(replies) <= MOST_BUTTONS and all(
        len(each.text) <= BUTTON_LENGTH and not each.extra for each in replies
    )
    if are_buttons:
        buttons = [{"type": "reply", "reply": {"id": each.text, "title": each.text}} for each in replies]
        return {"type": "button", "action": {"buttons": buttons}}
    opener = cut_between_letters(str(settings.get("list_button") or LIST_BUTTON), BUTTON_LENGTH)
    return {"type": "list", "action": {"button": opener, "sections": [{"rows": [_row(each) for each in replies]}]}}


def _row(reply: QuickReply) -> Part:
    """The id is the whole text: whoever chooses a row has said that, also where its title is cut."""
    title = cut_between_letters(reply.text, ROW_LENGTH)
    explained = reply.extra or (reply.text if title != reply.text else "")
    row = {"id": cut_between_letters(reply.text, BUTTON_ID_LENGTH), "title": title}
    return row | ({"description": cut_between_letters(explained, DESCRIPTION_LENGTH)} if explained else {})


def events(callback: Callback, settings: Settings) -> Heard:
    """Messages and statuses of this number; a callback has them of all numbers of an account. By GET the provider
    asks whether the URL is ours."""
    if callback.method == "GET":
        return _challenge(callback)
    signature = "sha256=" + hmac_hex(str(settings["app_secret"]), callback.body)
    if not is_same(callback.headers.get("x-hub-signature-256", ""), signature):
        raise BadSignature
    told = callback.json()
    if mapping(told).get("object") != "whatsapp_business_account":
        raise Unread(f"This is no call for a WhatsApp account; it begins with {callback.text[:80]!r}.")
    values = [
        mapping(change.get("value"))
        for entry in mappings(told.get("entry"))
        for change in mappings(entry.get("changes"))
        if change.get("field") == "messages"
    ]
    ours = [
        value
        for value in values
        if word(mapping(value.get("metadata")).get("phone_number_id")) == str(settings["phone_number_id"])
    ]
    return Heard(tuple(event for value in ours for event in read_change(value)))


def _challenge(callback: Callback) -> Heard:
    query = callback.query
    if not is_same(query.get("hub.verify_token", ""), callback.secret):
        raise BadSignature
    challenge = query.get("hub.challenge", "")
    if query.get("hub.mode") != "subscribe" or not challenge or len(challenge) > LONGEST_CHALLENGE:
        raise Unread("A question whether the URL is ours has hub.mode=subscribe and hub.challenge.")
    return Heard(answer=Answer(challenge))


def check(settings: Settings) -> Request:
    """What the platform knows of the number."""
    return Request("GET", _of_number(settings) + "?fields=display_phone_number,verified_name", _signed_in(settings))


def connect(settings: Settings, url: str, secret: str) -> list[Request]:
    """Subscribes the app to the account, and gives this number our URL, at which the platform at once asks."""
    wanted = {"webhook_configuration": {"override_callback_uri": url, "verify_token": secret}}
    return [
        Request("POST", _of_account(settings) + "/subscribed_apps", _signed_in(settings)),
        Request.json("POST", _of_number(settings), wanted, _signed_in(settings)),
    ]


def fetch(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """The URL of the file by its id, then the file. Raises Unread for a response without a URL, and for one to which
    the token must not be shown."""
    if not responses:
        query = urlencode({"phone_number_id": settings["phone_number_id"]})
        return Request("GET", f"{_graph(settings)}/{quote(media.reference, safe='')}?{query}", _signed_in(settings))
    if len(responses) > 1:
        return None
    url = word(mapping(responses[0].json()).get("url"))
    if not url.startswith(("https://", f"{str(settings.get('api_url') or API).rstrip('/')}/")):
        raise Unread("The response for a media id has no https URL.")
    return Request("GET", url, _signed_in(settings))


def templates(settings: Settings, after: str) -> Request:
    """A page of the account's templates."""
    query = {"fields": "id,name,language,status,parameter_format,components", "limit": TEMPLATES_OF_A_PAGE}
    query |= {"after": after} if after else {}
    return Request("GET", f"{_of_account(settings)}/message_templates?{urlencode(query)}", _signed_in(settings))


def read_templates(response: Response) -> tuple[list[FoundTemplate], str]:
    """The templates of a page. Raises Unread for a response without templates."""
    said = mapping(response.json())
    if not isinstance(said.get("data"), list):
        raise Unread(f"The response lists no templates; it begins with {response.text[:80]!r}.")
    paging = mapping(said.get("paging"))
    following = word(mapping(paging.get("cursors")).get("after")) if paging.get("next") else ""
    found = [_found(each) for each in mappings(said["data"])]
    return [each for each in found if each.name and each.language], following


def _found(given: dict[str, Any]) -> FoundTemplate:
    """Unsupported is what needs more than values for its body: variables in header or buttons, or with names."""
    components = mappings(given.get("components"))
    body = "".join(str(each.get("text") or "") for each in components if word(each.get("type")).upper() == "BODY")
    names = dict.fromkeys(VARIABLE.findall(body))
    others = [each for each in components if word(each.get("type")).upper() != "BODY"]
    is_whole = all(map(str.isdecimal, names)) and not any(_has_variables(each) for each in others)
    status = STATES.get(word(given.get("status")).upper(), "rejected")
    return FoundTemplate(
        name=word(given.get("name")),
        language=word(given.get("language")),
        status=status if is_whole else "unsupported",
        text=VARIABLE.sub(r"{{\1}}", body),
        variables=len(names),
        external_id=word(given.get("id")),
    )


def _has_variables(component: dict[str, Any]) -> bool:
    texts = [component.get("text"), *(each.get("url") for each in mappings(component.get("buttons")))]
    return any(VARIABLE.search(str(each or "")) for each in texts)


TYPE = ChannelType(
    "whatsapp",
    schemes=("whatsapp",),
    title="WhatsApp",
    help="a number on WhatsApp by Meta's Cloud API, with templates, buttons and files",
    settings=(
        Setting("phone_number_id", "the id of the number, not the number", is_required=True),
        Setting("business_account_id", "the id of the WhatsApp Business account", is_required=True),
        Setting(
            "access_token", "the permanent token of a system user", "secret", "--access-token-file", is_required=True
        ),
        Setting("app_secret", "the app secret, which signs callbacks", "secret", "--app-secret-file", is_required=True),
        Setting("list_button", "what opens a list of quick replies; default: Menu", default=LIST_BUTTON),
        Setting("api_version", "of the Graph API", default=VERSION, is_advanced=True),
        Setting("api_url", "of the Graph API", "url", default=API, is_advanced=True),
    ),
    carries=Carries(
        TEXT_LENGTH,
        attachments=True,
        quick_replies=MOST_ROWS,
        templates=True,
        locations=True,
        window_hours=WINDOW_HOURS,
    ),
    rate=80,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
    connect=connect,
    fetch=fetch,
    templates=templates,
    read_templates=read_templates,
)
