"""The URN schemes, and the form of their normalized paths."""

import re

import regex

SCHEMES = (
    "bsuid",
    "discord",
    "ext",
    "facebook",
    "fcm",
    "freshchat",
    "instagram",
    "jiochat",
    "line",
    "mailto",
    "rocketchat",
    "slack",
    "tel",
    "telegram",
    "twitter",
    "twitterid",
    "viber",
    "vk",
    "webchat",
    "wechat",
    "whatsapp",
)

EMAIL = re.compile(r"[^\s@]+@[^\s@.]+(\.[^\s@.]+)+")
TWITTER_HANDLE = re.compile(r"[A-Za-z0-9_]{1,15}")
# International numbers outside of numbering plans, short codes, and names of senders.
SHORT_TEL_PATH = regex.compile(r"\+[0-9]{7,15}|[\p{Ll}\p{Lo}\p{Lm}\p{M}0-9]{1,64}")

_DIGITS = re.compile(r"[0-9]+")
_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_BUSINESS_ID = r"[A-Z]{2}\.[A-Za-z0-9]{1,128}"

# Schemes that are not listed accept any path; `tel` has separate rules.
PATH_RULES = {
    "bsuid": re.compile(_BUSINESS_ID),
    "discord": _DIGITS,
    "facebook": re.compile(r"ref:.+|[0-9]+"),
    "freshchat": re.compile(f"{_UUID}/{_UUID}"),
    "instagram": _DIGITS,
    "jiochat": _DIGITS,
    "line": re.compile(r"[A-Za-z0-9_\-]+"),
    "mailto": EMAIL,
    "telegram": _DIGITS,
    "twitter": TWITTER_HANDLE,
    "twitterid": _DIGITS,
    "viber": re.compile(r"[A-Za-z0-9_=+/]{1,24}"),
    "webchat": re.compile(r"[A-Za-z0-9]{24}(:[^\s@]+@[^\s@.]+(\.[^\s@.]+)+)?"),
    "whatsapp": re.compile(f"[0-9]+|{_BUSINESS_ID}"),
}
