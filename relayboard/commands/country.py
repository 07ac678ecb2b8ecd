"""Countries as commands name them."""

import phonenumbers

from relayboard.commands.output import CommandFailed


def read_country(text: str) -> str:
    """Two capital letters, or nothing for an empty text. Raises CommandFailed for what is no country."""
    country = text.strip().upper()
    if country and country not in phonenumbers.SUPPORTED_REGIONS:
        raise CommandFailed(f"{text} is no country code of two letters, like RW")
    return country
