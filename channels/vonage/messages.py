"""Sends by Vonage's Messages API, for an application of the account: SMS, and WhatsApp with files.
https://developer.vonage.com/en/api/messages
"""

from collections.abc import Sequence
from typing import Any

from channels.calls import Attachment, Message, Request, Settings
from channels.signatures import basic, sign_jwt
from channels.sms import cut, split_text, with_links

MESSAGES_URL = "https://api.nexmo.com"
SEGMENTS = 6
"""The API takes 1000 characters, which are a little more."""
WHATSAPP_LENGTH, CAPTION_LENGTH = 4096, 1024
KINDS = ("image", "audio", "video")
WITHOUT_CAPTION = "audio"
TOKEN_SECONDS = 900
STATUS = "status"

Content = dict[str, Any]


def requests_of_application(message: Message, settings: Settings) -> Sequence[Request]:
    """A request for each text and file. Files go as links by SMS."""
    is_whatsapp = message.scheme == "whatsapp"
    contents = _contents(message) if is_whatsapp else _texts(cut(_with_files(message, message.attachments), SEGMENTS))
    common: Content = {
        "channel": "whatsapp" if is_whatsapp else "sms",
        "from": message.address.lstrip("+"),
        "to": message.to.lstrip("+"),
        "client_ref": str(message.id),
    }
    if message.callback_url:
        common |= {"webhook_url": f"{message.callback_url}{STATUS}/", "webhook_version": "v1"}
    url = f"{str(settings.get('messages_url') or MESSAGES_URL).rstrip('/')}/v1/messages"
    return [
        Request.json("POST", url, common | content, _authorization(message, settings, number))
        for number, content in enumerate(contents, start=1)
    ]


def link(file: Attachment) -> str:
    """The URL of a file, or that of a place on a map."""
    return f"https://maps.google.com/?q={file.url}" if file.kind == "geo" else file.url


def _with_files(message: Message, files: Sequence[Attachment]) -> str:
    return with_links(message.text, [link(each) for each in files])


def _texts(parts: Sequence[str]) -> list[Content]:
    return [{"message_type": "text", "text": each} for each in parts]


def _contents(message: Message) -> list[Content]:
    """A short text is the caption of the first file, unless that is a recording."""
    files = [each for each in message.attachments if each.kind != "geo"]
    text = _with_files(message, [each for each in message.attachments if each.kind == "geo"])
    kinds = [each.kind if each.kind in KINDS else "file" for each in files]
    made: list[Content] = [
        {"message_type": kind, kind: {"url": each.url}} for kind, each in zip(kinds, files, strict=True)
    ]
    if made and text and len(text) <= CAPTION_LENGTH and kinds[0] != WITHOUT_CAPTION:
        made[0][kinds[0]]["caption"] = text
        return made
    return [*_texts(split_text(text, WHATSAPP_LENGTH) if text else []), *made]


def _authorization(message: Message, settings: Settings, number: int) -> dict[str, str]:
    """A token of the application if its key is known; otherwise the account's key and secret, which the API takes too.
    Each attempt has a token of its own."""
    application, key = str(settings.get("application_id") or ""), str(settings.get("private_key") or "")
    if not application or not key or message.now is None:
        return basic(str(settings["api_key"]), str(settings["api_secret"]))
    issued = int(message.now.timestamp())
    claims = {"application_id": application, "iat": issued, "exp": issued + TOKEN_SECONDS}
    return {"Authorization": "Bearer " + sign_jwt(claims | {"jti": f"{message.part_id(number)}-{issued}"}, key)}
