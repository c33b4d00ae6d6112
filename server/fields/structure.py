"""Maps and lists, stored as JSON text; pictures; lists of references."""

import base64
import binascii
import json
import struct
from typing import Any

from server.digits import is_whole
from server.fields.field import Field, Intake, as_text, split_sign
from server.translation import N_, lazy_gettext

MAX_DEPTH = 32
MAX_IMAGE_BYTES = 1_000_000
IMAGE_SIDES = (50, 500)
MAX_REFERENCES = 1000


class Structure(Field):
    """A map or a list, sent as `name[key]=...` or as JSON text of at most `max` characters.

    is_list, is_map: accepts only one of the two; for a map, an empty list counts as empty map. Texts with a leading `+`
    or `-` change the list instead of replacing it."""

    type = "object"
    takes_lists = True

    def __init__(
        self, note: str, max: int = 65535, *, is_list: bool = False, is_map: bool = False, **options: Any
    ) -> None:
        super().__init__(note, **options)
        self.max = max
        self.is_list = is_list
        self.is_map = is_map

    def initial(self) -> Any:
        return "[]" if self.is_list else "{}"

    def read(self, raw: Any, intake: Intake) -> Any:
        """Returns the value itself, which `stored_text` stores as JSON text."""
        value = raw
        if not isinstance(raw, (dict, list)):
            text = as_text(raw)
            if not text:
                return [] if self.is_list else {}
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                raise self.bad("is not a map; send name[key]=value or JSON") from None
        if self.is_list and not isinstance(value, list):
            raise self.bad("takes a list")
        if not self.is_list and not isinstance(value, (dict, list)):
            raise self.bad("takes a map")
        if self.is_map and isinstance(value, list):
            if value:
                raise self.bad("takes a map, not a list")
            value = {}
        if self.is_list and isinstance(value, list):
            value = self._changed(value, intake)
        text = json.dumps(value, ensure_ascii=False)
        if len(text) > self.max:
            raise self.bad(f"at most {self.max} characters as JSON, this has {len(text)}")
        return value

    def _changed(self, items: list[Any], intake: Intake) -> list[Any]:
        """Returns the current list after the changes of signed items; the items themselves if they have no signs."""
        if not items or not all(isinstance(each, str) for each in items):
            return items
        signed = [split_sign(each) for each in items]
        if not any(sign for sign, _ in signed):
            return items
        stored = intake.values.get(self.name) or []
        present = dict.fromkeys(json.loads(stored) if isinstance(stored, str) else stored)
        for sign, item in signed:
            if sign == "-":
                present.pop(item, None)
            else:
                present[item] = None
        return list(present)

    def limits(self) -> dict[str, Any]:
        return {"max_length": self.max}

    def schema(self) -> dict[str, Any]:
        types = ["object", "array", "string"]
        return {"type": types, "items": {}, "additionalProperties": {}, "description": self.note}


class Image(Field):
    """A PNG as a data URI; `data:null` removes it. The value is its bytes, b"" for none."""

    type = "image"

    def __init__(self, note: str, **options: Any) -> None:
        super().__init__(note, stored=False, **options)

    def read(self, raw: Any, intake: Intake) -> bytes:
        text = as_text(raw)
        if text == "data:null":
            return b""
        prefix = "data:image/png;base64,"
        if not text.startswith(prefix):
            raise self.bad("must be a PNG picture as data:image/png;base64,... or data:null")
        try:
            content = base64.b64decode(text[len(prefix) :], validate=True)
        except (binascii.Error, ValueError):
            raise self.bad("is not base64") from None
        if len(content) > MAX_IMAGE_BYTES:
            raise self.bad(
                lazy_gettext("at most {count} bytes, this has {number}", count=MAX_IMAGE_BYTES, number=len(content))
            )
        if len(content) < 24 or not content.startswith(b"\x89PNG\r\n\x1a\n"):
            raise self.bad(N_("is not a PNG picture"))
        width, height = struct.unpack(">II", content[16:24])
        low, high = IMAGE_SIDES
        if not (low <= width <= high and low <= height <= high):
            raise self.bad(f"must be {low} to {high} pixels on each side, this is {width} by {height}")
        return content


class References(Field):
    """Records to link or attach: a list of `<type>:<id>`. A leading `-` removes one; `+` is optional."""

    type = "links"
    takes_lists = True

    def __init__(self, note: str, **options: Any) -> None:
        super().__init__(note, stored=False, **options)

    def read(self, raw: Any, intake: Intake) -> list[tuple[bool, str, int]]:
        """Returns [(whether to add, full context, id)] in the order sent."""
        if not isinstance(raw, list):
            raise self.bad(f"takes a list: {self.name}[]=<type>:<id>")
        if len(raw) > MAX_REFERENCES:
            raise self.bad(f"at most {MAX_REFERENCES} references in one request")
        return [self._reference(item, intake) for item in raw]

    def _reference(self, item: Any, intake: Intake) -> tuple[bool, str, int]:
        text = as_text(item).strip()
        sign, reference = split_sign(text)
        adds = sign != "-"
        name, _, number = reference.rpartition(":")
        context = intake.lookup.context(name.lower())
        if context is None:
            raise self.bad(f"'{text[:80]}' is not <type>:<id> of a known record type")
        if not is_whole(number):
            raise self.bad(f"'{text[:80]}' does not end with an id")
        if adds and not intake.lookup.exists(context, int(number)):
            raise self.bad(lazy_gettext("there is no {type} {id}", type=name, id=number))
        return adds, context, int(number)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "description": self.note}


class Fieldsets(Field):
    """Custom fieldsets to attach, as a list or ids with commas between; a leading `-` detaches."""

    type = "fieldsets"
    takes_lists = True

    def __init__(self, note: str, **options: Any) -> None:
        super().__init__(note, stored=False, **options)

    def read(self, raw: Any, intake: Intake) -> list[tuple[bool, int]]:
        """Returns [(whether to attach, id)]."""
        items = raw if isinstance(raw, list) else [part for part in as_text(raw).split(",") if part.strip()]
        changes = []
        for item in items:
            text = as_text(item).strip()
            sign, number = split_sign(text)
            if not is_whole(number):
                raise self.bad(f"'{text[:50]}' is not the id of a fieldset")
            if not intake.lookup.exists("custom_fieldset", int(number)):
                raise self.bad(f"there is no custom_fieldset {number}")
            changes.append((sign != "-", int(number)))
        return changes


class CustomValues(Field):
    """Stands for `custom_<id>` and the uris of custom fields, whose rules are stored as data; see
    record_types/shared/custom/."""

    type = "by custom field"

    def __init__(self, note: str, **options: Any) -> None:
        super().__init__(note, stored=False, **options)
