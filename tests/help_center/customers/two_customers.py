"""Two customers of one help center: Ann, who has something of everything, and Eve, who should see nothing of it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.help_center.customers.conftest import HOST, Customer, Desk, customer_desk, mail

SECRET = "zanzibar"  # in all texts, names and addresses of Ann
ANN, EVE = f"ann.{SECRET}@kite.example", "eve@evil.example"
CONFIRMATION = re.compile(rf"https://{HOST}/contact-confirm/([0-9.a-z-]+)")
RATING = re.compile(r"/rate/([a-z2-7-]+)/good")
PICTURE = f"""Content-Type: text/html; charset=utf-8

<table><tr><td style="color:red">{SECRET} in a table</td></tr></table><img src="data:image/png;base64,iVBORw0KGgo=">
"""


@dataclass
class World:
    """Ann, who has something of everything, and Eve, who tries it. names: {name in a path or form: its values}."""

    desk: Desk
    ann: Customer
    asking: Customer  # the browser in which Ann has asked for a second link
    eve: Customer
    eve_asking: Customer  # a browser in which Eve has asked for a link
    names: dict[str, list[str]] = field(default_factory=dict)
    own_pages: dict[str, str] = field(default_factory=dict)  # pages of Ann that must stay as they are

    def state(self) -> dict[str, Any]:
        """Everything of Ann: her pages, her links, and her records."""
        api, ticket = self.desk.api, self.desk.ids["ann"]
        pages = {name: _stable(self.ann.texts(path)) for name, path in self.own_pages.items()}
        pages["link"] = self.asking.texts(self.names["own link"][0])
        records = {
            "ticket": api.record("ticket", ticket["id"], expand="requester_emails").ok().json,
            "messages": api.search("message", f"ticket.id:{ticket['id']}").ok().json["results"],
            "rating": api.search("rating", f"ticket.id:{self.desk.ids['rated']['id']}").ok().json["results"],
            "address": api.search("address", f"email:{ANN}").ok().json["results"],
        }
        return pages | records


def _stable(page: str) -> str:
    """A page without what differs each time."""
    return re.sub(r'name="form" value="[^"]*"', "", page)


@contextmanager
def two_customers(folder: Path) -> Iterator[World]:
    env = {"HELPDESK_RATINGS": "all", "HELPDESK_RATING_DELAY_HOURS": "0", "HELPDESK_CONTACT_FORM_SECONDS": "0"}
    with customer_desk(folder, **env) as desk:
        yield _filled(desk)


def _filled(desk: Desk) -> World:
    api, ids = desk.api, desk.ids
    form = {"name": "Write", "brand_id": ids["brand"], "group_id": api.ids["support"], "is_on": 1, "slug": "write"}
    form_id = api.create("contact_form", confirms_address=1, has_files=1, **form).ok()["id"]
    ids["ann"] = desk.ticket(f"Ann {SECRET} <{ANN}>", subject=f"Pump {SECRET}", text=f"It leaks {SECRET}.")
    message = api.record("ticket", ids["ann"]["id"]).ok()["latest_message_id"]
    head = {"In_Reply_To": api.record("message", message, expand="headers").ok()["headers"]["message-id"]}
    with_file = mail(f"Ann {SECRET} <{ANN}>", **head, MIME_Version="1.0", Content_Type='multipart/mixed; boundary="b"')
    head_lines, _, _text = with_file.partition(b"\r\n\r\n")
    parts = (PICTURE, f'Content-Type: text/plain; name="{SECRET}.txt"\n\n{SECRET} file\n')
    body = "".join(f"--b\n{part}\n" for part in parts) + "--b--\n"
    api.parse(head_lines + b"\r\n\r\n" + body.replace("\n", "\r\n").encode()).ok()
    ids["rated"] = desk.ticket(f"Ann {SECRET} <{ANN}>", subject=f"Other {SECRET}")
    api.update("ticket", ids["rated"]["id"], status="closed", owner_id=api.ids["milo"]).ok()
    rating = _sought(desk, RATING)
    ids["eve"] = desk.ticket(f"Eve <{EVE}>", subject="Pump of Eve")
    ann, eve, asking = desk.signed_in(ANN), desk.signed_in(EVE), desk.browser()
    assert desk.ask(asking, ANN).status_code == 303
    link = desk.link()
    [sign_in_code] = re.findall(r"<strong>([A-Z2-9]{6})</strong>", desk.browser().texts(link))
    eve_asking = desk.browser()
    assert desk.ask(eve_asking, EVE).status_code == 303
    world = World(desk, ann, asking, eve, eve_asking)

    typed = {"name": f"Ann {SECRET}", "email": ANN, "subject": f"Form {SECRET}", "message": f"Typed {SECRET}"}
    page = ann.texts("/contact/write")
    file = [("files[]", (f"{SECRET}.png", b"x", "image/png"))]
    sent = ann.send("POST", "/contact/write", {"token": hidden(page, "token"), **typed}, file)
    assert sent.headers["Location"] == "/contact/write?sent=mail"
    confirmation = _sought(desk, CONFIRMATION)
    second = {"token": hidden(ann.texts("/contact/write"), "token"), **typed, "message": ""}
    refused = ann.send("POST", "/contact/write", second, file)
    upload = re.search(r'name="remove\[\]" value="([0-9a-f]+)"', refused.text)
    assert refused.status_code == 422 and upload is not None, refused.text

    mask, own = ids["ann"]["mask"], f"/requests/{ids['ann']['mask']}"
    shown = ann.texts(own)
    files = re.findall(rf"{own}/files/(\d+)/", shown)
    documents = re.findall(rf"{own}/messages/(\d+)", shown)
    assert files and documents and SECRET in ann.texts(f"{own}/messages/{documents[0]}")
    form_token = hidden(eve.texts("/contact/write"), "token")
    numbers = {message, *documents, *files, ids["ann"]["id"], ids["rated"]["id"], api.found("rating", "")[0], 1, 2}
    world.names = {
        "mask": [mask, ids["rated"]["mask"]],
        "id": sorted(map(str, numbers | {form_id})),
        "file": [*files, str(ids["ann"]["id"])],
        "slug": ["write"],
        "code": [
            _forged(confirmation),
            _forged(rating),
            f"{rating.partition('-')[0]}-{confirmation.rpartition('-')[2]}",
        ],
        "score": ["good", "bad"],
        "link": [link.rpartition("/")[2], _forged(link.rpartition("/")[2])],
        "own link": [link],
        "token": [eve.token()],
        "token_of_other": [ann.token()],
        "form_token": [form_token],
        "forged_form_token": [_forged(second["token"])],
        "upload": [upload[1]],
        "sign_in_code": [sign_in_code],
    }
    world.own_pages = {
        "requests": "/requests",
        "request": own,
        "file": f"{own}/files/{files[0]}",
        "confirmation": f"/contact-confirm/{confirmation}",
        "rating": f"/rate/{rating}/good",
        "data": "/your-data",
    }
    return world


def _sought(desk: Desk, pattern: re.Pattern[str]) -> str:
    """The code in the next email that has one."""
    while True:
        part = desk.mail().get_body(("plain",))
        match = pattern.search(str(part.get_content())) if part is not None else None
        if match is not None:
            return match[1]


def hidden(page: str, name: str) -> str:
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match is not None, page
    return match[1]


def _forged(code: str) -> str:
    return code[:-1] + ("b" if code.endswith("a") else "a")
