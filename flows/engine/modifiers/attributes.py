"""Changes the plain properties and fields of a contact (flow format, actions on contacts)."""

import contextlib
from decimal import Decimal

from flows.dates import find_short_year, parse_datetime
from flows.engine.assets import Field
from flows.engine.field_values import FieldValue
from flows.engine.modifiers.editor import ContactEditor
from flows.moments import in_zone_of, parse_moment, write_moment
from flows.numbers import NumberError, parse_decimal
from flows.places import DISTRICT, STATE, WARD, Place, find_first, find_path, is_possible_path
from flows.words import cut_between_letters

_LEVELS = {"state": STATE, "district": DISTRICT, "ward": WARD}


def change_name(editor: ContactEditor, name: str) -> bool:
    """Sets the name, cut to its limit; returns whether it changed."""
    return change_property(editor, "name", cut_between_letters(name, editor.options.contact_name_characters))


def change_property(editor: ContactEditor, name: str, value: str, event_name: str = "") -> bool:
    """Sets a property to a checked string, such as `language`, `timezone` or `status`; returns whether it changed."""
    if getattr(editor.contact, name) == value:
        return False
    setattr(editor.contact, name, value)
    editor.log.add(f"contact_{event_name or name}_changed", {name: value})
    return True


def change_last_seen(editor: ContactEditor, seen_on: str) -> bool:
    """Sets when the contact was last seen, an ISO string, unless the known time is later; returns whether it
    changed."""
    last, seen = editor.contact.last_seen_at, parse_moment(seen_on)
    if seen is None or (last is not None and seen <= last):
        return False
    return change_property(editor, "last_seen_on", seen_on, "last_seen")


def change_field(editor: ContactEditor, field: Field, text: str) -> bool:
    """Sets a field to a string and everything as which it can be read; an empty string clears it. Returns whether it
    changed."""
    contact = editor.contact
    old = contact.fields.get(field.key)
    text = cut_between_letters(text.strip(), editor.options.field_value_characters)
    new = read_field_value(editor, field, text) if text else None
    if _means_same(old, new):
        return False
    if new is None:
        contact.fields.pop(field.key, None)
    else:
        contact.fields[field.key] = new
    value = new.to_json() if new else None
    editor.log.add("contact_field_changed", {"field": field.reference, "value": value})
    if new is not None and new.moment is not None and field.type == "datetime":
        year = in_zone_of(new.moment, editor.environment.zone).year
        short = find_short_year(editor.environment, text, year)
        if short:
            editor.log.warning(f"The year '{short}' of '{text}' was read as {year}", "date:short_year")
    return True


def read_field_value(editor: ContactEditor, field: Field, text: str) -> FieldValue:
    """The value of a string for a field of a contact, with everything as which it can be read."""
    moment = parse_datetime(editor.environment, editor.clock, text, fill_time=True)
    place = _find_place(editor, field, text)
    return FieldValue(
        text,
        _read_number(editor, text),
        write_moment(moment) if moment else "",
        **{kind: place_path(place, level) for kind, level in _LEVELS.items()},
    )


def _read_number(editor: ContactEditor, text: str) -> Decimal | None:
    """Expressions write plain numbers, people write those of their number format. A text that is the message of the
    contact was written by a person.
    """
    formats = [None, editor.environment.number_format]
    if text == editor.typed_text:
        formats.reverse()
    for number_format in formats:
        with contextlib.suppress(NumberError):
            return parse_decimal(text, number_format)
        if text == editor.typed_text:
            return None
    return None


def place_path(place: Place | None, level: int) -> str:
    """The path to a level of a place that is at least that deep; otherwise an empty string."""
    if place is None or place.level < level:
        return ""
    return " > ".join(part.strip() for part in place.path.split(">")[: level + 1])


def _find_place(editor: ContactEditor, field: Field, text: str) -> Place | None:
    root = editor.assets.places
    if root is None:
        return None
    if is_possible_path(text):
        return find_path(root, text)
    if field.type == "state":
        return find_first(root, STATE, text)
    if field.type in ("district", "ward"):
        parent_kind = "state" if field.type == "district" else "district"
        parent = _find_parent(editor, parent_kind, root)
        return find_first(root, _LEVELS[field.type], text, parent) if parent else None
    return None


def _find_parent(editor: ContactEditor, kind: str, root: Place) -> Place | None:
    for field in editor.assets.fields.values():
        value = editor.contact.fields.get(field.key)
        path = getattr(value, kind) if field.type == kind and value else ""
        if path:
            return find_path(root, path)
    return None


def _means_same(old: FieldValue | None, new: FieldValue | None) -> bool:
    if old is None or new is None:
        return old is new
    # A date without a time gets the time of day when it was saved, which does not change the value.
    return (
        old.text == new.text
        and old.number == new.number
        and bool(old.datetime) == bool(new.datetime)
        and ((old.state, old.district, old.ward) == (new.state, new.district, new.ward))
    )
