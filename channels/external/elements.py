"""Reads XML of strangers into the form that names go through, as JSON has it: an element is its text, or an object of
its elements and attributes; several with one name are a list.
"""

import codecs
import re
from typing import Any
from xml.parsers import expat

from channels.calls import Unread, read_bytes

TEXT, ATTRIBUTE = "#text", "@"
"""The name of the text of an element that has other things too, and what begins the name of an attribute."""
NAMESPACE = "xmlns"
MOST_BYTES = 256 * 1024
MOST_ELEMENTS, MOST_DEPTH = 2000, 32
BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
DECLARED = re.compile(rb"""<\?xml[^>]{0,100}?\bencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")


def is_xml(content: bytes) -> bool:
    """Whether it begins as XML does."""
    beginning = content[:100].removeprefix(codecs.BOM_UTF8)
    return content[:2] in BYTE_ORDER_MARKS or beginning.lstrip().startswith(b"<")


def read_xml(content: bytes, charset: str = "") -> Any:
    """What the root element contains. Raises Unread for what is no XML, has a document type, which may define entities,
    or is too large or deep."""
    if len(content) > MOST_BYTES:
        raise Unread(f"The XML has more than {MOST_BYTES // 1024} KiB.")
    text = _decode(content, charset)
    builder = _Builder()
    # The text is ours already: with this name the declared encoding, which could be that of any codec, is passed over.
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _refuse_entities
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise Unread(f"The body is not XML ({error}); it begins with {text[:80]!r}.") from error
    return builder.root


def _decode(content: bytes, charset: str) -> str:
    mark = BYTE_ORDER_MARKS.get(content[:2])
    if mark is not None:
        return content[2:].decode(mark, "replace")
    declared = DECLARED.match(content.lstrip())
    said = declared[1].decode().lower() if declared else charset
    return read_bytes(content, said).lstrip("\ufeff \t\r\n")


def _refuse_entities(*_declared: Any) -> None:
    raise Unread("The XML has a document type (<!DOCTYPE>), which is not read.")


class _Builder:
    """Makes the value of an element when it ends."""

    def __init__(self) -> None:
        self.root: Any = ""
        self._open: list[tuple[str, dict[str, Any], list[str]]] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1 + len(attributes)
        if self._count > MOST_ELEMENTS or len(self._open) >= MOST_DEPTH:
            raise Unread(
                f"The XML has more than {MOST_ELEMENTS} elements, or more than {MOST_DEPTH} inside each other."
            )
        children: dict[str, Any] = {
            ATTRIBUTE + _local(each): value
            for each, value in attributes.items()
            if each != NAMESPACE and not each.startswith(f"{NAMESPACE}:")
        }
        self._open.append((_local(name), children, []))

    def data(self, text: str) -> None:
        self._open[-1][2].append(text)

    def end(self, _name: str) -> None:
        name, children, pieces = self._open.pop()
        text = "".join(pieces)
        value = children | ({TEXT: text} if text.strip() else {}) if children else text
        if not self._open:
            self.root = value if isinstance(value, dict) else {TEXT: value}
            return
        others = self._open[-1][1]
        if name not in others:
            others[name] = value
        elif isinstance(others[name], list):
            others[name].append(value)
        else:
            others[name] = [others[name], value]


def _local(name: str) -> str:
    """The name without the prefix of its namespace."""
    return name.rpartition(":")[2]
