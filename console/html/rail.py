"""The rail beside every page: the worker's lists with their numbers, then people, organizations and the team; and the
bar of a phone."""

from collections.abc import Iterable, Sequence

from console.http import navigation, ticket_lists
from console.http.navigation import NavigationItem
from console.http.ticket_lists import TicketList, TicketLists
from console.http.visit import Visit
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.people import project_boards, workspace_pages
from server.search.query_texts import sorted_query
from server.translation import N_, Words, shown

INBOX, GROUPS, SAVED, CUSTOMERS, TEAM = N_("Inbox"), N_("Groups"), N_("Saved"), N_("Customers"), N_("Team")
PAGES = N_("Pages")
MANAGE = N_("Manage")
FOLDED = (GROUPS, SAVED, PAGES)  # long sections
MAX_SHOWN = 5  # entries of a long section; a summary has the others
DRAFTS = "drafts"  # the name of the number of drafts


@dataclass(frozen=True, slots=True)
class RailEntry:
    """An entry. state: its aria-current: `page`, `true` for a page below it, or "". name: of its number; count: None if
    it is not known."""

    path: str
    label: str
    icon: str
    state: str = ""
    name: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class RailSection:
    """A section. heading: "" for the first one."""

    heading: Words
    entries: Sequence[RailEntry]
    is_open: bool

    @property
    def key(self) -> str:
        """Its name in the cookie of the closed sections."""
        return _key(self.heading)

    @property
    def first(self) -> Sequence[RailEntry]:
        """The entries that are always shown."""
        return self.entries[:MAX_SHOWN] if self.heading in FOLDED else self.entries

    @property
    def more(self) -> Sequence[RailEntry]:
        """The remaining entries, shown when a worker opens "3 more"."""
        return self.entries[len(self.first) :]

    @property
    def shows_more(self) -> bool:
        """Whether the current page is among the others."""
        return any(each.state for each in self.more)


@dataclass(frozen=True, slots=True)
class Rail:
    """at: the cursor of the changes that its numbers include. is_stale: whether a number is missing or old."""

    sections: Sequence[RailSection]
    at: int
    is_stale: bool


def rail(visit: Visit) -> Rail:
    """The rail of a page. Closed sections are named by a cookie that scripts set; the one with the page that is shown
    is always open."""
    lists = _read_lists(visit)
    current = _current_list(visit, lists)
    custom = navigation.custom_types(visit.service.registry.custom)
    led = navigation.led_by(visit.actor)
    place = _current_place(visit.path, custom, led)
    drafts = RailEntry(
        navigation.DRAFTS.path,
        shown(navigation.DRAFTS.label),
        navigation.DRAFTS.icon,
        _state(visit, place, navigation.DRAFTS.path),
        DRAFTS,
        lists.drafts,
    )
    team = [
        navigation.TASKS,
        *([navigation.ARTICLES] if lists.has_articles else []),
        navigation.SETTINGS,
    ]
    sections = (
        ("", _places(visit, place, [navigation.COMPOSE, navigation.START])),
        (INBOX, [*_lists(visit, lists.standard, current), drafts]),
        (GROUPS, _lists(visit, lists.groups, current)),
        (SAVED, _lists(visit, lists.saved, current)),
        (PAGES, _pages(visit)),
        (CUSTOMERS, _places(visit, place, [navigation.PEOPLE, navigation.ORGANIZATIONS, *custom])),
        (TEAM, _places(visit, place, team)),
        (MANAGE, _places(visit, place, led)),
    )
    closed = visit.closed_groups
    return Rail(
        [
            RailSection(heading, entries, _key(heading) not in closed or any(each.state for each in entries))
            for heading, entries in sections
            if entries
        ],
        lists.at,
        lists.is_stale,
    )


def _read_lists(visit: Visit) -> TicketLists:
    """The lists with their numbers; without them if counting fails, since the page of the error has a rail as well."""
    try:
        is_inbox = visit.path == ticket_lists.PATH
        return ticket_lists.read(visit.ctx, counts_late=is_inbox, counts_saved=is_inbox)
    except HelpdeskError:
        return ticket_lists.uncounted()


def _pages(visit: Visit) -> list[RailEntry]:
    """The workspace pages for the worker, and boards; none on the page of an error that prevents reading them."""
    try:
        pages, boards = workspace_pages.of_worker(visit.ctx), project_boards.offered(visit.ctx)
    except HelpdeskError:
        return []
    return [
        RailEntry(
            path,
            label,
            icon,
            "page" if visit.path == path else "true" if visit.path.startswith(f"{path}/") else "",
        )
        for path, label, icon in (
            *((each.path, each.label, "chart") for each in pages),
            *((each.path, each.label, "columns") for each in boards),
        )
    ]


def bar(visit: Visit) -> list[RailEntry]:
    """The bar of a phone."""
    place = _current_place(visit.path)
    is_ticket = visit.path.startswith("/tickets/")
    return _places(visit, navigation.INBOX.path if is_ticket else place, navigation.BAR)


def settings_group(visit: Visit) -> Words:
    """The group of the settings that a page is in; "" for all other pages."""
    place = navigation.place_of(visit.path)
    return place.group if place is not None else ""


def _current_place(path: str, custom: Sequence[NavigationItem] = (), led: Sequence[NavigationItem] = ()) -> str:
    """Returns the path of the entry that a page belongs to. Pages of the settings belong to the entry of the settings,
    except those that the rail has. led: pages of the settings that the rail has."""
    place = navigation.place_of(path, custom)
    if place is None:
        return ""
    is_behind = place.group and place.path not in {each.path for each in led}
    return navigation.SETTINGS.path if is_behind else place.path


def _current_list(visit: Visit, lists: TicketLists) -> str:
    """The name of the list that a page shows, or that its ticket was opened from."""
    if visit.path == ticket_lists.PATH:
        name = visit.query.text("v", "")
        is_known = name.startswith(f"{ticket_lists.GROUP}.") or name in {each.name for each in lists.all}
        return name if is_known else ticket_lists.FIRST
    if not visit.path.startswith("/tickets/"):
        return ""
    searched = visit.query.text("in", "")
    queries = {sorted_query(ticket_lists.SORT, "", each.query): each.name for each in reversed(lists.all)}
    return queries.get(searched, "")


def _lists(visit: Visit, lists: Iterable[TicketList], current: str) -> list[RailEntry]:
    state = "page" if visit.path == ticket_lists.PATH else "true"
    return [
        RailEntry(each.path, each.label, each.icon, state if each.name == current else "", each.name, each.count)
        for each in lists
    ]


def _places(visit: Visit, current: str, places: Iterable[NavigationItem]) -> list[RailEntry]:
    return [RailEntry(each.path, shown(each.label), each.icon, _state(visit, current, each.path)) for each in places]


def _state(visit: Visit, current: str, path: str) -> str:
    if path != current:
        return ""
    return "page" if visit.path == path else "true"


def _key(heading: Words) -> str:
    return heading.lower().replace(" ", "-")
