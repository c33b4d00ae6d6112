"""The tags of a record on its page: shown, changed and restored by one form."""

from collections.abc import Sequence

from console.http.visit import Visit
from server.dataclass import dataclass
from server.records import record_tags
from server.translation import N_ngettext, ngettext

CHANGED = N_ngettext("Tags changed.", "Tags of {count} tickets changed.")


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tags of a record. path: where its form is sent. key: the key that opens it, "" for none. tags: name and
    color."""

    uri: str
    id: int
    path: str
    tags: Sequence[tuple[str, str]]
    key: str = ""


def tagged(visit: Visit, uri: str, id: int, path: str, key: str = "") -> Tagged:
    """Returns the tags of a record that the worker may read."""
    return Tagged(uri, id, path, record_tags.tags_of(visit.ctx, uri, [id]).get(id, ()), key)


def change(visit: Visit, uri: str, id: int) -> None:
    """Adds and removes the submitted tags, and offers an undo. Raises NotFound, Forbidden, Invalid."""
    form = visit.form
    before = record_tags.change_tags(visit.ctx, uri, id, form.text("tags", ""))
    undo = {"back": form.text("back", ""), "record": str(id), "tags": before["tag_names"]}
    visit.flash(ngettext(*CHANGED, 1), visit.path, **undo)
