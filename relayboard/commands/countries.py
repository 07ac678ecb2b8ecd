"""Countries in options."""

from relayboard.refusal import CommandFailed


def read_country(text: str) -> str:
    """Two capital letters, or nothing for an empty string. Raises CommandFailed for an unknown country."""
    country = text.strip().upper()
    if not country:
        return ""
    import phonenumbers  # most calls name no country

    if country not in phonenumbers.SUPPORTED_REGIONS:
        raise CommandFailed(f"{text} is not a country code of two letters, like RW")
    return country
