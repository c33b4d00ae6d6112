"""Forwarding a message from the console: the form, and the mail that arrives."""

import base64
import re
from collections.abc import Iterator

import pytest

from tests.api.post import Post, post_office, read, text_of
from tests.console.visitor import Visitor

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgAAACAAAB4iG8MwAAAABJRU5ErkJggg=="
MAIL = f"""From: Ann Kite <ann@kite.example>
To: support@localhost
Subject: The pump
Message-ID: <pump@kite.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/related; boundary=inner

--inner
Content-Type: text/html; charset=utf-8

<p>It leaks <b>here</b>: <img src="cid:photo@kite"></p>
--inner
Content-Type: image/png; name=photo.png
Content-ID: <photo@kite>
Content-Disposition: inline; filename=photo.png
Content-Transfer-Encoding: base64

{PIXEL}
--inner--
--outer
Content-Type: application/pdf; name=plan.pdf
Content-Disposition: attachment; filename=plan.pdf
Content-Transfer-Encoding: base64

JVBERg==
--outer--
"""


@pytest.fixture(scope="module")
def post(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    with post_office(tmp_path_factory.mktemp("forward")) as opened:
        yield opened


def test_a_forward_from_the_console_contains_the_whole_message(post: Post) -> None:
    ticket = post.api.parse(MAIL).ok()
    nora = Visitor(post.server.url)
    nora.sign_in()
    page = f"/tickets/{ticket['mask']}"
    shown = nora.get(f"{page}?answer=forward&to={ticket['last_message_id']}").text
    assert "#original_message" in shown and 'value="Fwd: The pump"' in shown and "plan.pdf" in shown
    ids = re.findall(r'name="file_id\[\]" value="(\d+)"', shown)
    assert len(ids) == 1  # the picture is attached to the HTML
    form = {
        "kind": "forward", "message": str(ticket["last_message_id"]), "to": "zed@yard.example",
        "subject": "Fwd: The pump", "content": "Please look.\n\n#original_message", "file_id[]": ids, "status": "0",
    }  # fmt: skip
    sent = nora.send(f"{page}/answer", form, page=f"{page}?answer=forward&to={ticket['last_message_id']}")
    assert sent.status_code == 303, sent.text
    (_, recipients, raw) = post.smtp.take(30)
    mail = read(raw)
    assert recipients == ("zed@yard.example",) and mail["Subject"] == "Fwd: The pump"
    html = text_of(mail, "html")
    (cid,) = re.findall(r'src="cid:([^"]+)"', html)
    assert "Please look." in html and "<b>here</b>" in html and "Ann Kite" in html
    pictures = {each["Content-ID"]: each.get_payload(decode=True) for each in mail.walk() if each["Content-ID"]}
    assert pictures == {f"<{cid}>": base64.b64decode(PIXEL)}
    assert [each.get_filename() for each in mail.iter_attachments()] == ["plan.pdf"]
    assert post.api.record("ticket", ticket["id"]).ok()["initial_response_message_id"] == 0


def test_the_preview_of_a_forward_needs_no_recipient(post: Post) -> None:
    message = "Message-ID: <pump2@kite.example>"
    ticket = post.api.parse(MAIL.replace("Message-ID: <pump@kite.example>", message)).ok()
    nora = Visitor(post.server.url)
    nora.sign_in()
    page = f"/tickets/{ticket['mask']}"
    form = {
        "kind": "forward",
        "message": str(ticket["last_message_id"]),
        "content": "Please look.\n\n#original_message",
    }
    token = {"_xsrf": nora.token(page)}
    draft = nora.post(f"{page}/draft", form | token).json()["draft"]
    shown = nora.get(f"/drafts/{draft}/preview").text
    assert all(words in shown for words in ("Please look.", "Ann Kite", "From:", "Date:", "To:", "Subject:", "here"))


def test_the_language_of_a_group_is_chosen_and_cleared(post: Post) -> None:
    nora = Visitor(post.server.url)
    nora.sign_in()
    page = "/admin/people/groups/1"
    for language, zone in (("de_DE", "Europe/Berlin"), ("", "")):
        nora.send(page, {"name": "Support", "language": language, "timezone": zone, "is_default": "1"})
        group = post.api.record("group", 1).ok()
        assert (group["language"], group["timezone"]) == (language, zone)


def test_saving_a_template_reports_what_is_lost(post: Post) -> None:
    nora = Visitor(post.server.url)
    nora.sign_in()
    content = "<style>@media print { p { color: red } }</style><form>{{message_body}}</form>"
    form = {"name": "Shop", "content": content, "owner": "app:0", "owner__context": "app", "owner_id": "0"}
    made = nora.send("/records/html_template/new", form)
    assert made.status_code == 303, made.text
    shown = nora.get(made.headers["Location"]).text
    assert "Left out of emails: @media print; &lt;form&gt;" in shown
