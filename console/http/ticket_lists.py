"""The lists of tickets that every worker has: standard ones, those of groups, and saved searches; with the number of
tickets in each. The rail shows them beside every page."""

from dataclasses import replace
from urllib.parse import urlencode

from server.context import Context
from server.dataclass import dataclass
from server.people import saved_searches
from server.tickets import list_counts, passing_counts
from server.translation import N_, shown

PATH, URI = "/inbox", "ticket"
SORT = "-updated"
FIRST, LATE = "mine", "late"
GROUP, SAVED = "group", "saved"  # what the names of these lists begin with


@dataclass(frozen=True, slots=True)
class TicketList:
    """A list of tickets. name: the parameter `v` of the inbox. count: of its tickets, None if it is not counted."""

    name: str
    label: str
    icon: str
    query: str
    count: int | None = None

    @property
    def path(self) -> str:
        return f"{PATH}?{urlencode({'v': self.name})}"


@dataclass(frozen=True, slots=True)
class TicketLists:
    """The lists of a worker. at: the cursor of the changes that their numbers include. drafts: the number of the
    worker's drafts, None if it is not known. has_articles: whether there are help articles. is_stale: whether a number
    is missing or old."""

    standard: list[TicketList]
    groups: list[TicketList]
    saved: list[TicketList]
    at: int
    drafts: int | None
    has_articles: bool
    is_stale: bool

    @property
    def all(self) -> list[TicketList]:
        return [*self.standard, *self.groups, *self.saved]


STANDARD = {
    each.name: each
    for each in (
        TicketList(FIRST, N_("My open"), "ticket", "status:open owner.id:me"),
        TicketList("waiting", N_("My waiting"), "clock", "status:waiting owner.id:me"),
        TicketList("unassigned", N_("Unassigned"), "inbox", "status:open owner.id:none"),
        TicketList("all-waiting", N_("Waiting"), "clock", "status:waiting"),
        TicketList("open", N_("All open"), "list", "status:open"),
        TicketList(LATE, N_("Overdue"), "bell", "due:<now"),  # shown if there are service targets
    )
}


def read(ctx: Context, *, counts_late: bool = False, counts_saved: bool = False) -> TicketLists:
    """Returns the lists of the caller. counts_late, counts_saved: whether overdue tickets and saved searches are
    counted now; if not, they have their last number."""
    counts = list_counts.read(ctx)
    team = counts.team
    numbers: dict[str, int | None] = {
        FIRST: counts.open,
        "waiting": counts.waiting,
        "unassigned": team.unassigned,
        "all-waiting": team.waiting,
        "open": team.open,
    }
    is_stale = False

    def number(query: str, is_counted: bool, is_shared: bool = False) -> int | None:
        nonlocal is_stale
        read = passing_counts.count if is_counted else passing_counts.recall
        count, is_old = read(ctx, query, team.at, is_shared=is_shared)
        is_stale = is_stale or is_old
        return count

    if team.has_targets:
        numbers[LATE] = number(STANDARD[LATE].query, counts_late, is_shared=True)
    standard = [
        replace(each, label=shown(each.label), count=numbers[name])
        for name, each in STANDARD.items()
        if name in numbers
    ]
    groups = [of_group(id, name, count) for id, (name, count) in team.groups.items()]
    searches = [replace(each, count=number(each.query, counts_saved)) for each in saved(ctx)]
    return TicketLists(standard, groups, searches, team.at, counts.drafts, team.has_articles, is_stale)


def uncounted() -> TicketLists:
    """Returns the standard lists without numbers, for the page of an error that prevents counting."""
    standard = [replace(each, label=shown(each.label)) for name, each in STANDARD.items() if name != LATE]
    return TicketLists(standard, [], [], at=0, drafts=None, has_articles=False, is_stale=True)


def of_group(id: int | str, label: str, count: int | None = None) -> TicketList:
    """Returns the list of a group."""
    return TicketList(f"{GROUP}.{id}", label, "group", f"status:open group.id:{id}", count)


def saved(ctx: Context) -> list[TicketList]:
    """Returns the saved searches for tickets that the caller may use."""
    return [
        TicketList(f"{SAVED}.{each.id}", each.label, "search", each.query) for each in saved_searches.of_type(ctx, URI)
    ]
