"""Content templates of Twilio, which WhatsApp has approved: how they are listed, and how a message names one.
https://www.twilio.com/docs/content/content-api-resources
"""

import re
from typing import Any
from urllib.parse import urlsplit

import orjson

from channels.calls import Response, Template, Unread
from channels.declaration import FoundTemplate, TemplateStatus
from channels.reading import mapping, mappings, word

CONTENT_URL = "https://content.twilio.com"
PATH = "/v1/ContentAndApprovals"
OF_A_PAGE = "PageSize=100"
VARIABLE = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")
STATES: dict[str, TemplateStatus] = {
    "approved": "approved",
    "received": "pending",
    "pending": "pending",
    "unsubmitted": "pending",
    "": "pending",
}
"""What is not here (`rejected`, `paused`, `disabled`) cannot be sent."""


def page_url(content_url: str, after: str) -> str:
    """The URL of a page of templates; `after` is the query of the one that the page before it names."""
    return f"{content_url.rstrip('/')}{PATH}?{after or OF_A_PAGE}"


def read_page(response: Response) -> tuple[list[FoundTemplate], str]:
    """The templates of a page. Raises Unread for a response without templates."""
    said = mapping(response.json())
    if not isinstance(said.get("contents"), list):
        raise Unread(f"The response lists no templates; it begins with {response.text[:80]!r}.")
    found = [_read(each) for each in mappings(said["contents"])]
    # Only the query is taken: whoever answers does not say where the credentials go.
    following = urlsplit(word(mapping(said.get("meta")).get("next_page_url"))).query
    return [each for each in found if each.name and each.language and each.external_id], following


def fill(template: Template) -> dict[str, str]:
    """The fields of a message that is made of a template; one that was entered by hand has its SID as name."""
    fields = {"ContentSid": template.id or template.name}
    if template.variables:
        values = {str(number): " ".join(value.split()) for number, value in enumerate(template.variables, start=1)}
        fields["ContentVariables"] = orjson.dumps(values).decode()
    return fields


def _read(content: dict[str, Any]) -> FoundTemplate:
    """Unsupported is what has no text, or names its variables otherwise than 1, 2 and so on. They may also be in
    buttons and URLs of files: the values are for the whole content."""
    approval = _approval(content.get("approval_requests"))
    types = {name: each for name, each in mapping(content.get("types")).items() if isinstance(each, dict)}
    written = next((each for each in types.values() if "body" in each), {})
    chosen = types.get(word(approval.get("content_type"))) or written
    names = set(VARIABLE.findall(orjson.dumps(types).decode()))
    text = VARIABLE.sub(r"{{\1}}", word(chosen.get("body")))
    is_whole = bool(text) and names == {str(number) for number in range(1, len(names) + 1)}
    status = STATES.get(word(approval.get("status")).lower(), "rejected")
    return FoundTemplate(
        name=word(approval.get("name")) or word(content.get("friendly_name")),
        language=word(content.get("language")),
        status=status if is_whole else "unsupported",
        text=text or "-",
        variables=len(names),
        external_id=word(content.get("sid")),
    )


def _approval(given: Any) -> dict[str, Any]:
    """That of WhatsApp; some versions of the API list those of all channels."""
    return next((each for each in mappings(given) if each.get("type") == "whatsapp"), mapping(given))
