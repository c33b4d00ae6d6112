"""Writes the data of a customer as a ZIP archive while it is sent: the contact, the tickets with their public messages
as JSON and HTML, and the customer's own files.

A few messages and one piece of a file are in memory at a time. Each is read in its own snapshot."""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

from server.access import lockout
from server.access.service_actor import own_context
from server.clock import utc_text
from server.context import Service
from server.errors import TooMany
from server.file_names import safe_name
from server.help_center.customers import customer_data, customer_requests, public_conversation
from server.help_center.customers.customer_requests import OwnRequest
from server.help_center.customers.customers import SignedInCustomer
from server.help_center.customers.public_conversation import PublicMessage
from server.records import stored_files
from server.records.stored_files import StoredFile
from server.translation import lazy_gettext

MAX_FILE_BYTES = 500 * 1024 * 1024  # all files of an archive together; the index names further files
PIECE_BYTES = 256 * 1024
BUSY_SECONDS = 60  # value of Retry-After
EARLIEST = 315532800  # 1980, the first year of ZIP

Html = Callable[..., str]  # html(part, **values): a part of a page of the archive

_RUNNING: "WeakValueDictionary[tuple[int, int], DataArchive]" = WeakValueDictionary()
_LOCK = threading.Lock()


def begin(service: Service, customer: SignedInCustomer, now: int, html: Html) -> "DataArchive":
    """Returns the archive of a customer. Raises TooMany while another one is being sent to them from this process, and
    after several ones. html: renders the parts `index`, `begin`, `message` and `end` of its pages."""
    archive = DataArchive(service, customer, now, html)
    with _LOCK:
        if _RUNNING.setdefault((id(service), customer.address_id), archive) is not archive:
            raise TooMany(
                lazy_gettext("Your data is being downloaded already. Wait until that is complete."),
                retry_after=BUSY_SECONDS,
            )
    key = f"customer data:{customer.address_id}"
    if not service.store.write(lambda tx: lockout.has_left(tx, key, now)):
        raise TooMany(
            lazy_gettext("Your data was downloaded several times. Try again in ten minutes."),
            retry_after=lockout.WINDOW_SECONDS,
        )
    return archive


class _Sink(io.RawIOBase):
    """A file for a ZIP archive that only grows. Its content is taken away piece by piece."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._parts.append(bytes(content))
        self.size += len(content)
        return len(content)

    def take(self) -> bytes:
        content = b"".join(self._parts)
        self._parts, self.size = [], 0
        return content


class DataArchive:
    """An archive that is being sent."""

    def __init__(self, service: Service, customer: SignedInCustomer, now: int, html: Html) -> None:
        self._service, self._customer, self._now, self._html = service, customer, now, html
        self._room = MAX_FILE_BYTES
        self._left_out: list[tuple[str, str]] = []  # number of the ticket, name of the file
        self._paths: dict[int, str] = {}  # paths in the archive by file id, for the present ticket

    def pieces(self) -> Iterator[bytes]:
        """Yields the bytes of the archive."""
        sink = _Sink()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for _step in self._steps(archive):
                if sink.size >= PIECE_BYTES:
                    yield sink.take()
        yield sink.take()

    def _steps(self, archive: zipfile.ZipFile) -> Iterator[None]:
        person, requests = customer_data.person_and_requests(self._service, self._customer, self._now)
        document = {"created": utc_text(self._now), "person": person}
        archive.writestr(_entry("person.json", self._now), json.dumps(document, ensure_ascii=False, indent=2))
        for each in requests:
            yield from self._request(archive, each)
        index = self._html(
            "index",
            person=person,
            requests=[(each, f"{_folder(each)}/request.html") for each in requests],
            left_out=self._left_out,
            is_complete=len(requests) < customer_requests.MAX_LISTED,
        )
        archive.writestr(_entry("index.html", self._now), index)
        yield

    def _request(self, archive: zipfile.ZipFile, request: OwnRequest) -> Iterator[None]:
        """Writes a ticket: its JSON, its page, and the files of the customer."""
        folder = _folder(request)
        self._paths = {}
        files: dict[int, StoredFile] = {}
        facts = {
            "number": request.mask,
            "subject": request.subject,
            "status": customer_requests.STATE_NAMES[request.status_id],
            "created": utc_text(request.created),
            "updated": utc_text(request.updated),
        }
        with archive.open(_entry(f"{folder}/request.json", request.updated), "w") as entry:
            entry.write((json.dumps(facts, ensure_ascii=False)[:-1] + ', "messages": [').encode())
            mark = "\n"
            for messages in self._pages(request):
                for each in messages:
                    files |= self._place_files(request, folder, each)
                    entry.write((mark + json.dumps(self._message(each), ensure_ascii=False)).encode())
                    mark = ",\n"
                yield
            entry.write(b"\n]}\n")
        with archive.open(_entry(f"{folder}/request.html", request.updated), "w") as entry:
            entry.write(
                self._html(
                    "begin", request=request, facts=facts, state=customer_requests.WORDS[request.status_id]
                ).encode()
            )
            for messages in self._pages(request):
                for each in messages:
                    entry.write(self._html("message", message=self._message(each), folder=folder).encode())
                yield
            entry.write(self._html("end").encode())
        for file in files.values():
            yield from self._file(archive, file)

    def _pages(self, request: OwnRequest) -> Iterator[list[PublicMessage]]:
        return public_conversation.pages(self._service, self._customer, request.id)

    def _place_files(self, request: OwnRequest, folder: str, message: PublicMessage) -> dict[int, StoredFile]:
        """Returns the files of a message that the archive gets, by id: those that the customer sent, as long as they
        fit."""
        placed: dict[int, StoredFile] = {}
        for file in message.files if message.is_own else ():
            if file.id in self._paths:
                continue
            if file.size > self._room:
                self._left_out.append((request.mask, file.name))
                continue
            self._room -= file.size
            self._paths[file.id] = f"{folder}/files/{file.id}-{safe_name(file.name) or 'file'}"
            placed[file.id] = file
        return placed

    def _message(self, message: PublicMessage) -> dict[str, Any]:
        return {
            "at": utc_text(message.at),
            "from": self._customer.email if message.is_own else message.who,
            "text": "\n".join(text for _kind, text in message.parts),
            "files": [
                {"name": file.name, "bytes": file.size, "path": self._paths.get(file.id, "")} for file in message.files
            ],
        }

    def _file(self, archive: zipfile.ZipFile, file: StoredFile) -> Iterator[None]:
        ctx = own_context(self._service, self._now)
        with archive.open(_entry(self._paths[file.id], file.updated), "w") as entry:
            for piece in stored_files.pieces(ctx, file, 0, file.size):
                entry.write(piece)
                yield


def _folder(request: OwnRequest) -> str:
    """The folder of a ticket: its number, which may come from another helpdesk and is not trusted."""
    return f"requests/{safe_name(request.mask.replace('/', '-')) or f'id-{request.id}'}"


def _entry(path: str, seconds: int) -> zipfile.ZipInfo:
    moment = datetime.fromtimestamp(max(seconds, EARLIEST), UTC)
    entry = zipfile.ZipInfo(path, moment.timetuple()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry
