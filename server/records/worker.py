"""DOC"""

from server.fields.flag import Bit
from server.fields.link import Id, IdList
from server.fields.number import Number
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, Expand, Key, Nested, RecordType, Subtotals
from server.search.filters.choice import ChoiceFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import ChooserFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Behind, Own, Through


class Worker(RecordType):
    """DOC"""

    uri, context = "worker", "svc.contexts.worker"
    aliases = ("workers", "employee", "employees", "agent", "agents", "staff", "staff member", "staff members", "team member", "team members")
    label_names = ("Worker", "Workers")
    lookup = "at_mention_name"
    features = frozenset(("avatars", "comments", "custom_fields", "links", "owner", "search",))
    access = Access(
        read="any worker",
        create="admin",
        update="admin",
        delete="admin",
    )
    fields = {
        "at_mention_name": Text("Nickname for @mentions.", 64, unique=True, pattern=r"[A-Za-z0-9._-]*", blank_ok=True),
        "calendar_id": Id("Availability calendar; 0 none.", "calendar", zero_ok=True, shown=False),
        "dob": Text("Birthday as YYYY-MM-DD.", form="date"),
        "email": Text("Address by text; created when there is none. Satisfies the email requirement.", alternative_to="email_id"),
        "email_id": Id("Main email address; the address is attached to the worker and stops being a sending address.", "address", required=True, unique=True, alternatives=("email", "address_id"), shown=False),
        "email_ids": IdList("Ids of further addresses; replaces the set. Must be an array.", "address"),
        "first_name": Text("Given name.", 128, required=True),
        "gender": Text("F, M or blank.", 1, allowed=("", "F", "M")),
        "is_disabled": Bit("May not log in."),
        "is_mfa_required": Bit("Must use a second factor.", shown=False),
        "is_password_disabled": Bit("May not log in by password.", shown=False),
        "is_superuser": Bit("Administrator."),
        "language": Text("Locale such as en_US.", 16, required=True, form="language"),
        "last_name": Text("Family name.", 128),
        "location": Text("Place, free text."),
        "mobile": Text("Mobile number.", 64),
        "password": Text("New password, stored hashed; never returned.", min=8, shown=False),
        "phone": Text("Phone.", 64),
        "time_format": Text("Preferred date format.", 64),
        "timeout_idle_secs": Number("Idle time before a session is idle.", default=600, min=60, max=2678400),
        "timezone": Text("IANA zone name.", required=True, form="timezone"),
        "title": Text("Job title."),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("address", "address", "Main email address.", column="email_id"),
        Nested("calendar", "calendar", "Availability calendar."),
    )
    keys = (
        Key("full_name", "text", "First and last name."),
    )
    expands = (
        Expand("emails", "records", "Addresses of the worker, keyed by id.", LOADER, "address"),
        Expand("groups", "records", "Groups the worker belongs to, keyed by id.", LOADER, "group"),
        Expand("roles", "records", "Roles the worker has, keyed by id.", LOADER, "role"),
    )
    filters = (
        WordsFilter("text", "Full text over names; the single word `me` means the calling worker.", INDEX, default=True),
        TextFilter("alias", "Other names of the worker, exact.", "", "exact"),
        DeepFilter("calendar", "Matching availability calendar.", "calendar", Behind("calendar_id")),
        ChooserFilter("calendar.id", "By id; comparison and sets as for numbers.", "calendar_id", target="calendar"),
        DeepFilter("email", "Record behind `email` matches the query in parentheses.", "address", Behind("email_id")),
        ChooserFilter("email.id", "By id; comparison and sets as for numbers.", "email_id", target="address"),
        TextFilter("firstName", "Given name.", "first_name", "prefix"),
        ChoiceFilter("gender", "By first letter.", "gender", CHOICES),
        DeepFilter("group", "Member of a matching group.", "group", Through("group_member", "worker_id", "group_id")),
        DeepFilter("group.manager", "Manager of a matching group.", "group", Through("group_member", "worker_id", "group_id", (("is_manager", 1),))),
        NumberFilter("id", "Record id.", "id"),
        FlagFilter("isAdmin", "Administrator.", "is_superuser"),
        DateFilter("isAvailable", "Calendar says available over the range.", ""),
        DateFilter("isBusy", "Calendar says busy over the range.", ""),
        FlagFilter("isDisabled", "May not log in.", "is_disabled"),
        FlagFilter("isMfaRequired", "Must use a second factor.", "is_mfa_required"),
        FlagFilter("isPasswordDisabled", "May not log in by password.", "is_password_disabled"),
        TextFilter("language", "Locale such as en_US.", "language", "prefix"),
        DateFilter("lastActivity", "Had a session in the range.", ""),
        TextFilter("lastName", "Family name.", "last_name", "prefix"),
        TextFilter("location", "Place, free text.", "location", "partial"),
        TextFilter("mention", "Nickname for @mentions.", "at_mention_name", "exact", aliases=("mentionName",)),
        TextFilter("mobile", "Mobile number.", "mobile", "partial"),
        TextFilter("phone", "Phone.", "phone", "partial"),
        DeepFilter("role", "Has a matching role.", "role", Through("role_worker", "worker_id", "role_id", (("part", "member"),))),
        DeepFilter("role.editor", "May edit a matching role.", "role", Through("role_worker", "worker_id", "role_id", (("part", "editor"),))),
        DeepFilter("role.reader", "May read a matching role.", "role", Through("role_worker", "worker_id", "role_id", (("part", "reader"),))),
        TextFilter("timezone", "IANA zone name.", "timezone", "exact"),
        TextFilter("title", "Job title.", "title", "partial"),
        DateFilter("updated", "Last change.", "updated"),
        DeepFilter("using.workspace", "Currently on a matching workspace page.", "workspace_page", Own()),
    )
    subtotals = Subtotals(
        search=("fieldset", "firstName", "gender", "group", "isAdmin", "isDisabled", "isMfaRequired", "isPasswordDisabled", "language", "lastName", "links", "mention", "timezone", "title"),
        virtual=("group",),
        aliases={"email": "email.id", "lang": "language"},
    )
    events = (
        Event("worker.logged_in", "web login"),
        Event("worker.logged_out", "web logout"),
        Event("worker.login.failed", "failed login"),
        Event("worker.impersonated", "admin acted as the worker"),
        Event("worker.seat_expired", "seat released after idling"),
    )
    label_column = "title"
