"""The country that a time zone belongs to."""

from babel.core import get_global


def find_country(timezone: str) -> str:
    """The two letters of the country of an IANA time zone; empty for one of no country, such as UTC."""
    aliases, territories = get_global("zone_aliases"), get_global("zone_territories")
    country: str = territories.get(timezone) or territories.get(aliases.get(timezone, "")) or ""
    # ZZ and 001 stand for none and for the whole world.
    return country if country.isalpha() and country != "ZZ" else ""
