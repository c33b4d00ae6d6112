"""DOC"""

from server.fields.link import Id
from server.fields.number import Uint
from server.fields.structure import Fieldsets
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Event, Key, Nested, RecordType, Subtotals
from server.search.filters.choice import ChoiceFilter
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.fulltext import WordsFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Behind
from server.search.filters.worker import WorkerFilter


class Task(RecordType):
    """DOC"""

    uri, context = "task", "svc.contexts.task"
    aliases = ("tasks",)
    label_names = ("Task", "Tasks")
    features = frozenset(("comments", "custom_fields", "links", "search", "watchers",))
    access = Access(
        read="any worker",
        create="priv",
        update="priv",
        delete="priv",
    )
    fields = {
        "completed": Timestamp("When it was completed. Ours: set to now when the status becomes closed, to 0 when it leaves closed, unless sent."),
        "created": Timestamp("When the task was made; now when omitted.", auto="now"),
        "due": Timestamp("Deadline."),
        "fieldsets": Fieldsets("Ids of custom fieldsets to attach, array or comma-separated; a `-` prefix detaches."),
        "importance": Uint("0 least, 100 most.", default=50, max=100),
        "owner_id": Id("Assigned worker; 0 none.", "worker", zero_ok=True, shown=False),
        "reopen": Timestamp("When a waiting task returns to open."),
        "status": Text("Only the first letter counts (o, w, c), any case; anything else is an error.", alternative_to="status_id", allowed=("open", "waiting", "closed")),
        "status_id": Uint("0 open, 1 closed, 2 waiting. Mind the order: not the same as tickets.", alternatives=("status",), max=3),
        "title": Text("What to do; also the label.", required=True),
        "updated": Timestamp("Last change; set to now on every write unless sent.", auto="now", auto_update="now"),
    }
    nested = (
        Nested("owner", "worker", "Assigned worker."),
    )
    keys = (
        Key("is_completed", "boolean", "JSON true when closed."),
        Key("status", "text", "open, waiting or closed."),
    )
    filters = (
        AllWords("Bare words match `title`.", "title", "partial"),
        WordsFilter("comments", "Text of comments on the task.", INDEX),
        DateFilter("completed", "When it was completed; 0 when not.", "completed"),
        DateFilter("created", "When the record was made.", "created"),
        DateFilter("due", "Deadline.", "due"),
        NumberFilter("id", "Record id.", "id"),
        NumberFilter("importance", "0 least, 100 most.", "importance"),
        DeepFilter("owner", "Record behind `owner` matches the query in parentheses.", "worker", Behind("owner_id")),
        WorkerFilter("owner.id", "Id of the owner.", "owner_id"),
        DateFilter("reopen", "When a waiting task returns to open.", "reopen"),
        ChoiceFilter("status", "First letter or number; sets and negation allowed.", "status_id", CHOICES, aliases=("isCompleted",)),
        TextFilter("title", "What to do.", "title", "partial"),
        DateFilter("updated", "Last change.", "updated"),
    )
    subtotals = Subtotals(
        search=("fieldset", "importance", "links", "owner.id", "status", "watchers"),
        aliases={"owner": "owner.id"},
    )
    events = (
        Event("task.created", "created with a title"),
        Event("task.status.completed", "status became closed by an update"),
    )
    label_column = "title"
