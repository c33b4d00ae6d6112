"""Workers as SCIM users. Follows RFC 7643, section 4.1.

A provider never makes an administrator and never touches a password. What it deletes is deactivated and no longer
visible to it: everything that the worker wrote stays. If it creates the user again, the same worker comes back."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from server import contexts
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, Forbidden, Invalid, NotFound
from server.fields import languages
from server.mail import addresses
from server.people import nicknames, rosters
from server.people.administrators import administrators
from server.people.types.worker import full_name
from server.record_types.record_type import Record
from server.record_types.shared.named_records import address_of
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.sign_in.provisioned_tables import (
    PROVISIONED_USER,
    id_in_path,
    id_list,
    removed_groups,
    removed_workers,
    rows_of,
    timestamp,
    visible_ids,
)
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

WORKER = "worker"
SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User"
MAX_EMAILS = 10
MAX_TEXT_CHARS = 255  # userName, externalId, displayName
MAX_KIND_CHARS = 40  # length of the kind of an address
MAX_SCANNED = 5000  # users that a filter without an index compares
LANGUAGE, ZONE = "en_US", "UTC"  # defaults for new workers
PHONES = {"work": "phone", "mobile": "mobile"}  # {type of a phone number: field of a worker}
# Attributes with which a lookup begins: the others are compared one by one.
USER_NAME, EXTERNAL_ID, EMAIL, ID = "userName", "externalId", "emails.value", "id"
User = dict[str, Any]
Change = Callable[[User], User]


@dataclass(frozen=True, slots=True)
class _Known:
    """The values of a provider that the record of a worker has no place for."""

    worker_id: int
    external_id: str = ""
    user_name: str = ""
    user_key: str = ""
    display_name: str = ""
    displayed_for: str = ""
    emails: str = "[]"
    created_at: int = 0
    is_removed: int = 0


def get(ctx: Context, id: int) -> User:
    """Returns a user. Raises NotFound, also for one that the provider deleted."""
    return ctx.service.store.read(lambda tx: _shown(RecordReader(ctx, tx), id))


def page(ctx: Context, offset: int, limit: int) -> tuple[list[User], int]:
    """Returns a page of all users by id, and the number of all."""

    def read(tx: Transaction) -> tuple[list[User], int]:
        ids = visible_ids(tx, WORKER)
        return _users(RecordReader(ctx, tx), ids[offset : offset + limit]), len(ids)

    return ctx.service.store.read(read)


def matching(ctx: Context, known: Mapping[str, str], fulfills: Callable[[User], bool]) -> list[User]:
    """Returns the users that fulfill a condition. known: values that they must have, for a lookup by index. Raises
    Invalid if there are too many to compare."""

    def read(tx: Transaction) -> list[User]:
        ids = _indexed_ids(tx, known)
        if ids is None:
            ids = visible_ids(tx, WORKER)
            if len(ids) > MAX_SCANNED:
                raise Invalid(
                    f"with more than {MAX_SCANNED} users, filter by id, userName, externalId or emails",
                    scim_type="tooMany",
                )
        return [each for each in _users(RecordReader(ctx, tx), ids) if fulfills(each)]

    return ctx.service.store.read(read)


def create(ctx: Context, user: User) -> User:
    """Creates the worker of a user, or brings back one whom the provider deleted. Raises Invalid, Conflict."""

    def write(tx: Transaction) -> User:
        writing = RecordWriter(ctx, tx)
        wanted = _Wanted(user)
        former_id = _removed_worker(writing, wanted)
        if former_id:
            before = _shown(writing, former_id, is_removed=True)
            _save(writing, former_id, before, {"active": True, **user})
            return _shown(writing, former_id)
        _require_unique(writing, wanted, 0)
        id = writing.create_sent(writing.registry.type(WORKER), _new_fields(writing, wanted))
        _note(writing, _Known(id, created_at=ctx.now), wanted, wanted.emails)
        _change_emails(writing, id, wanted, [])
        return _shown(writing, id)

    return ctx.service.store.write(write)


def update(ctx: Context, id: int, change: Change) -> User:
    """Changes a user: `change` returns the new attributes from the present ones. Raises NotFound, Invalid, Conflict,
    Forbidden."""

    def write(tx: Transaction) -> User:
        writing = RecordWriter(ctx, tx)
        before = _shown(writing, id)
        _save(writing, id, before, change(before))
        return _shown(writing, id)

    return ctx.service.store.write(write)


def remove(ctx: Context, id: int, check: Callable[[User], object]) -> None:
    """Deactivates the worker of a user, who leaves all groups and is no longer visible to the provider. check: raises
    an error if the user is not as expected. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        user = _shown(writing, id)
        check(user)
        _require_another_administrator(tx, id)
        if user["active"]:
            writing.update_sent(writing.registry.type(WORKER), id, {"is_disabled": "1"})
        groups = [row[GROUP_MEMBER.position["group_id"]] for row in tx.find(GROUP_MEMBER, worker_id=id)]
        rosters.change_rosters(writing, {group_id: {id: rosters.REMOVE} for group_id in groups})
        _put(tx, _known(tx, id), is_removed=1)
        writing.log("provisioning.worker.released", contexts.WORKER, id, {"target": writing.label(WORKER, id)})

    ctx.service.store.write(write)


