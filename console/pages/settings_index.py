"""The settings: every page of administration that a worker may open, in groups, with a line about each."""

from collections.abc import Mapping

from console.html.rendering import render
from console.html.ui import Sample
from console.http import navigation
from console.http.navigation import NavigationItem
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.dataclass import dataclass
from server.help import synonyms
from server.translation import N_, Words, shown


@dataclass(frozen=True)
class SettingsEntry:
    """A page of the settings. words: all that a search for it may contain, in lower case."""

    place: NavigationItem
    words: str
    is_found: bool


@page("GET", navigation.SETTINGS.path)
def show(visit: Visit) -> PageResponse:
    """The pages whose names or descriptions have every word of `q`, or synonyms of them; all pages without it."""
    places = navigation.settings_of(visit.actor)
    return show_places(visit, places, N_("Settings"), N_("Filter settings"))


def show_places(
    visit: Visit, groups: Mapping[Words, list[NavigationItem]], title: Words, label: Words, sample: Sample | None = None
) -> PageResponse:
    """A page of groups of places, filtered by `q`. label: of the filter. sample: a request that returns them."""
    q = visit.query.text("q", "").strip()
    queries = [each.lower().split() for each in (q, *(synonyms.rewordings(q) if q else ()))]
    entries = [(group, [_entry(each, queries) for each in places]) for group, places in groups.items() if places]
    return render(visit, "settings_index.html", q=q, groups=entries, title=title, label=label, sample=sample)


def _entry(place: NavigationItem, queries: list[list[str]]) -> SettingsEntry:
    texts = (place.label, place.words, place.about)
    words = " ".join(text.lower() for each in texts for text in dict.fromkeys((each, shown(each))))
    return SettingsEntry(place, words, any(all(word in words for word in query) for query in queries))
