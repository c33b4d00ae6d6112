"""Contact forms: pages of the help center on which visitors write to a group. shared/contact_fields.py has their custom
fields."""

import re
from typing import Any
from urllib.parse import urlsplit

from server.contexts import TICKET
from server.errors import Conflict, Invalid
from server.fields import Bit, CreatedAt, Id, Intake, Name, Structure, Text, Uint, UpdatedAt, languages
from server.host_names import ascii_host
from server.record_types.record_type import Access, Change, RecordType, Subtotals, Writing
from server.record_types.shared import brands
from server.record_types.shared.contact_fields import MAX_FORM_FIELDS, checked_fields, require_usable
from server.record_types.shared.custom import definitions
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.tables import Index
from server.translation import N_, about_field, lazy_gettext

MAX_INTRO_CHARS, MAX_CONSENT_CHARS, MAX_SLUG_CHARS = 5000, 2000, 60
MAX_FRAME_HOSTS = 20
_ORIGIN = re.compile(r"https?://[^\s/?#@;,'\"\\*]+")


class FormLanguage(Text):
    """A tag of BCP 47, or blank."""

    def read(self, raw: Any, intake: Intake) -> str:
        tag = super().read(raw, intake).strip().replace("_", "-")
        if tag and not languages.is_known(tag):
            raise self.bad(lazy_gettext("'{value}' is not a known language, such as en or pt-BR", value=tag[:50]))
        return tag


class FrameOrigins(Text):
    """Origins of websites, one a line."""

    def read(self, raw: Any, intake: Intake) -> str:
        lines = [line.strip().rstrip("/") for line in super().read(raw, intake).splitlines() if line.strip()]
        if len(lines) > MAX_FRAME_HOSTS:
            raise self.bad(lazy_gettext("at most {count} websites", count=MAX_FRAME_HOSTS))
        return "\n".join(dict.fromkeys(self._origin(line) for line in lines))

    def _origin(self, line: str) -> str:
        try:
            parts = urlsplit(line)
            host, port = ascii_host(parts.hostname or "").lower(), parts.port
        except ValueError:
            host, port = "", None
        if not _ORIGIN.fullmatch(line) or not re.fullmatch(r"[a-z0-9.-]+", host):
            problem = lazy_gettext(
                "'{line}' is not the address of a website, such as https://example.com", line=line[:80]
            )
            raise self.bad(problem)
        return f"{parts.scheme.lower()}://{host}{f':{port}' if port else ''}"


class FormFields(Structure):
    """The custom fields of a form, in their order. A list of maps, which no item with a sign changes."""

    def initial(self) -> Any:
        return "[]"

    def read(self, raw: Any, intake: Intake) -> Any:
        items = super().read(raw, intake) or []
        if not isinstance(items, list):
            raise self.bad(N_("takes a list of maps with field_id, is_required, if_field_id and if_value"))
        return checked_fields(self, items)


class ContactForm(RecordType):
    """A page of a help center on which visitors write to a group. It is off until an administrator switches it on."""

    uri = "contact_form"
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",))
    is_administrative = True
    fields = {
        "brand_id": Id("Brand whose help center has it.", "brand", required=True),
        "bucket_id": Id("Bucket of its tickets; 0: the default bucket of the group.", "bucket", zero_ok=True),
        "confirms_address": Bit(
            "1: the ticket is created after the visitor has followed a link in an email, which is valid for a day."
        ),
        "consent_text": Text(
            "Text that visitors have to agree to, in Markdown; blank: none.", MAX_CONSENT_CHARS, filter=None
        ),
        "consent_version": Uint(
            "Rises with each change of `consent_text`; stored with each message. Set by the service.",
            immutable=True,
            filter=None,
        ),
        "created_at": CreatedAt(),
        "form_fields": FormFields(
            f"Custom fields of tickets in their order, at most {MAX_FORM_FIELDS}, each a map of `field_id`, "
            "`is_required`, and with a condition `if_field_id`, an earlier field, and `if_value`, its value. Sent as a "
            "list in JSON.",
            filter=None,
        ),
        "frame_origins": FrameOrigins(
            "Websites that may show it in a frame, one a line, such as `https://example.com`; blank: none.",
            2000,
            filter=None,
        ),
        "group_id": Id("Group that its tickets go to.", "group", required=True),
        "has_files": Bit("1: visitors can add files.", default=1),
        "has_proof": Bit(
            "1: the browser of a visitor works for a second before a form is accepted; a browser without scripts gets "
            "an email with a link to confirm instead."
        ),
        "intro": Text("Text above the fields, in Markdown.", MAX_INTRO_CHARS, filter=None),
        "is_name_required": Bit("1: visitors have to enter a name."),
        "is_on": Bit("1: visitors can open and send it. 0: its address returns 404.", default=0),
        "language": FormLanguage(
            "Language of its texts, such as en or pt-BR, for visitors who read the help center in it; blank: for all "
            "who have no form in theirs.",
            20,
            match="exact",
        ),
        "name": Name("Title of the page; also the label.", 80, one_line=True),
        "slug": Text(
            "Its address below `/contact`: small letters, digits and hyphens; blank: `/contact` itself.",
            MAX_SLUG_CHARS,
            pattern=r"|[a-z0-9]+(-[a-z0-9]+)*",
            match="exact",
        ),
        "updated_at": UpdatedAt(),
    }
    bumps = {brands.VERSION: ()}
    indexes = (Index(("brand_id", "slug"), "the form of an address"),)
    subtotals = Subtotals(search=("brand.id", "fieldset", "group.id", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        """Raises Conflict for the address of another form, Invalid for a bucket of another group or a field that
        visitors cannot fill in. Numbers the version of the consent text."""
        if change.is_create or any(change.changes(each) for each in ("brand_id", "language", "slug")):
            _require_own_address(change, writing)
        bucket_id = change.value("bucket_id")
        if bucket_id and (change.changes("bucket_id") or change.changes("group_id")):
            bucket = writing.record("bucket", bucket_id)
            if bucket is not None and bucket["group_id"] != change.value("group_id"):
                raise Invalid(about_field("bucket_id", N_("is a bucket of another group")), field="bucket_id")
        if "form_fields" in change.new:
            known = {each.id: each for each in definitions(writing.tx).fields_of(TICKET)}
            require_usable(change.new["form_fields"], known)
        if "consent_text" in change.new and (change.is_create or change.changes("consent_text")):
            before = 0 if change.is_create else int(change.was("consent_version") or 0)
            change.new["consent_version"] = before + 1 if change.new["consent_text"] or before else 0


def _require_own_address(change: Change, writing: Writing) -> None:
    place = {name: change.value(name) for name in ("brand_id", "slug", "language")}
    other = writing.find("contact_form", **place)
    if other is not None and other["id"] != change.id:
        problem = lazy_gettext("the form {name} has the same address and language", name=other["name"])
        raise Conflict(about_field("slug", problem), field="slug")