# -- what a provider wants ---------------------------------------------------------------------------------------------


class _Wanted:
    """The checked attributes of a user. address: of the sign-in. stored_name: a user name that is not an address."""

    def __init__(self, user: User) -> None:
        self.user_name = _text(user, "userName")
        if not self.user_name:
            raise Invalid("userName must not be empty", field="userName")
        self.external_id = _text(user, "externalId")
        self.display_name = _text(user, "displayName")
        if max(map(len, (self.user_name, self.external_id, self.display_name))) > MAX_TEXT_CHARS:
            raise Invalid(f"userName, externalId and displayName have at most {MAX_TEXT_CHARS} characters")
        self.emails = _emails(user.get("emails", []))
        name_address = addresses.the_one(self.user_name) if addresses.valid(self.user_name) else None
        self.address = name_address or _main(self.emails)
        if self.address is None:
            raise Invalid("userName must be an email address, or emails must have one")
        self.stored_name = "" if name_address else self.user_name
        name = user.get("name", {})
        self.given, self.family = _text(name, "givenName"), _text(name, "familyName")
        if not self.given and not self.family:
            self.given, _, self.family = (self.display_name or self.address.partition("@")[0]).partition(" ")
        self.given = self.given or self.family or self.address.partition("@")[0]
        self.family = "" if self.given == self.family else self.family
        self.is_active = user.get("active", True)
        self.title = _text(user, "title")
        self.language = _language(_text(user, "locale"))
        self.zone = _text(user, "timezone")
        self.phones = _phones(user.get("phoneNumbers", []))

    def fields(self) -> dict[str, Any]:
        """The fields of the worker's record."""
        return {
            "first_name": self.given,
            "last_name": self.family,
            "title": self.title,
            "language": self.language or LANGUAGE,
            "timezone": self.zone or ZONE,
            "is_disabled": "0" if self.is_active else "1",
            **{field: self.phones.get(kind, "") for kind, field in PHONES.items()},
        }


def _text(values: Mapping[str, Any], name: str) -> str:
    return str(values.get(name) or "").strip()


