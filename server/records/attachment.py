"""DOC"""

from server.fields.number import Uint
from server.fields.structure import References
from server.fields.text import Text
from server.fields.time import Timestamp
from server.records.base import Access, Expand, Key, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.links import TypeFilter
from server.search.filters.number import BytesFilter, NumberFilter
from server.search.filters.text import AllWords, TextFilter
from server.search.filters.ways import Own


class Attachment(RecordType):
    """DOC"""

    uri, context = "attachment", "svc.contexts.attachment"
    aliases = ("attachments", "file", "files")
    label_names = ("Attachment", "Attachments")
    features = frozenset(("comments", "custom_fields", "links", "search",))
    access = Access(
        read="any worker",
        create="priv",
        update="admin",
        delete="admin",
    )
    fields = {
        "attach": References("Array of record references to attach to; a `-` prefix detaches."),
        "content": Text("File body: plain text, or base64 as a data URI for binary.", 4294967295, shown=False),
        "mime_type": Text("MIME type. With `application/vnd.svc.uri`, `content` is the URI of an automation resource to copy.", default="application/octet-stream"),
        "name": Text("File name; also the label.", required=True),
        "size": Uint("Bytes stored; kept by the service.", immutable=True),
        "storage_extension": Text("Storage back end; kept by the service.", immutable=True),
        "storage_key": Text("Storage key; kept by the service.", immutable=True),
        "updated": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
    }
    keys = (
        Key("storage_sha1hash", "text", "SHA-1 of the content."),
        Key("url_download", "url", "Download address in the web interface (the API path is /rest/attachments/<id>/download.json)."),
    )
    expands = (
        Expand("on", "records", "Records it is attached to, array of {_context, id}; `on.<uri>` limits to a type, `on:<key>` loads a key on each.", LOADER),
    )
    filters = (
        AllWords("Bare words match `name`.", "name", "prefix"),
        DeepFilter("bundle", "In a matching file bundle.", "file_bundle", Own()),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("mimetype", "MIME type.", "mime_type", "exact"),
        TextFilter("name", "File name.", "name", "exact"),
        TypeFilter("on", "Attached to records of these types; any/none as values.", "on"),
        BytesFilter("size", "Takes size units: >200kb, 1MB, 1KB...2KB.", "size"),
        TextFilter("storage.extension", "Storage back end.", "storage_extension", "exact"),
        DateFilter("updated", "Last change.", "updated"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links", "mimetype", "name", "storage.extension"),
    )
