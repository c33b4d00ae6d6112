"""The pages of the records of one type, from one declaration: the list, the forms of a new record and of one that
exists, and what creates, saves and deletes one. A page says what is particular to it by hooks."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from console.forms.record_form import OpenForm, RecordForm
from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import SMALL_FORM_BYTES, Access, page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.worklist import Worklist
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.records import records
from server.translation import N_, Words, _

Done = Callable[[Visit, OpenForm, dict[str, Any]], PageResponse]


@dataclass(frozen=True)
class RecordPages:
    """The declaration of the pages of a record type: list, new, create, show, save and delete.

    base: the path of the list. one: of a record, `<base>/{id}` by default. form: of a record, or a function that opens
    it; new_form: of a new record, if that is different. show: the template of a form, or a function that renders it;
    show_new: that of a new record, if that is different. instead: a page in place of a form, or of storing it;
    None to go on.

    records: the list, None if another page has it. access: needed for the forms; list_access: for the list. form_bytes:
    as for `page`. takes_up: whether a form offers an unsaved draft. first: initial values of a new record.

    fill: adds values of no field to an opened form. more: values to store besides the fields. hold: a page to show
    before anything is stored, None to go on. after_create, after_save: the response afterwards; by default the texts
    `created` and `saved` are shown on the list, or on the record if it stays_open, or on the page that `leave` names.
    deleted: the text after a deletion, "" for pages without deletion. switched_off: the text after a record was
    disabled, "" for pages without a switch. back: the path of the list if another page has it. has_new: whether it
    declares the pages of a new record."""

    base: str
    form: RecordForm | Callable[[Visit, int], OpenForm]
    show: str | Callable[[Visit, OpenForm], PageResponse]
    records: Worklist | None = None
    access: Access = "admin"
    list_access: Access = "admin"
    form_bytes: int = SMALL_FORM_BYTES
    takes_up: bool = False
    first: Mapping[str, str] = field(default_factory=dict)
    new_form: RecordForm | None = None
    show_new: str | Callable[[Visit, OpenForm], PageResponse] = ""
    instead: Callable[[Visit], PageResponse | None] = lambda visit: None
    fill: Callable[[Visit, OpenForm], OpenForm] = lambda visit, fields: fields
    more: Callable[[Visit, OpenForm, Form], dict[str, Any]] = lambda visit, fields, form: {}
    hold: Callable[[Visit, OpenForm], PageResponse | None] = lambda visit, fields: None
    after_create: Done | None = None
    after_save: Done | None = None
    switched_off: Words = ""
    created: Words = N_("{name} created.")
    saved: Words = N_("{name} saved.")
    deleted: Words = N_("{name} deleted.")
    stays_open: bool = False
    leave: Callable[[Visit, dict[str, Any]], str] | None = None
    one: str = ""
    back: str = ""
    has_new: bool = True

    # -- what each page does -------------------------------------------------------------------------------------------

    def open(self, visit: Visit, id: int = 0) -> OpenForm:
        """The form of a new record, or of one. Raises NotFound, Forbidden."""
        form = self.form if id or self.new_form is None else self.new_form
        fields = form.open(visit, id) if isinstance(form, RecordForm) else form(visit, id)
        return self.fill(visit, fields if id else fields.fill(**self.first))

    def shown(self, visit: Visit, fields: OpenForm) -> PageResponse:
        """The page with a form."""
        show = (not fields.id and self.show_new) or self.show
        return fields.render(show) if isinstance(show, str) else show(visit, fields)

    def show_list(self, visit: Visit) -> PageResponse:
        assert self.records is not None
        return worklist.page(visit, self.records)

    def show_one(self, visit: Visit) -> PageResponse:
        """The form of the record in the path, or of a new one."""
        fields = self.open(visit, visit.record_id)
        return self.shown(visit, fields.take_up() if self.takes_up else fields)

    def store(self, visit: Visit) -> PageResponse:
        """Creates or changes the record of the submitted form, or shows the form with its mistakes."""
        fields = self.open(visit, visit.record_id)
        instead = self.hold(visit, fields)
        if instead is not None:
            return instead
        store = fields.update if fields.id else fields.create
        done = store(lambda form: self.more(visit, fields, form))
        if done is None:
            return self.shown(visit, fields)
        after = self.after_save if fields.id else self.after_create
        if after is not None:
            return after(visit, fields, done)
        values = {"name": done[lookup.LABEL], "label": done[lookup.LABEL], "id": done["id"]}
        if fields.id:
            fields.flash_saved(_(self.saved, **values))
        else:
            visit.flash(_(self.created, **values))
        return self._leave(visit, done)

    def switch(self, visit: Visit) -> PageResponse:
        """Disables or enables a record."""
        assert isinstance(self.form, RecordForm)
        record, is_off = lookup.record(visit, self.form.uri, visit.id), visit.form.flag("off")
        records.update(visit.ctx, self.form.uri, visit.id, {"is_disabled": "1" if is_off else "0"})
        text = self.switched_off if is_off else N_("{name} switched on.")
        visit.flash(_(text, name=record["name"]), visit.path, off="0" if is_off else "1")
        return self._leave(visit, record)

    def _leave(self, visit: Visit, record: dict[str, Any], *, is_gone: bool = False) -> PageResponse:
        """The page after a record was changed."""
        if self.leave is not None:
            return see(self.leave(visit, record))
        stays = self.stays_open and not is_gone
        return see(f"{self.base}/{record['id']}" if stays else self.back or self.base)

    def delete(self, visit: Visit) -> PageResponse:
        """Deletes a record; an error is shown on its form."""
        assert isinstance(self.form, RecordForm)
        uri = self.form.uri
        record = records.retrieve(visit.ctx, uri, visit.id, lookup.LABEL)
        try:
            records.delete(visit.ctx, uri, visit.id)
        except HelpdeskError as error:
            return self.shown(visit, self.open(visit, visit.id).refuse(error))
        visit.flash(_(self.deleted, name=record[lookup.LABEL]))
        return self._leave(visit, record, is_gone=True)


def declare_pages(pages: RecordPages) -> RecordPages:
    """Declares the pages."""
    new, one = f"{pages.base}/new", pages.one or f"{pages.base}/{{id}}"

    def unless_instead(show: Callable[[Visit], PageResponse]) -> Callable[[Visit], PageResponse]:
        return lambda visit: pages.instead(visit) or show(visit)

    if pages.records is not None:
        page("GET", pages.base, pages.list_access)(pages.show_list)
    show_one, store = unless_instead(pages.show_one), unless_instead(pages.store)
    if pages.has_new:
        page("GET", new, pages.access)(show_one)
        page("POST", new, pages.access, form_bytes=pages.form_bytes, creates=True)(store)
    page("GET", one, pages.access)(show_one)
    page("POST", one, pages.access, form_bytes=pages.form_bytes)(store)
    if pages.switched_off:
        page("POST", f"{one}/switch", pages.access)(pages.switch)
    if pages.deleted:
        page("POST", f"{one}/delete", pages.access)(pages.delete)
    return pages
