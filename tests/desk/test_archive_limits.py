"""The archive with the data of a customer is written in small pieces, and its files have a limit."""

import io
import tracemalloc
import zipfile
from email.message import EmailMessage
from typing import Any

import pytest

from server import mailroom
from server.help_center.customers import customer_sessions, data_archive
from server.help_center.customers.customers import SignedInCustomer
from server.record_types.shared import brands
from server.records import records
from tests.desk.conftest import Post

EMAIL = "ann@kite.example"
MEGABYTE = 1024 * 1024


@pytest.fixture
def customer(desk: Post) -> SignedInCustomer:
    """A customer with a ticket that has 24 MB of files."""
    records.create(desk.context(desk.nora), "brand", {"name": "Kite", "is_public": "1", "has_requests": "1"})
    service, now = desk.service, desk.context().now
    for number in range(3):
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = EMAIL, "support@desk.example", f"Files {number}"
        message.set_content("See the files.")
        for place in range(2):
            content = bytes((number * 2 + place,)) * (4 * MEGABYTE)
            message.add_attachment(content, "application", "octet-stream", filename=f"{place}.bin")
        mailroom.receive(desk.context(), message.as_bytes())
    brand = service.store.read(brands.all_brands)[0]
    address = desk.one("address", email=EMAIL)["id"]
    id = service.store.write(lambda tx: customer_sessions.create(tx, address, EMAIL, brand.id, now))
    session = customer_sessions.check(service, id, brand, now)
    assert session is not None
    return session.customer


def html(part: str, **values: Any) -> str:
    return f"{part} {values.get('left_out', '')}"


@pytest.mark.exhaustive("a large archive")
def test_no_more_than_a_few_pieces_are_in_memory(desk: Post, customer: SignedInCustomer) -> None:
    archive = data_archive.begin(desk.service, customer, desk.context().now, html)
    tracemalloc.start()
    try:
        sizes = [len(piece) for piece in archive.pieces()]
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert max(sizes) < 3 * data_archive.PIECE_BYTES
    assert most < 6 * MEGABYTE, "24 MB of files went through"


def test_files_beyond_the_limit_are_named(
    desk: Post, customer: SignedInCustomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_archive, "MAX_FILE_BYTES", 9 * MEGABYTE)
    archive = data_archive.begin(desk.service, customer, desk.context().now, html)
    found = zipfile.ZipFile(io.BytesIO(b"".join(archive.pieces())))
    files = [each for each in found.infolist() if "/files/" in each.filename]
    assert [each.file_size for each in files] == [4 * MEGABYTE] * 2
    index = found.read("index.html").decode()
    assert index.count(".bin") == 4, index
