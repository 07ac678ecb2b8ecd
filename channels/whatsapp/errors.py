"""What the codes of errors mean, in responses and in statuses."""

from typing import Any

from channels.calls import Later, Outcome, Refused, Response, Sent, Settings
from channels.reading import mapping, mappings, word

SIGN_IN = {0, 3, 10, 190, 131005, *range(200, 300)}
"""The token is not valid, or may not do this: everything waits until the owner has given another."""
LIMITS = {4, 80007, 130429}
"""The limits of the app, the account and the number."""
PAUSES = {368, 131031, 131042, 131048, 131057, 133004, 133010}
"""The account or number cannot send at present: it is locked, unpaid, restricted, moved or not registered."""
REPEATS = {1, 2, 131000, 131016, 131056}
"""Only this message: the service is busy, or the person gets too many."""
WORDS = {
    130472: "The platform does not send this marketing message, because of an experiment with the person's number.",
    131026: "The person cannot get it: no WhatsApp on this number, an old version, or terms that were not accepted.",
    131047: "More than 24 hours have passed since the person last wrote: only a template may be sent.",
    131049: "The platform does not deliver this, to keep the number of marketing messages low.",
    131050: "The person does not want marketing messages.",
    131051: "WhatsApp does not take messages of this kind.",
    131053: "WhatsApp could not fetch or does not take the file.",
    132000: "The number of values differs from that of the template's variables.",
    132001: "There is no template with this name and language, or it is not approved.",
    132005: "The template's text with its values is too long.",
    132007: "The template breaks a rule of WhatsApp.",
    132012: "A value has not the form that the template wants.",
    132015: "The template is paused, because people disliked it.",
    132016: "The template is disabled, because people disliked it too often.",
}


def accepted(response: Response, settings: Settings) -> Outcome:
    """Success names the message. Errors have a code, which decides."""
    said = mapping(response.json())
    wamid = next((word(each.get("id")) for each in mappings(said.get("messages"))), "")
    if response.is_ok and wamid:
        return Sent(wamid)
    error = mapping(said.get("error"))
    code, reason = _code(error), reason_of(error) or f"HTTP {response.status} without a message id"
    seconds = response.retry_after
    if code in SIGN_IN:
        return Later(f"The access token does not work: {reason}", seconds, is_for_all=True)
    if code in LIMITS | PAUSES or response.status == 429:
        return Later(reason, seconds, is_for_all=True)
    is_passing = code in REPEATS or error.get("is_transient") is True or response.status >= 500
    return Refused(reason) if error and not is_passing else Later(reason, seconds)


def reason_of(error: dict[str, Any]) -> str:
    """An error in words, with its code; empty if nothing is said."""
    code = _code(error)
    said = word(error.get("message")) or word(error.get("title"))
    details = word(mapping(error.get("error_data")).get("details"))
    text = WORDS.get(code) or ": ".join(each for each in dict.fromkeys((said, details)) if each)
    return f"{text} ({code})" if text and code >= 0 and str(code) not in text else text


def _code(error: dict[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) else -1
