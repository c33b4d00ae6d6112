"""Brands: the looks and host names of the help center. shared/brands.py reads them."""

import json
import re
from dataclasses import replace
from typing import Any

from server.digits import whole_in
from server.errors import Conflict, Invalid
from server.fields import Bit, CreatedAt, Id, Intake, Name, Structure, Text, UpdatedAt, languages
from server.fields.field import as_text
from server.host_names import ascii_host
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared import brands
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Search, Watchers
from server.translation import N_, about_field, lazy_gettext

HOST_CHARS = 253  # longest name in DNS
MAX_LANGUAGES, MAX_LINKS, MAX_LINK_CHARS, MAX_GROUPS = 20, 12, 2000, 200
DEFAULT_LANGUAGE = "en"
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_ADDRESS = re.compile(r"(?:https?://[^\s/<>\"]+[^\s<>\"]*|mailto:[^\s<>\"@]+@[^\s<>\"@]+)")


class HostName(Text):
    """A host name without a port, in lower case and in the letters of DNS."""

    def read(self, raw: Any, intake: Intake) -> str:
        text = super().read(raw, intake).strip().rstrip(".")
        try:
            host = ascii_host(text).lower()
        except UnicodeError:
            host = ""
        labels = host.split(".")
        if text and (not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit() or len(host) > HOST_CHARS):
            raise self.bad(N_("must be a host name without a port, such as help.example"))
        return host


class LanguageTags(Text):
    """Different languages, as tags of BCP 47."""

    def read(self, raw: Any, intake: Intake) -> str:
        tags = [each.strip().replace("_", "-") for each in super().read(raw, intake).split(",") if each.strip()]
        for tag in tags:
            if not languages.is_known(tag):
                raise self.bad(lazy_gettext("'{value}' is not a known language, such as en or pt-BR", value=tag[:50]))
        if len(set(tags)) > MAX_LANGUAGES:
            raise self.bad(lazy_gettext("at most {count} languages", count=MAX_LANGUAGES))
        return ", ".join(dict.fromkeys(tags)) or DEFAULT_LANGUAGE


class FooterLinks(Text):
    """Links, one a line: the text, a blank, and the address."""

    def read(self, raw: Any, intake: Intake) -> str:
        lines = [line.strip() for line in super().read(raw, intake).splitlines() if line.strip()]
        if len(lines) > MAX_LINKS:
            raise self.bad(lazy_gettext("at most {count} links", count=MAX_LINKS))
        for line in lines:
            label, _, address = line.rpartition(" ")
            if not label.strip() or not _ADDRESS.fullmatch(address):
                problem = lazy_gettext(
                    "'{line}' needs a text and an address, such as Imprint https://example.com/imprint", line=line[:80]
                )
                raise self.bad(problem)
        return "\n".join(lines)


class GroupIds(Structure):
    """Ids of groups."""

    def read(self, raw: Any, intake: Intake) -> list[int]:
        ids: list[int] = []
        for each in super().read(raw, intake):
            id = whole_in(as_text(each).strip(), 1, 2**63 - 1)
            if id is None or not intake.lookup.exists("group", id):
                raise self.bad(lazy_gettext("there is no group {id}", id=as_text(each)[:50]))
            ids.append(id)
        if len(set(ids)) > MAX_GROUPS:
            raise self.bad(lazy_gettext("at most {count} groups", count=MAX_GROUPS))
        return list(dict.fromkeys(ids))

    def _changed(self, items: list[Any], intake: Intake) -> list[Any]:
        stored = intake.values.get(self.name) or []
        present = [str(each) for each in (json.loads(stored) if isinstance(stored, str) else stored)]
        return super()._changed(items, replace(intake, values={**intake.values, self.name: present}))


class Brand(RecordType):
    """The name, logo and color of a team's help center, at a host name of its own. Nobody outside sees a brand before
    it is public."""

    uri = "brand"
    tier = 2
    traits = (Comments(), CustomFields(), Links(), Watchers(), Avatars(is_logo=True), Search())
    access = Access(read="any worker", write=("admins",))
    is_administrative = True
    fields = {
        "accent": Text(
            "Color of links and buttons, as #rrggbb; blank: blue. It is made darker or lighter where it could not be "
            "read.",
            7,
            pattern=r"|#[0-9A-Fa-f]{6}",
            filter=None,
        ),
        "created_at": CreatedAt(),
        "footer_links": FooterLinks(
            "Links at the end of each page, one a line: a text and an address, such as "
            "`Imprint https://example.com/imprint`.",
            MAX_LINK_CHARS,
            filter=None,
        ),
        "group_ids": GroupIds("Ids of the groups that work for it. A group belongs to one brand.", is_list=True),
        "has_requests": Bit(
            "1: customers can sign in to its help center by email, and read and reply to their own tickets of its "
            "groups.",
            filter="hasRequests",
        ),
        "host": HostName(
            "Host name at which its help center responds, such as help.example; blank: that of `portal_base_url`, or "
            "`/help-center` of the console. One brand can have none.",
            HOST_CHARS,
            match="exact",
        ),
        "is_public": Bit("1: everybody can read its published articles. 0: its addresses return 404."),
        "languages": LanguageTags(
            "Languages of its articles, separated by commas, the first one first; en when omitted.",
            default=DEFAULT_LANGUAGE,
        ),
        "name": Name("Name that visitors see; also the label.", 80, one_line=True),
        "privacy_group_id": Id(
            "Group that gets the requests of customers to erase their data; 0: the group of their newest ticket.",
            "group",
            zero_ok=True,
        ),
        "updated_at": UpdatedAt(),
    }
    bumps = {brands.VERSION: ()}
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def prepare(self, change: Change, writing: Writing) -> None:
        """Raises Conflict for a host or a group of another brand, Invalid for a host of the service itself."""
        if change.is_create or change.changes("host"):
            _require_own_host(change, writing)
        if "group_ids" in change.new:
            _require_own_groups(change, writing)

    def after_write(self, change: Change, writing: Writing) -> None:
        brands.publish_hosts(writing.ctx.service, writing.tx)

    def after_delete(self, record: Record, writing: Writing) -> None:
        brands.publish_hosts(writing.ctx.service, writing.tx)


def _require_own_host(change: Change, writing: Any) -> None:
    host, service = change.value("host"), writing.ctx.service
    others = {
        service.settings.portal_host: "portal_base_url",
        service.settings.webhook_host: "webhook_base_url",
        brands.console_host(service): "base_url",
    }
    if host and host in others:
        problem = lazy_gettext("{host} is the host name of {setting}; choose another", host=host, setting=others[host])
        if others[host] == "portal_base_url":
            problem = lazy_gettext("{host} is the host name of portal_base_url; leave the host blank", host=host)
        raise Invalid(about_field("host", problem), field="host")
    other = writing.find("brand", host=host)
    if other is None or other["id"] == change.id:
        return
    if host:
        problem = lazy_gettext("{host} is the host name of the brand {name}", host=host, name=other["name"])
    else:
        problem = lazy_gettext("the brand {name} has no host name either; one brand can have none", name=other["name"])
    raise Conflict(about_field("host", problem), field="host")


def _require_own_groups(change: Change, writing: Any) -> None:
    table = change.type.table
    for row in writing.tx.find(table):
        record = dict(zip(table.names, row, strict=True))
        if record["id"] == change.id:
            continue
        for id in {*json.loads(record["group_ids"])} & {*change.new["group_ids"]}:
            name = writing.label("group", id)
            problem = lazy_gettext("{group} works for the brand {name}", group=name, name=record["name"])
            raise Conflict(about_field("group_ids", problem), field="group_ids")
