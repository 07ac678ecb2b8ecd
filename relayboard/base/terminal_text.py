"""Text for a terminal, which obeys control characters: strangers choose names and what they write."""


def printable(text: str) -> str:
    """The text with its control characters as codes; lines stay."""
    return "".join(each if each.isprintable() or each == "\n" else f"\\u{ord(each):04x}" for each in text)
