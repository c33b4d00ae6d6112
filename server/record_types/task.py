"""Tasks: work besides tickets, with an owner and a deadline."""

from typing import TYPE_CHECKING

from server import contexts
from server.fields import CreatedAt, Fieldsets, Id, Name, Timestamp, Uint, UpdatedAt, Word
from server.record_types.record_type import Access, Change, Event, Key, RecordType, Reopening, Subtotals, Writing
from server.record_types.shared.comment_text import comment_words
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.search.ast import SearchValue as SearchText
from server.search.conditions import Condition, compared, equals
from server.search.filters import ChoiceFilter, WorkerFilter
from server.store.tables import Index
from server.translation import N_

if TYPE_CHECKING:
    from server.search.compile import SearchScope

OPEN, CLOSED, WAITING = 0, 1, 2  # in another order than those of tickets
STATUSES = {"open": OPEN, "waiting": WAITING, "closed": CLOSED}
WORDS = {number: word for word, number in STATUSES.items()}
LOGGED = {OPEN: "task.status.open", CLOSED: "task.status.completed"}
YES, NO = ("yes", "y", "true"), ("no", "n", "false")


class TaskStatusFilter(ChoiceFilter):
    """By word, first letter or number; `isCompleted:yes` is closed, `isCompleted:no` is every other status."""

    def one(self, text: SearchText, scope: "SearchScope") -> Condition:
        word = text.value.strip().lower()
        if word in YES:
            return equals(self.column, CLOSED)
        return compared(self.column, "!=", CLOSED) if word in NO else super().one(text, scope)


class Task(RecordType):
    """Something to do: open, waiting for a date, or closed."""

    uri = "task"
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("privilege",))
    fields = {
        "completed": Timestamp(
            "When it was completed: set to now when the status becomes closed and to 0 when it leaves closed, unless "
            "it is sent.",
            filter_note="When it was completed; never if it is not.",
        ),
        "created": CreatedAt(
            "When the task was created; now when omitted.", filter_note="When the record was created."
        ),
        "due": Timestamp("Deadline."),
        "fieldsets": Fieldsets(
            "Ids of custom fieldsets to attach, as a list or separated by commas; a leading `-` detaches."
        ),
        "importance": Uint("0 least, 100 most.", default=50, max=100),
        "owner_id": Id("Assigned worker; 0 for none.", "worker", zero_ok=True, deep="The owner matches the query."),
        "reopen": Timestamp("When a waiting task returns to open; opening clears it."),
        "status": Word(
            "open, waiting or closed; the first letter counts, in any case.",
            ("open", "waiting", "closed"),
            alternative_to="status_id",
        ),
        "status_id": Uint(
            "0 open, 1 closed, 2 waiting. The order differs from that of tickets.",
            alternatives=("status",),
            max=WAITING,
            words=(N_("open"), N_("closed"), N_("waiting")),
            filter=None,
        ),
        "title": Name("What to do; also the label."),
        "updated": UpdatedAt(),
    }
    indexes = (
        Index(("owner_id", "status_id"), "a worker's open tasks"),
        Index(("status_id", "due"), "open tasks by deadline"),
    )
    reopening = Reopening("status_id", (WAITING,), OPEN, "reopen")
    summary = ("status_id", "owner_id")
    keys = (
        Key(
            "is_completed",
            "boolean",
            "Whether it is closed.",
            value=lambda record, view: record["status_id"] == CLOSED,
        ),
        Key(
            "status",
            "text",
            "open, waiting or closed.",
            value=lambda record, view: WORDS.get(record["status_id"], "open"),
        ),
    )
    filters = (
        comment_words(contexts.TASK, "Words in the comments on the task."),
        WorkerFilter("owner.id", "The owner: me, ids, names, any, none.", "owner_id"),
        TaskStatusFilter(
            "status",
            "First letter or number; lists and negation are fine.",
            "status_id",
            STATUSES,
            aliases=("isCompleted",),
        ),
    )
    subtotals = Subtotals(
        search=("fieldset", "importance", "links", "owner.id", "status", "watchers"), aliases={"owner": "owner.id"}
    )
    events = (
        Event("task.created", "created"),
        Event("task.status.completed", "the status became closed by a change"),
        Event("task.status.open", "the status became open by a change, or because its reopen date came"),
    )
    label_column = "title"

    def prepare(self, change: Change, writing: Writing) -> None:
        word = change.extras.get("status")
        if word:
            change.new["status_id"] = STATUSES[word]
        if not change.changes("status_id"):
            return
        if change.value("status_id") == OPEN and not change.is_create:
            change.new["reopen"] = 0
        if "completed" in change.new:
            return
        if change.value("status_id") == CLOSED:
            change.new["completed"] = writing.now
        elif change.was("status_id") == CLOSED:
            change.new["completed"] = 0

    def after_write(self, change: Change, writing: Writing) -> None:
        variables = {"target": change.value("title")}
        if change.is_create:
            writing.log("task.created", self.context, change.id, variables)
        elif change.changes("status_id") and change.value("status_id") in LOGGED:
            writing.log(LOGGED[change.value("status_id")], self.context, change.id, variables)
