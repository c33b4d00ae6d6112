"""The archive with the data of a customer: contents, limits, and one download at a time."""

import io
import json
import re
import socket
import zipfile
from email.message import EmailMessage

import pytest

from tests.help_center.customers.conftest import HOST, Customer, Desk

DOWNLOAD = "/your-data/download"


@pytest.fixture(scope="module")
def ann(desk: Desk) -> Customer:
    """A customer with a contact and a ticket with files."""
    sent = received(desk, "ann@kite.example", "Pump & <b>valve</b>", {"../../évil.txt": b"mine", "CON": b"device"})
    address = desk.api.found("address", "ann@kite.example")[0]
    desk.api.create("contact", first_name="Ann", last_name="=1+1", email_id=address).ok()
    desk.ids["pump"] = sent
    return desk.signed_in("ann@kite.example")


def received(desk: Desk, sender: str, subject: str, files: dict[str, bytes], **headers: str) -> dict[str, object]:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "support@desk.example", subject
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content("It <drips>.\n\n> quoted\n")
    for name, content in files.items():
        message.add_attachment(content, "application", "octet-stream", filename=name)
    return dict(desk.api.record("ticket", desk.api.parse(message.as_bytes()).ok()["id"]).ok().json)


def archive(customer: Customer, path: str = DOWNLOAD) -> zipfile.ZipFile:
    page = customer.post(path)
    assert page.status_code == 200, page.text[:500]
    assert page.headers["Content-Type"] == "application/zip" and page.headers["Cache-Control"] == "no-store"
    assert page.headers["Content-Disposition"] == 'attachment; filename="your-data.zip"'
    found = zipfile.ZipFile(io.BytesIO(page.content))
    assert found.testzip() is None
    return found


def test_an_archive_has_the_contact_the_tickets_and_the_own_files(desk, ann):
    ticket, api = desk.ids["pump"], desk.api
    secret = api.create("comment", comment="Internal words", target__context="ticket", target_id=ticket["id"])
    assert secret.status == 200, secret.response.text
    values = {"fields[name]": "offer.pdf", "fields[mime_type]": "application/pdf"}
    path = "/rest/records/attachment/create.json"
    file = api.call("POST", path, data=values, files={"fields[content]": b"theirs"}).ok()["id"]
    desk.answer(ticket, "Turn it off.", **{"file_id[]": [file]})
    desk.mail()
    received(desk, "eve@evil.example", "Not hers", {"eve.txt": b"eve's"})
    found = archive(ann)
    names = found.namelist()
    folder = f"requests/{ticket['mask']}"
    assert {"index.html", "person.json", f"{folder}/request.html", f"{folder}/request.json"} <= set(names)
    assert all(re.fullmatch(r"[^/\\]+(/[^/\\]+)*", each) and ".." not in each.split("/") for each in names), names
    person = json.loads(found.read("person.json"))["person"]
    assert person["emails"] == ["ann@kite.example"] and person["last_name"] == "=1+1"

    request = json.loads(found.read(f"{folder}/request.json"))
    first, reply = request["messages"]
    assert (request["subject"], first["from"]) == ("Pump & <b>valve</b>", "ann@kite.example")
    assert "It <drips>." in first["text"] and "Turn it off." in reply["text"]
    own = {each["name"]: found.read(each["path"]) for each in first["files"]}
    assert sorted(own.values()) == [b"device", b"mine"] and "évil.txt" in own
    assert all(each["path"].startswith(f"{folder}/files/") for each in first["files"])
    assert [each["path"] for each in reply["files"]] == [""], "files of the team stay on the page"

    page = found.read(f"{folder}/request.html").decode()
    assert "Pump &amp; &lt;b&gt;valve&lt;/b&gt;" in page and "It &lt;drips&gt;." in page and "<script" not in page
    links = re.findall(r'href="(files/[^"]+)"', page)
    assert len(links) == 2
    index = found.read("index.html").decode()
    assert f'href="{folder}/request.html"' in index and "default-src &#39;none&#39;" not in index
    everything = b"".join(found.read(each) for each in names)
    for private in (b"Internal words", b"eve's", b"Not hers", b"theirs"):
        assert private not in everything


def test_an_archive_has_all_messages_of_a_long_ticket_in_their_order(desk):
    ticket = received(desk, "long@kite.example", "Long", {})
    for number in range(24):
        received(desk, "long@kite.example", f"Re: [#{ticket['mask']}] part {number}", {f"{number}.txt": b"%d" % number})
    assert desk.api.record("ticket", ticket["id"], expand="num_messages").ok()
    found = archive(desk.signed_in("long@kite.example"))
    request = json.loads(found.read(f"requests/{ticket['mask']}/request.json"))
    names = [file["name"] for each in request["messages"] for file in each["files"]]
    assert names == [f"{number}.txt" for number in range(24)]


def test_an_archive_is_in_the_language_of_the_page(desk, ann):
    index = archive(ann, f"/de{DOWNLOAD}").read("index.html").decode()
    assert '<html lang="de" dir="ltr">' in index


def test_one_download_at_a_time_and_ten_in_ten_minutes(desk):
    received(desk, "big@kite.example", "Big", {f"{number}.bin": bytes(range(256)) * 16384 for number in range(4)})
    big = desk.signed_in("big@kite.example")
    token = big.token()
    with socket.create_connection((big.url.rpartition("/")[2].split(":")[0], int(big.url.rpartition(":")[2]))) as first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        body = f"token={token}".encode()
        cookies = "; ".join(f"{name}={value}" for name, value in big.cookies.items())
        head = (
            f"POST {DOWNLOAD} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookies}\r\nContent-Length: {len(body)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        )
        first.sendall(head.encode() + body)
        assert first.recv(12) == b"HTTP/1.1 200"
        busy = big.post(DOWNLOAD)
        assert busy.status_code == 429 and busy.headers["Retry-After"] == "60"
        assert "is being downloaded already" in busy.text and 'name="token"' in busy.text
        assert archive(desk.signed_in("ann@kite.example")), "others can"
    while big.post(DOWNLOAD).status_code != 200:  # the service notices a closed connection a moment later
        pass
    received(desk, "small@kite.example", "Small", {})
    small = desk.signed_in("small@kite.example")
    statuses = []
    while len(statuses) < 10:
        status = small.post(DOWNLOAD).status_code
        if status == 200:
            statuses.append(status)
    assert "downloaded several times" in small.post(DOWNLOAD).text
