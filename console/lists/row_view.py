"""A list of rows that are no records, as one visit sees it: the table of worklists, with filters of the list's own in
place of a search."""

from collections.abc import Iterator
from typing import Any

from console.html.form import Form
from console.html.ui import ChooserOptions, Option, Sample
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource
from console.lists.worklist import MAX_EXPORTED, PART, TableView, Worklist
from server.errors import Invalid, nearest
from server.records import records
from server.translation import _


class RowView(TableView):
    """The table of a list whose rows are not records, for one visit. page() builds it; templates read it."""

    def __init__(self, visit: Visit, listing: Worklist) -> None:
        super().__init__(visit, listing)
        assert listing.source is not None
        self.source: RowSource = listing.source
        self.form = Form()
        self.filters = {each.name: self._filter(each) for each in self.source.filters}
        self._require_sort()
        self.found = self._found()
        self.rows = self.found["results"]
        self.more = self.loaded(self.rows)

    @property
    def filter_names(self) -> tuple[str, ...]:
        return tuple(self.filters)

    @property
    def is_filtered(self) -> bool:
        return any(self.form.values.values())

    @property
    def searched(self) -> str:
        """The filter values, as an empty list quotes them."""
        return " ".join(text for text in self.form.values.values() if text)

    @property
    def cleared(self) -> str:
        return self.link(**dict.fromkeys(self.filters, ""))

    @property
    def sample(self) -> Sample | None:
        return self.source.sample

    @property
    def export_name(self) -> str:
        return self.of.uri

    @property
    def title(self) -> str:
        return self.of.uri

    def options(self, each: RowFilter) -> list[Option]:
        """The options of a filter."""
        return list(each.options(self.visit)) if each.options is not None else []

    def choosable(self, each: RowFilter) -> ChooserOptions:
        """The records to choose from in a filter."""
        return lookup.choosable(self.visit, each.uri, chosen=self.form.get(each.name))

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """All rows, PART at a time, at most MAX_EXPORTED. Raises Invalid for a filter that cannot be read."""
        for message in self.form.errors.values():
            raise Invalid(message)
        for page in range(1, MAX_EXPORTED // PART + 1):
            rows = [dict(row) for row in self._page(PART, page).rows]
            yield rows
            if len(rows) < PART:
                return

    def _filter(self, each: RowFilter) -> str:
        """Reads a filter from the address into the form, with the mistake in it. Raises Invalid for a value that is not
        one of its options."""
        text = self.visit.query.text(each.name, "").strip()
        self.form.values[each.name] = text
        if not each.uri:
            return _require_option(each.name, text, [value for value, _label in self.options(each)])
        try:
            id = lookup.chosen_id(self.visit, each.uri, text, each.name)
            self.form.values[each.name] = str(id or "")
            return self.form.values[each.name]
        except Invalid as error:
            self.form.refuse(error)
            return ""

    def _require_sort(self) -> None:
        sort_names = [each.sort for each in self.of.own if each.sort]
        name = self.sort.removeprefix("-")
        if name and name not in sort_names:
            raise Invalid(f"sort: this list cannot be sorted by '{name[:60]}'{nearest(name, sort_names)}", field="sort")

    def _found(self) -> dict[str, Any]:
        """The page that is asked for, the last one where that is too far; none where a filter cannot be read."""
        if self.form.is_wrong:
            return {"results": [], "total": 0, "page": 1}
        number = self.visit.query.integer("page", 1, 1, records.MAX_PAGE)
        rows = self._page(self.limit, number)
        if rows.total and not rows.rows and number > 1:  # rows were deleted meanwhile
            number = -(-rows.total // self.limit)
            rows = self._page(self.limit, number)
        return {"results": list(rows.rows), "total": rows.total, "page": number}

    def _page(self, limit: int, number: int) -> RowPage:
        return self.source.rows(self.visit, RowQuery(self.filters, self.sort or self.of.sort, limit, number))


def page(visit: Visit, listing: Worklist, template: str = "worklist.html", **values: Any) -> PageResponse:
    """The page of such a list, or the file in the format of the address. template: extends worklist.html. Raises
    Invalid for an unknown filter value, sort key or column."""
    view = RowView(visit, listing)
    return worklist.page_of(visit, view, template, view.form.status, **values)


def _require_option(name: str, text: str, options: list[str]) -> str:
    if text and text not in options:
        raise Invalid(
            _(
                "{name}: '{text}' is not a valid value{nearest}; use one of {known}",
                name=name,
                text=text[:60],
                nearest=nearest(text, options),
                known=", ".join(filter(None, options)),
            ),
            field=name,
        )
    return text