def _emails(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The submitted addresses, in lower case and each once. Raises Invalid."""
    if len(listed) > MAX_EMAILS:
        raise Invalid(f"emails: at most {MAX_EMAILS} addresses")
    emails: dict[str, dict[str, Any]] = {}
    for each in listed:
        text = str(each.get("value") or "").strip()
        address = addresses.the_one(text)
        if address is None:
            raise Invalid(f"emails: '{text[:80]}' is not an email address")
        kind = str(each.get("type") or "work")[:MAX_KIND_CHARS]
        emails[address] = {"value": text, "type": kind, "primary": bool(each.get("primary"))}
    return list(emails.values())


def _main(emails: list[dict[str, Any]]) -> str | None:
    """The main address: the primary one, else that for work, else the first."""
    best = sorted(emails, key=lambda each: (not each["primary"], each["type"] != "work"))
    return addresses.the_one(best[0]["value"]) if best else None


def _phones(listed: list[dict[str, Any]]) -> dict[str, str]:
    """{type: number}. Raises Invalid for a type that workers do not have."""
    phones: dict[str, str] = {}
    for each in listed:
        kind = str(each.get("type") or "work").lower()
        if kind in PHONES:  # a fax or home number has no place
            phones.setdefault(kind, str(each.get("value") or "").strip())
    return phones


def _language(locale: str) -> str:
    language = locale.replace("-", "_")
    if language and not languages.is_known(language):
        raise Invalid(f"locale: '{locale[:50]}' is not a known language, such as de-CH")
    return language


# -- writes ------------------------------------------------------------------------------------------------------------


def _save(writing: RecordWriter, id: int, before: User, after: User) -> None:
    """Writes what differs between two states of a user. A deactivated one is reactivated only explicitly."""
    after = {"active": before["active"], **after}
    wanted, present = _Wanted(after), _Wanted(before)
    worker = writing.record(WORKER, id)
    assert worker is not None
    _require_unique(writing, wanted, id)
    changes = {name: value for name, value in wanted.fields().items() if value != present.fields()[name]}
    if "is_disabled" in changes:
        if changes["is_disabled"] == "1":
            _require_another_administrator(writing.tx, id)
        elif worker["is_superuser"]:  # a provider makes no administrator, not even again
            changes["is_superuser"] = "0"
    if wanted.address != present.address:
        _require_no_administrator(worker)
        changes["email"] = wanted.address
    if changes:
        writing.update_sent(writing.registry.type(WORKER), id, changes)
    known = _known(writing.tx, id)
    has_other_emails = wanted.emails != present.emails
    if has_other_emails:
        _change_emails(writing, id, wanted, _stored_emails(known))
    _note(writing, known, wanted, wanted.emails if has_other_emails else _stored_emails(known))


def _new_fields(writing: RecordWriter, wanted: _Wanted) -> dict[str, Any]:
    nickname = nicknames.free(writing.tx, wanted.given, wanted.family)
    return {**wanted.fields(), "email": wanted.address, "at_mention_name": nickname}


def _change_emails(writing: RecordWriter, id: int, wanted: _Wanted, former: list[dict[str, Any]]) -> None:
    """Gives the worker the addresses that the provider lists, and takes those away that it no longer lists. An address
    that was added in the console stays."""
    worker = writing.record(WORKER, id)
    assert worker is not None
    listed = {str(addresses.the_one(each["value"])) for each in wanted.emails}
    before = {str(addresses.the_one(each["value"])) for each in former}
    own = _addresses(writing.tx, [id])[id]
    added, dropped = listed - own.keys(), (before - listed) & own.keys()
    if added:
        _require_no_administrator(worker)
    signed = [f"+{address_of(writing, email, 'emails')}" for email in sorted(added)]
    signed += [f"-{own[email]}" for email in sorted(dropped) if own[email] != worker["email_id"]]
    if signed:
        writing.update_sent(writing.registry.type(WORKER), id, {"email_ids": signed})


def _note(writing: RecordWriter, known: _Known, wanted: _Wanted, emails: list[dict[str, Any]]) -> None:
    """Stores what the record of the worker has no place for. The user is visible again."""
    worker = writing.record(WORKER, known.worker_id)
    assert worker is not None
    _put(
        writing.tx,
        known,
        external_id=wanted.external_id,
        user_name=wanted.stored_name,
        user_key=wanted.stored_name.casefold(),
        display_name=wanted.display_name,
        displayed_for=full_name(worker),
        emails=json.dumps(emails),
        is_removed=0,
    )


def _put(tx: Transaction, known: _Known, **changes: Any) -> None:
    tx.put(PROVISIONED_USER, {name: getattr(known, name) for name in PROVISIONED_USER.names} | changes)


def _require_unique(writing: RecordWriter, wanted: _Wanted, id: int) -> None:
    """Raises Conflict if another worker has the user name or the address."""
    others = {row[0] for row in writing.tx.find(PROVISIONED_USER, user_key=wanted.stored_name.casefold())} - {id}
    others = others if wanted.stored_name else set()
    address = writing.find("address", email=wanted.address)
    holder = address["worker_id"] if address is not None else 0
    if others or (holder and holder != id):
        raise Conflict(f"there is a user {wanted.user_name} already")


def _require_another_administrator(tx: Transaction, id: int) -> None:
    if administrators(tx) == (id,):
        raise Forbidden("this is the last active administrator, who cannot be deactivated")


def _require_no_administrator(worker: Record) -> None:
    """Protects the addresses of administrators: a link to choose a password goes there."""
    if worker["is_superuser"]:
        raise Forbidden("the addresses of an administrator are changed in the console")


def _removed_worker(reading: RecordReader, wanted: _Wanted) -> int:
    """Returns the worker whom the provider deleted and creates again, 0 for none."""
    removed = removed_workers(reading.tx)
    if not removed:
        return 0
    address = reading.find("address", email=wanted.address)
    worker = reading.find(WORKER, email_id=address["id"]) if address is not None else None
    return worker["id"] if worker is not None and worker["id"] in removed else 0


# -- reads -------------------------------------------------------------------------------------------------------------


def _known(tx: Transaction, worker_id: int) -> _Known:
    row = tx.first(PROVISIONED_USER, worker_id=worker_id)
    return _Known(*row) if row is not None else _Known(worker_id)


def _stored_emails(known: _Known) -> list[dict[str, Any]]:
    return list(json.loads(known.emails or "[]"))


def _indexed_ids(tx: Transaction, known: Mapping[str, str]) -> list[int] | None:
    """The ids that a lookup by index finds, None if no attribute has one."""
    if ID in known:
        return visible_ids(tx, WORKER, id_in_path(known[ID]))
    if USER_NAME in known:
        named = [row[0] for row in tx.find(PROVISIONED_USER, user_key=known[USER_NAME].casefold())]
        return visible_ids(tx, WORKER, [*named, *_with_address(tx, known[USER_NAME])])
    if EXTERNAL_ID in known:
        return visible_ids(tx, WORKER, [row[0] for row in tx.find(PROVISIONED_USER, external_id=known[EXTERNAL_ID])])
    if EMAIL in known:
        return visible_ids(tx, WORKER, _with_address(tx, known[EMAIL]))
    return None


def _with_address(tx: Transaction, email: str) -> list[int]:
    table: Any = table_named("address")
    rows = tx.rows(
        lambda: table.select(table.c.worker_id).where(table.c.email == slot(0), table.c.worker_id > 0),
        (email.strip().lower(),),
    )
    return [row[0] for row in rows]


def _addresses(tx: Transaction, ids: Iterable[int]) -> dict[int, dict[str, int]]:
    """{worker id: {address: its id}}."""
    table: Any = table_named("address")
    found: dict[int, dict[str, int]] = {id: {} for id in ids}
    rows = tx.rows(
        lambda: (
            table.select(table.c.worker_id, table.c.email, table.c.id)
            .where(in_list(table.c.worker_id, slot(0)))
            .order_by(table.c.id)
        ),
        (id_list(found),),
    )
    for worker_id, email, id in rows:
        found[worker_id][email] = id
    return found


def _groups(tx: Transaction, ids: Iterable[int]) -> dict[int, list[dict[str, str]]]:
    """{worker id: the groups that a provider sees}."""
    removed = removed_groups(tx)
    member, group = GROUP_MEMBER.sql, table_named("group").alias("its_group")
    found: dict[int, list[dict[str, str]]] = {id: [] for id in ids}
    rows = tx.rows(
        lambda: (
            member.select(member.worker_id, group.c.id, group.c.name)
            .join(group, on=(group.c.id == member.group_id))
            .where(in_list(member.worker_id, slot(0)))
            .order_by(group.c.id)
        ),
        (id_list(found),),
    )
    for worker_id, group_id, name in rows:
        if group_id not in removed:
            found[worker_id].append({"value": str(group_id), "display": name})
    return found


def _shown(reading: RecordReader, id: int, *, is_removed: bool = False) -> User:
    if not is_removed and not visible_ids(reading.tx, WORKER, (id,)):
        raise NotFound(f"there is no user {id}")
    return _users(reading, [id])[0]


def _users(reading: RecordReader, ids: list[int]) -> list[User]:
    tx, record_type = reading.tx, reading.registry.type(WORKER)
    workers = [record_type.record(row) for row in tx.get_many(record_type.table, ids)]
    by_id = {row[0]: _Known(*row) for row in rows_of(tx, PROVISIONED_USER, ids)}
    addresses_of, groups = _addresses(tx, ids), _groups(tx, ids)
    return [
        _user(each, by_id.get(each["id"], _Known(each["id"])), addresses_of[each["id"]], groups[each["id"]])
        for each in workers
    ]


def _user(worker: Record, known: _Known, own: dict[str, int], groups: list[dict[str, str]]) -> User:
    """The attributes of a worker, without blank ones."""
    main = next((email for email, id in own.items() if id == worker["email_id"]), "")
    emails = [each for each in _stored_emails(known) if addresses.the_one(each["value"]) in own]
    name = full_name(worker)
    user: User = {
        "schemas": [SCHEMA],
        "id": str(worker["id"]),
        "externalId": known.external_id,
        "userName": known.user_name or main,
        "name": {
            key: value
            for key, value in (
                ("formatted", name),
                ("familyName", worker["last_name"]),
                ("givenName", worker["first_name"]),
            )
            if value
        },
        "displayName": known.display_name if known.display_name and known.displayed_for == name else name,
        "title": worker["title"],
        "locale": worker["language"].replace("_", "-"),
        "timezone": worker["timezone"],
        "active": not worker["is_disabled"],
        "emails": emails or [{"value": main, "type": "work", "primary": True}],
        "phoneNumbers": [{"value": worker[field], "type": kind} for kind, field in PHONES.items() if worker[field]],
        "groups": groups,
        "meta": {
            "resourceType": "User",
            **({"created": timestamp(known.created_at)} if known.created_at else {}),
            "lastModified": timestamp(worker["updated"]),
        },
    }
    return {name: value for name, value in user.items() if value not in ("", [], None)}
