"""Workers: the people who reply to tickets and sign in. access/ has their sessions and tokens."""

from typing import TYPE_CHECKING, Any

import peewee

from server import passwords
from server.access import provider, sessions
from server.access.logins import WORKER_LOGIN
from server.errors import Conflict, Required
from server.fields import Bit, Id, IdList, IdSetChange, Intake, Number, Text, Timestamp, UpdatedAt
from server.fields.field import as_text
from server.people import identity, login_following, next_owner, rosters
from server.people.login_changes import LOGIN_CHANGE
from server.record_types.calendars.worker_filter import AvailabilityFilter
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import absence, maps, record_owners
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.named_records import address_of
from server.record_types.shared.relation_tables import GROUP_MEMBER, ROLE_WORKER, SNIPPET_USE
from server.record_types.traits import Avatars, Comments, CustomFields, Links, Owner, Search
from server.search.ast import BareWord, Subquery, Term
from server.search.conditions import Condition, equals
from server.search.filters import ChoiceFilter, DateFilter, DeepFilter, HasManyThrough, TextFilter, WordsFilter
from server.store.fulltext import TextIndex as TextIndex
from server.store.statements import slot
from server.store.tables import Column, Index, table_named
from server.translation import N_

if TYPE_CHECKING:
    from server.record_types.registry import Registry
    from server.search.compile import SearchScope

WORKER_TEXT = TextIndex("worker_text", ("names",), "worker")

# Columns of other records with a worker's id, which become 0 when the worker is deleted.
REFERENCES = (
    ("address", "worker_id"),
    ("ticket", "owner_id"),
    ("task", "owner_id"),
    ("message", "worker_id"),
    ("draft", "worker_id"),
    ("time_entry", "worker_id"),
    ("worker", "away_stand_in_id"),
)


class Password(Text):
    """A password, stored as a hash. `Worker.before` has hashed it already; blank leaves it unchanged."""

    def read(self, raw: Any, intake: Intake) -> str:
        if isinstance(raw, passwords.HashedPassword):
            return raw.text
        text = super().read(raw, intake)
        # Only without `before`, for example in a record of a package; slow, but never stored in plain text.
        return passwords.hash(text) if text else ""


class NamesFilter(WordsFilter):
    """Words of names; the single word `me` stands for the searching worker."""

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Subquery):
            children = value.root.children
            if len(children) == 1 and isinstance(children[0], BareWord) and not children[0].negated:
                text = children[0].text
                if text.value.lower() == "me" and not text.quoted:
                    return equals(peewee.Column(self.table.sql, "id"), scope.actor_id)
        return super().meaning(term, scope)


