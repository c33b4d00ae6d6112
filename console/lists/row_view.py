"""A list of rows that are no records, as one visit sees it: the table of worklists, with filters of the list's own in
place of a search."""

from typing import Any

from console.html.form import Form
from console.html.ui import ChooserOptions, Option
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.rows import RowFilter, RowQuery, RowSource
from console.lists.worklist import TableView, Worklist
from server.errors import Invalid, nearest
from server.translation import _


class RowView(TableView):
    """The table of a list whose rows are not records, for one visit. page() builds it; templates read it."""

    def __init__(self, visit: Visit, listing: Worklist) -> None:
        super().__init__(visit, listing, listing.uri)
        assert listing.source is not None
        self.source: RowSource = listing.source
        self.sample = listing.source.sample
        self.form = Form()
        self.filters = {each.name: self._filter(each) for each in self.source.filters}
        self.filter_names = tuple(self.filters)
        self.searched = " ".join(filter(None, self.form.values.values()))  # shown by an empty list
        self.is_filtered = bool(self.searched)
        self.cleared = self.link(**dict.fromkeys(self.filters, ""))
        self._require_sort()
        if self.form.is_wrong:
            self.error = Invalid(next(iter(self.form.errors.values())))
        self.show(lookup.requested_page(visit, self.read, self.limit) if self.error is None else lookup.EMPTY_PAGE)

    def read(self, limit: int, page: int) -> dict[str, Any]:
        query = RowQuery(self.filters, self.sort or self.of.sort, limit, page)
        rows = self.source.rows(self.visit, query)
        return {"results": [dict(each) for each in rows.rows], "total": rows.total, "page": page}

    def options(self, each: RowFilter) -> list[Option]:
        """The options of a filter."""
        return list(each.options(self.visit)) if each.options is not None else []

    def choosable(self, each: RowFilter) -> ChooserOptions:
        """The records to choose from in a filter."""
        return lookup.choosable(self.visit, each.uri, chosen=self.form.get(each.name))

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
