"""The settings under which texts for a contact are read and written (flow format, settings)."""

from dataclasses import replace

from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.environment import Environment, is_timezone


def localize_environment(base: Environment, contact: Contact, assets: Assets) -> Environment:
    """The workspace's settings with the contact's timezone, language (if it is allowed) and country in their place."""
    languages = base.allowed_languages
    if contact.language in languages:
        languages = (contact.language, *(language for language in languages if language != contact.language))
    timezone = contact.timezone if contact.timezone and is_timezone(contact.timezone) else base.timezone
    country = contact.find_country(assets) or base.default_country
    if (timezone, languages, country) == (base.timezone, base.allowed_languages, base.default_country):
        return base
    return replace(base, timezone=timezone, allowed_languages=languages, default_country=country)