def load_emails(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `emails`: {address id: address}."""
    pairs = maps.pairs_behind(shown, "address", "worker_id", records)
    return maps.as_map("emails", records, pairs, maps.by_id(shown, "address", {id for _, id in pairs}))


def load_groups(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `groups`: {group id: group}."""
    pairs = maps.pairs_through(shown.tx, GROUP_MEMBER, "worker_id", "group_id", records)
    return maps.as_map("groups", records, pairs, maps.by_id(shown, "group", {id for _, id in pairs}))


def load_roles(shown: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """Loads `roles`: {role id: role} of the roles that the worker is a member of."""
    pairs = maps.pairs_through(shown.tx, ROLE_WORKER, "worker_id", "role_id", records, part="member")
    return maps.as_map("roles", records, pairs, maps.by_id(shown, "role", {id for _, id in pairs}))


def full_name(record: Record) -> str:
    """Returns first and last name."""
    return f"{record['first_name']} {record['last_name']}".strip()


class Worker(RecordType):
    """A person who works on tickets: name, main address, language and time zone, and whether they are an
    administrator."""

    uri = "worker"
    aliases = (
        "workers",
        "employee",
        "employees",
        "agent",
        "agents",
        "staff",
        "staff member",
        "staff members",
        "team member",
        "team members",
    )
    lookup = "at_mention_name"
    traits = (Comments(), CustomFields(), Links(), Avatars(), Owner(), Search())
    access = Access(read="any worker", write=("admins",))
    is_settled = True
    fields = {
        "assign_max_open": Number(
            "Open tickets up to which they get tickets automatically, in all groups together; 0 for no limit.",
            min=0,
            max=next_owner.MAX_OPEN,
            filter=None,
            origin="ours",
        ),
        "at_mention_name": Text(
            "Nickname for @mentions.", 64, unique=True, pattern=r"[A-Za-z0-9._-]*", blank_ok=True, filter=None
        ),
        "away_from": Timestamp("When the absence starts; 0 for no start.", filter=None),
        "away_stand_in_id": Id(
            "Worker who is notified of customers' messages on their tickets during the absence; 0 for nobody.",
            "worker",
            zero_ok=True,
            nested=None,
            filter=None,
        ),
        "away_until": Timestamp(
            "When the absence ends; 0 until further notice. If `away_from` is also 0, they are not away.", filter=None
        ),
        "calendar_id": Id(
            "Availability calendar; 0 for none.",
            "calendar",
            zero_ok=True,
            filter_note="Calendar by id.",
            deep="Matching availability calendar.",
        ),
        "dob": Text("Birthday as YYYY-MM-DD.", form="date", filter=None),
        "email": Text(
            "Main address by its text; created if missing. Sets `email_id`.",
            alternative_to="email_id",
            form="email",
        ),
        "email_id": Id(
            "Main email address. It then belongs to the worker, and no more email is sent from it. An "
            "address of another worker, or one that a group or bucket sends from, is refused. The worker "
            "signs in with it once they have confirmed it, and with the previous one until then.",
            "address",
            required=True,
            unique=True,
            alternatives=("email", "address_id"),
            filter_note="Main address by id.",
            deep="The main address matches the query.",
            nested="address",
        ),
        "email_ids": IdList(
            "Ids of the worker's further addresses, as a list; replaces them, or with `+` or `-` in front adds and "
            "removes. Email from them counts as the worker's; they cannot be used to sign in.",
            "address",
        ),
        "first_name": Text("Given name.", 128, required=True, one_line=True, match="prefix"),
        "gender": Text("F, M or blank.", 1, allowed=("", "F", "M")),
        "is_disabled": Bit("Cannot sign in; tokens and sessions stop working at once."),
        "is_mfa_required": Bit("Must use a second factor.", shown=False, filter="isMfaRequired"),
        "is_password_disabled": Bit("Cannot sign in by password.", shown=False, filter="isPasswordDisabled"),
        "is_superuser": Bit("Administrator.", filter="isAdmin"),
        "language": Text("Locale such as en_US.", 16, required=True, form="language", match="prefix"),
        "last_name": Text("Family name.", 128, one_line=True, match="prefix"),
        "location": Text("Place, free text."),
        "mobile": Text("Mobile number.", 64),
        "password": Password(
            "New password, at least 8 characters; only its hash is stored, and never returned. Blank leaves it "
            "unchanged.",
            passwords.MAX_CHARS,
            min=passwords.MIN_CHARS,
            exact=True,
            stored=False,
        ),
        "phone": Text("Phone.", 64),
        "time_format": Text("Preferred date format.", 64, filter=None),
        "timeout_idle_secs": Number(
            "Seconds after which a session counts as idle.", default=600, min=60, max=2678400, filter=None
        ),
        "timezone": Text("IANA time zone name.", required=True, form="timezone", match="exact"),
        "title": Text("Job title.", one_line=True),
        "updated": UpdatedAt(),
    }
    # The last use of a session or token; the creation, 0 if an older version created the worker.
    columns = (Column("last_activity_at"), Column("created_at"), Column("admin_since"))
    indexes = (
        Index(("email_id",), "the worker of an address"),
        Index(("at_mention_name",), "the worker of an @mention"),
    )
    bumps = {
        "access": ("is_disabled", "is_superuser", "timezone", "first_name", "last_name", "language", "email_id"),
    }
    text = WORKER_TEXT
    tables = (WORKER_LOGIN, LOGIN_CHANGE)
    keys = (
        Key("full_name", "text", "First and last name.", value=lambda record, shown: full_name(record)),
        Key(
            "is_away",
            "bit",
            "Whether they are away right now.",
            value=lambda record, shown: int(absence.is_away(record, shown.now)),
        ),
    )
    expands = (
        Expand("emails", "records", "Addresses of the worker, keyed by id.", load_emails, "address"),
        Expand("groups", "records", "Groups that the worker belongs to, keyed by id.", load_groups, "group"),
        Expand("roles", "records", "Roles that the worker has, keyed by id.", load_roles, "role"),
    )
    filters = (
        NamesFilter(
            "text", "Words of the names; the single word `me` is the calling worker.", WORKER_TEXT, default=True
        ),
        TextFilter("alias", "The nickname, exact.", "at_mention_name", "exact", sortable=False),
        ChoiceFilter("gender", "By first letter.", "gender", {"male": "M", "female": "F", "unknown": ""}),
        DeepFilter(
            "group", "Member of a matching group.", "group", HasManyThrough("group_member", "worker_id", "group_id")
        ),
        DeepFilter(
            "group.manager",
            "Manager of a matching group.",
            "group",
            HasManyThrough("group_member", "worker_id", "group_id", (("is_manager", 1),)),
        ),
        absence.AwayFilter("isAway", "Is away right now."),
        AvailabilityFilter("isAvailable", "The calendar is available at the time, or during the whole range.", True),
        AvailabilityFilter("isBusy", "The calendar exists and is not available then.", False),
        DateFilter("lastActivity", "Last used a session or token in the range.", "last_activity_at", sortable=False),
        TextFilter("mention", "Nickname for @mentions.", "at_mention_name", "exact", aliases=("mentionName",)),
        DeepFilter(
            "role",
            "Has a matching role.",
            "role",
            HasManyThrough("role_worker", "worker_id", "role_id", (("part", "member"),)),
        ),
        DeepFilter(
            "role.editor",
            "May edit what a matching role owns.",
            "role",
            HasManyThrough("role_worker", "worker_id", "role_id", (("part", "editor"),)),
        ),
        DeepFilter(
            "role.reader",
            "May read what a matching role owns.",
            "role",
            HasManyThrough("role_worker", "worker_id", "role_id", (("part", "reader"),)),
        ),
        DeepFilter(
            "using.workspace",
            "Is on a matching workspace page: opened it, or a tab of it, in the last ten minutes.",
            "workspace_page",
            HasManyThrough("workspace_visit", "worker_id", "page_id"),
        ),
    )
    subtotals = Subtotals(
        search=(
            "fieldset",
            "firstName",
            "gender",
            "group",
            "isAdmin",
            "isDisabled",
            "isMfaRequired",
            "isPasswordDisabled",
            "language",
            "lastName",
            "links",
            "mention",
            "timezone",
            "title",
        ),
        virtual=("group",),
        aliases={"email": "email.id", "lang": "language"},
    )
    events = (
        Event("worker.login_address.asked", "a new main address is waiting to be confirmed"),
        Event("worker.login_address.changed", "a new main address was confirmed"),
        Event("worker.login_address.dropped", "a pending change was withdrawn"),
        Event("worker.logged_in", "signed in to the console"),
        Event("worker.logged_out", "signed out of the console"),
        Event("worker.login.failed", "a sign-in failed"),
        Event("worker.login.locked", "too many sign-ins failed, and unknown devices have to wait"),
        Event("worker.impersonated", "an administrator acted as the worker"),
        Event("worker.seat_expired", "the seat was released after inactivity"),
    )
    label_column = "first_name"

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def label(self, record: Record) -> str:
        return full_name(record) or "(no name)"

    def texts(self, record: Record, writing: Writing) -> dict[str, str]:
        return {"names": f"{full_name(record)} {record['at_mention_name']}"}

    def before(self, fields: dict[str, Any]) -> dict[str, Any]:
        sent = fields.get("password")
        password = "" if isinstance(sent, (list, dict)) else as_text(sent)
        if not passwords.MIN_CHARS <= len(password) <= passwords.MAX_CHARS:
            return fields  # the field reports its mistake
        return fields | {"password": passwords.HashedPassword(passwords.hash(password))}

    def prepare(self, change: Change, writing: Writing) -> None:
        self._address_by_text(change, writing)
        if change.is_create or change.changes("email_id"):
            self._check_address(writing, "email_id", change.value("email_id"), change.id)
        if "email_ids" in change.extras:
            for address_id in change.extras["email_ids"].adds:
                self._check_address(writing, "email_ids", address_id, change.id)
        absence.check(change, writing)
        if change.is_create:
            change.new["created_at"] = writing.now
        if change.changes("is_superuser") and change.value("is_superuser"):
            change.new["admin_since"] = writing.now
        if not change.is_create and _is_administrator(change.old) and not _is_administrator(_after(change)):
            self._check_another_administrator(writing, change.id)

    def after_write(self, change: Change, writing: Writing) -> None:
        password_hash = change.extras.get("password")
        if password_hash:
            login = {"worker_id": change.id, "password_hash": password_hash, "changed_at": writing.now}
            writing.tx.put(WORKER_LOGIN, login)
        main = change.value("email_id")
        if change.is_create or change.changes("email_id"):
            writing.set("address", main, {"worker_id": change.id, "mail_transport_id": 0})
        if "email_ids" in change.extras:
            self._change_addresses(writing, change.id, main, change.extras["email_ids"])
        rosters.refresh_roles(writing)
        login_following.follow(writing, change)
        if change.changes("is_disabled") and change.value("is_disabled"):
            provider.forget_of_worker(writing.tx, change.id)  # if enabled again, the worker starts with new ones
            sessions.end_all(writing.tx, change.id)

    def check_delete(self, record: Record, writing: Writing) -> None:
        if writing.actor.context == self.context and writing.actor.id == record["id"]:
            raise Conflict(N_("you cannot delete yourself; ask another administrator"))
        if _is_administrator(record):
            self._check_another_administrator(writing, record["id"])

    def after_delete(self, record: Record, writing: Writing) -> None:
        tx, id = writing.tx, record["id"]
        for table, column in REFERENCES:
            redirect(writing, table, column, id)
        notification: Any = table_named("notification")
        tx.run(
            lambda: notification.delete().where(notification.c.worker_id == slot(0)),
            (id,),
        )
        tx.delete(WORKER_LOGIN, worker_id=id)
        tx.delete(SNIPPET_USE, worker_id=id)
        for reminder in tx.find(self.registry.type("reminder").table, worker_id=id):
            writing.delete("reminder", reminder[0])
        rosters.forget_worker(writing, id)
        tx.delete(next_owner.ASSIGN_TURN, worker_id=id)
        record_owners.forget(writing, self.context, id)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _address_by_text(self, change: Change, writing: Writing) -> None:
        if "email" not in change.extras or "email_id" in change.new:
            return
        address_id = address_of(writing, change.extras["email"], "email")
        if not address_id:
            raise Required("email must not be empty", field="email")
        change.new["email_id"] = address_id

    def _check_address(self, writing: Writing, field: str, address_id: int, worker_id: int) -> None:
        address = writing.record("address", address_id)
        identity.require_free(writing, field, address["email"] if address else "", address, worker_id)

    def _check_another_administrator(self, writing: Writing, id: int) -> None:
        table: Any = self.table.sql
        other_id = writing.tx.value(
            lambda: (
                table.select(table.id)
                .where(table.is_superuser == 1, table.is_disabled == 0, table.id != slot(0))
                .limit(1)
            ),
            (id,),
        )
        if other_id is None:
            raise Conflict(N_("this is the last administrator; make another worker an administrator first"))

    def _change_addresses(self, writing: Writing, id: int, main: int, id_change: IdSetChange) -> None:
        address: Any = table_named("address")
        rows = writing.tx.rows(lambda: address.select(address.c.id).where(address.c.worker_id == slot(0)), (id,))
        present = {row[0] for row in rows}
        ids = id_change.applied_to(present) | {main}
        for address_id in present - ids:
            writing.set("address", address_id, {"worker_id": 0})
        for address_id in ids - present:
            writing.set("address", address_id, {"worker_id": id})


def _is_administrator(record: Record | None) -> bool:
    return bool(record and record["is_superuser"] and not record["is_disabled"])


def _after(change: Change) -> Record:
    return {name: change.value(name) for name in ("is_superuser", "is_disabled")}
