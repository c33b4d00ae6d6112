"""Maps and lists, stored as JSON text; pictures; lists of references."""

import base64
import binascii
import json
import re
from typing import Any

from server.digits import is_whole
from server.errors import Invalid
from server.fields.field import Field, Intake, as_text, split_sign
from server.markup.image_headers import image_header
from server.markup.plain_svg import looks_like_svg, require_plain
from server.translation import N_, lazy_gettext

MAX_DEPTH = 32
MAX_IMAGE_BYTES = 1_000_000
MAX_SVG_BYTES = 200_000
IMAGE_SIDES = (50, 500)
LOGO_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PNG_PREFIX = re.compile("data:image/png;base64,")
_LOGO_PREFIX = re.compile(r"data:image/[a-z0-9.+-]{1,40};base64,")
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
    """A PNG as a data URI; `data:null` removes it. The value is its bytes, b"" for none.

    is_logo: also accepts a JPEG, GIF, WebP or plain SVG, recognized by its bytes, not by the URI."""

    type = "image"

    def __init__(self, note: str, *, is_logo: bool = False, **options: Any) -> None:
        super().__init__(note, stored=False, **options)
        self.is_logo = is_logo

    def read(self, raw: Any, intake: Intake) -> bytes:
        text = as_text(raw)
        if text == "data:null":
            return b""
        prefix = _LOGO_PREFIX.match(text) if self.is_logo else _PNG_PREFIX.match(text)
        if prefix is None:
            kind = (
                "a picture as data:image/...;base64,..."
                if self.is_logo
                else "a PNG picture as data:image/png;base64,..."
            )
            raise self.bad(f"must be {kind} or data:null")
        try:
            content = base64.b64decode(text[prefix.end() :], validate=True)
        except (binascii.Error, ValueError):
            raise self.bad("is not base64") from None
        if len(content) > MAX_IMAGE_BYTES:
            raise self.bad(
                lazy_gettext("at most {count} bytes, this has {number}", count=MAX_IMAGE_BYTES, number=len(content))
            )
        if self.is_logo and looks_like_svg(content):
            self._require_plain(content)
            return content
        header = image_header(content)
        if header is None or header.type not in (LOGO_TYPES if self.is_logo else ("image/png",)):
            raise self.bad(
                N_("is not a PNG, JPEG, GIF, WebP or SVG picture") if self.is_logo else N_("is not a PNG picture")
            )
        low, high = IMAGE_SIDES
        if not (low <= header.width <= high and low <= header.height <= high):
            raise self.bad(f"must be {low} to {high} pixels on each side, this is {header.width} by {header.height}")
        return content

    def _require_plain(self, content: bytes) -> None:
        if len(content) > MAX_SVG_BYTES:
            raise self.bad(
                lazy_gettext("at most {count} bytes, this has {number}", count=MAX_SVG_BYTES, number=len(content))
            )
        try:
            require_plain(content)
        except Invalid as error:
            raise self.bad(error.message) from None


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
