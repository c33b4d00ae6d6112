"""The first start: created files and their permissions, and the setup link that works once."""

import html
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from server.cli import serve as program
from server.errors import HelpdeskError, NotFound
from server.first_start import setup
from server.sign_in.sign_in import Peer
from tests.console.visitor import Visitor
from tests.records.desk import NOW, Desk
from tests.service import PASSWORD, ROOT, Api, Server, command

PEER = Peer("127.0.0.1", "")

FORM = {
    "first_name": "Nora", "last_name": "Berg", "email": "nora@desk.example", "timezone": "Europe/Berlin",
    "password": PASSWORD, "password_again": PASSWORD,
}  # fmt: skip
HOSTILE = "\"><script>alert(1)</script>'{{ 1 }}<b onmouseover=x>"


def _send(server: Server, **changed: str) -> requests.Response:
    return requests.post(server.setup_link, data=FORM | changed, timeout=60)


def _value(page: str, name: str) -> str:
    """The value of a field in the form."""
    (field,) = re.findall(rf"<input[^>]*\bname=\"{name}\"[^>]*>", page)
    found = re.search(r'\bvalue="([^"]*)"', field)
    return html.unescape(found[1]) if found else ""


@pytest.fixture
def fresh(data: Path) -> Iterator[Server]:
    """A server on its first start."""
    server = Server(data, is_first=True)
    yield server
    server.stop()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that is not set up yet."""
    server = Server(tmp_path_factory.mktemp("waiting") / "data", is_first=True)
    yield server
    server.stop()


def test_it_prints_where_it_listens_first_and_then_the_link(waiting: Server) -> None:
    assert waiting.url.startswith("http://127.0.0.1:")
    assert waiting.lines[0].split() == ["console", f"{waiting.url}/"]
    assert re.fullmatch(re.escape(waiting.url) + r"/setup/[A-Za-z0-9_-]{43}", waiting.setup_link)
    assert "works once" in waiting.lines[1]


def test_folder_and_files_are_for_their_owner_only(fresh: Server) -> None:
    _send(fresh)
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in fresh.data.iterdir()}
    assert stat.S_IMODE(fresh.data.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert set(modes) <= {"helpdesk.db", "helpdesk.db-wal", "helpdesk.db-shm", "helpdesk.lock"}


@pytest.mark.sqlite("the file of the database")
def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    data = tmp_path / "a" / "b" / "data"
    (tmp_path / "a" / "b").mkdir(parents=True)
    Server(data, is_first=True).stop()
    assert sorted(each.name for each in data.iterdir()) == ["helpdesk.db", "helpdesk.lock"]


def test_there_is_a_default_group_with_its_inbox_and_an_app_for_tokens(fresh: Server) -> None:
    nora = fresh.set_up()
    (group,) = nora.search("group", "").ok()["results"]
    assert group["is_default"] and nora.search("group", "default:yes").ok()["total"] == 1
    (bucket,) = nora.search("bucket", f"group.id:{group['id']}").ok()["results"]
    assert bucket["name"] == "Inbox" and bucket["is_default"]
    (app,) = nora.search("oauth_app", "").ok()["results"]
    assert app["name"]
    me = nora.get("/rest/workers/me.json").ok()
    assert me["is_superuser"] and me["full_name"] == "Nora Berg"
    mail = "From: ana@larch.example\nSubject: first\n\nHello"
    ticket = nora.record("ticket", nora.parse(mail).ok()["id"]).ok()
    assert (ticket["group_id"], ticket["bucket_id"]) == (group["id"], bucket["id"])


def test_the_link_shows_a_form_that_is_not_kept_or_framed(waiting: Server) -> None:
    page = requests.get(waiting.setup_link, timeout=30)
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Cache-Control"] == "no-store" and page.headers["X-Content-Type-Options"] == "nosniff"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
    assert page.headers["Referrer-Policy"] in ("same-origin", "no-referrer")
    assert page.text.count("<script") == page.text.count('src="/static/') == 1 and "Set-Cookie" not in page.headers
    for name in FORM:
        assert f'for="{name}"' in page.text and _value(page.text, name) == ("UTC" if name == "timezone" else "")
    assert requests.get(f"{waiting.url}/static/console.css", timeout=30).headers["Content-Type"].startswith("text/css")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"first_name": ""}, "first name"),
        ({"first_name": "   "}, "first name"),
        ({"email": ""}, "email address"),
        ({"email": "no address"}, "no address"),
        ({"email": "a@b.example, c@d.example"}, "email address"),
        ({"password": "short", "password_again": "short"}, "8 characters"),
        ({"password": "", "password_again": ""}, "8 characters"),
        ({"password_again": "something else"}, "do not match"),
        ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"first_name": "x" * 500}, "first_name"),
        ({"email": "x" * 300 + "@desk.example"}, "mail"),
        ({"first_name": "a\x00b"}, ""),
        ({"last_name": HOSTILE * 10}, ""),
    ],
)
def test_errors_are_shown_and_the_input_is_preserved(changed: dict[str, str], words: str, waiting: Server) -> None:
    page = _send(waiting, **changed)
    assert page.status_code < 500, page.text
    if words:
        (summary,) = re.findall(r'role="alert"(.*?)</div>', page.text, re.DOTALL)
        assert words in html.unescape(summary) and 'id="summary"' in page.text
        assert "Error:" in re.findall(r"<title>(.*?)</title>", page.text)[0]
    if 'name="email"' in page.text:
        for name in ("first_name", "last_name", "email", "timezone"):
            assert _value(page.text, name).strip() == (FORM | changed)[name].strip()
    assert PASSWORD not in page.text  # never included in a response
    assert requests.get(waiting.setup_link, timeout=30).status_code == 200  # the link is still valid


@pytest.mark.parametrize("name", ["first_name", "last_name", "email", "timezone"])
def test_markup_in_a_field_stays_text(name: str, waiting: Server) -> None:
    page = _send(waiting, **{name: HOSTILE, "password": "x"}).text
    assert "<script>" not in page and "<b onmouseover" not in page and '"><script' not in page
    assert _value(page, name) == HOSTILE


def test_the_steps_after_it_escape_too(fresh: Server) -> None:
    page = _send(fresh, last_name="<i>x</i>")
    assert page.url.endswith("/setup/address") and "<i>x" not in page.text


def test_a_form_of_another_site_is_refused(waiting: Server) -> None:
    page = requests.post(waiting.setup_link, data=FORM, headers={"Origin": "http://evil.example"}, timeout=30)
    assert 400 <= page.status_code < 500 and "another site" in page.text
    assert requests.get(waiting.setup_link, timeout=30).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_are_405_on_the_page(method: str, waiting: Server) -> None:
    page = requests.request(method, waiting.setup_link, data=FORM, timeout=30)
    assert page.status_code == 405 and page.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize("change", ["x", "A", "/", "%00", "/x", "?"])
def test_another_code_is_no_link(change: str, waiting: Server) -> None:
    # The code is random: one in sixteen ends with A.
    link = waiting.setup_link[:-1] + (change if not waiting.setup_link.endswith(change) else "E")
    assert requests.get(link, timeout=30).status_code == 404
    assert requests.post(link, data=FORM, timeout=30).status_code == 404


def test_the_link_works_once(fresh: Server) -> None:
    page = _send(fresh)
    assert page.status_code == 200 and "Nora Berg" in page.text and PASSWORD not in page.text  # already signed in
    for response in (requests.get(fresh.setup_link, timeout=30), _send(fresh, email="eve@desk.example")):
        assert response.status_code == 404 and "used or replaced" in response.text and 'href="/login"' in response.text
    nora = _client(fresh)
    assert nora.search("worker", "").ok()["total"] == 1


def _client(server: Server) -> Api:
    made = command("token", "create", "--worker", "nora@desk.example", data=server.data)
    return Api(server.url, made.stdout.decode().strip())


def test_of_two_who_send_the_form_at_once_one_becomes_administrator(fresh: Server) -> None:
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(_send, fresh, email=f"{name}@desk.example") for name in ["nora", *"abcdefg"]]
        pages = [each.result() for each in sent]
    assert sorted(page.status_code for page in pages) == [200] + [404] * 7
    (winner,) = [place for place, page in enumerate(pages) if page.status_code == 200]
    email = f"{['nora', *'abcdefg'][winner]}@desk.example"
    made = command("token", "create", "--worker", email, data=fresh.data)
    assert Api(fresh.url, made.stdout.decode().strip()).search("worker", "").ok()["total"] == 1


def test_a_later_start_prints_no_link_and_the_old_one_stays_dead(data: Path) -> None:
    first = Server(data)
    _send(first)
    path = first.setup_link.removeprefix(first.url)
    assert first.stop() == 0
    second = Server(data)
    assert second.setup_link == "" and len(second.lines) == 1
    assert requests.get(second.url + path, timeout=30).status_code == 404
    assert requests.post(second.url + path, data=FORM, timeout=30).status_code == 404
    assert second.stop() == 0


@pytest.mark.sqlite("of several processes the first one prints the link")
def test_a_start_without_administrator_prints_a_new_link_and_ends_the_old_one(data: Path) -> None:
    first = Server(data)
    path = first.setup_link.removeprefix(first.url)
    first.stop()
    second = Server(data)
    assert second.setup_link and not second.setup_link.endswith(path)
    assert requests.get(second.url + path, timeout=30).status_code == 404
    assert requests.get(second.setup_link, timeout=30).status_code == 200
    second.stop()


def test_an_administrator_made_by_command_ends_the_link(fresh: Server) -> None:
    arguments = ("--email", "nora@desk.example", "--first-name", "Nora", "--admin")
    assert command("worker", "create", *arguments, data=fresh.data).returncode == 0
    assert requests.get(fresh.setup_link, timeout=30).status_code == 404
    assert _send(fresh, email="eve@desk.example").status_code == 404


def test_a_command_prints_a_new_link_while_the_server_runs(fresh: Server) -> None:
    made = command("setup-link", data=fresh.data)
    link = made.stdout.decode().strip()
    assert made.returncode == 0 and link.startswith(f"{fresh.url}/setup/") and link != fresh.setup_link
    assert requests.get(fresh.setup_link, timeout=30).status_code == 404
    assert requests.post(link, data=FORM, timeout=60).url == f"{fresh.url}/setup/address"
    over = command("setup-link", data=fresh.data)
    assert over.returncode == 1 and b"has an administrator" in over.stderr and over.stdout == b""


@pytest.mark.sqlite("the file of the database")
def test_where_no_service_was_started_there_is_no_link_to_print(tmp_path: Path) -> None:
    """In the wrong folder the command would create a database, and print a link that leads nowhere."""
    done = command("setup-link", data=tmp_path / "elsewhere")
    assert done.returncode == 1 and b"there is no database in" in done.stderr and done.stdout == b""
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_lasts_half_an_hour(desk: Desk) -> None:
    path = setup.setup_path(desk.context())
    code = (path or "").rpartition("/")[2]
    last = NOW + setup.LINK_SECONDS - 1
    assert desk.read(lambda tx: [setup.is_setup_code(tx, code, at) for at in (NOW, last, last + 1)]) == [
        True, True, False
    ]  # fmt: skip
    late = replace(desk.context(), now=last + 1)
    eve = {"first_name": "Eve", "email": "eve@desk.example", "timezone": "UTC"}
    with pytest.raises(NotFound, match="setup-link"):
        setup.finish_setup(late, code, eve, PEER)
    assert desk.found("worker", "") == []


def test_the_link_and_the_first_administrator_are_told_in_the_activity_log(desk: Desk) -> None:
    code = (setup.setup_path(desk.context()) or "").rpartition("/")[2]
    desk.create("group", name="Support", is_default=1)
    before = desk.log()[-1]["id"]
    nora = {"first_name": "Nora", "email": "nora@desk.example", "timezone": "UTC"}
    setup.finish_setup(desk.context(), code, nora, PEER)
    assert desk.log("setup.link") != [] and code not in str(desk.log())
    assert desk.acts(before) == [
        "Helpdesk created the worker Nora",
        "Helpdesk made Nora an administrator",
        "Helpdesk changed the members of the group Support: Nora (manager)",
    ]


def test_settings_make_the_administrator_where_nobody_opens_a_link(data: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\nand a note\n")
    env = {"HELPDESK_ADMIN_EMAIL": "nora@desk.example", "HELPDESK_ADMIN_PASSWORD_FILE": str(tmp_path / "password")}
    server = Server(data, env=env)
    visitor = Visitor(server.url)
    assert server.setup_link == "" and visitor.sign_in().status_code == 303
    assert visitor.get("/admin/system").status_code == 200 and "Get started" in visitor.get("/").text
    server.stop()
    assert PASSWORD.encode() not in Path(server.log.name).read_bytes()


def test_settings_make_it_once(tmp_path: Path, desk: Desk) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    for email in ("nora@desk.example", "nora@desk.example", "eve@desk.example"):
        given = {"admin_email": email, "admin_password_file": str(tmp_path / "password")}
        service = replace(desk.service, settings=desk.service.settings.replace(**given))
        setup.make_administrator(replace(desk.context(), service=service))
    assert [desk.record("worker", id)["is_superuser"] for id in desk.found("worker", "")] == [1]


@pytest.mark.parametrize(("email", "file", "words"), [
    ("nora@desk.example", "", "belong together"), ("", "password", "belong together"),
    ("nora@desk.example", "missing", "cannot be read"), ("nora@desk.example", "blank", "first line"),
    ("nora", "password", "nora"), ("nora@desk.example", "short", "8 characters"),
])  # fmt: skip
def test_wrong_settings_for_an_administrator_stop_the_start(
    email: str, file: str, words: str, tmp_path: Path, desk: Desk
) -> None:
    for name, text in (("password", PASSWORD), ("blank", ""), ("short", "1234567")):
        (tmp_path / name).write_text(text)
    given = {"admin_email": email, "admin_password_file": str(tmp_path / file) if file else ""}
    service = replace(desk.service, settings=desk.service.settings.replace(**given))
    with pytest.raises(HelpdeskError, match=words):
        setup.make_administrator(replace(desk.context(), service=service))
    assert desk.found("worker", "") == []


@pytest.mark.parametrize(("system", "variables", "expected"), [
    ("linux", {}, False), ("linux", {"DISPLAY": ":0"}, True), ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
    ("darwin", {}, True), ("win32", {}, True),
])  # fmt: skip
def test_a_browser_is_opened_where_there_is_a_display(
    system: str, variables: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(sys, "platform", system)
    assert program.has_display() is expected


def test_without_a_command_the_server_is_started(data: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HELPDESK_PORT": "0", "HELPDESK_DATA": str(data)}
    with subprocess.Popen(
        [sys.executable, "-m", "server"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, env=env
    ) as started:
        assert started.stdout is not None
        lines = [started.stdout.readline().split() for _ in range(5)]
        started.send_signal(signal.SIGTERM)
        assert [each[0] for each in lines] == [b"listening", b"console", b"setup", b"api", b"data"]
        assert lines[4][1] == str(data).encode()
    assert started.returncode == 0 and (data / "helpdesk.db").exists()


def test_neither_log_nor_data_folder_holds_code_or_password(data: Path) -> None:
    server = Server(data)
    code = server.setup_link.rpartition("/")[2]
    requests.get(server.setup_link, timeout=30)
    _send(server, email="wrong")
    _send(server)
    requests.get(f"{server.setup_link}?next=/{code}", timeout=30)
    server.stop()
    log = Path(server.log.name).read_bytes()
    assert b"path=/setup/" in log
    for file in [Path(server.log.name), *data.iterdir()]:
        content = file.read_bytes()
        assert code.encode() not in content and PASSWORD.encode() not in content, file.name


def test_nothing_else_can_be_done_before_it_is_set_up(waiting: Server) -> None:
    assert requests.get(waiting.url + "/", timeout=30).status_code == 200
    assert requests.get(waiting.url + "/setup/", timeout=30).status_code == 404
    response = requests.get(waiting.url + "/rest/workers/me.json", timeout=30)
    assert response.status_code == 401 and response.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_service_without_https_starts_with_a_warning_and_its_app_follows_the_address(data: Path) -> None:
    def callback(server: Server) -> str:
        token = command("token", "create", "--worker", "nora@desk.example", data=data).stdout.decode().strip()
        (app,) = Api(server.url, token).search("oauth_app", "", expand="callback_url").ok()["results"]
        return str(app["callback_url"])

    server = Server(data, "--base-url", "http://desk.lan")
    made = command("worker", "create", "--email", "nora@desk.example", "--first-name", "Nora", "--admin", data=data)
    assert made.returncode == 0, made.stderr
    assert callback(server) == "/oauth/callback"
    assert server.stop() == 0
    log = (data.parent / f"{data.name}.log").read_text("utf-8")
    assert "http://desk.lan" in log and "put https before it" in log
    for url, wanted in (
        ("https://desk.lan", "https://desk.lan/oauth/callback"),
        ("http://other.lan", "/oauth/callback"),
        ("http://localhost:1", "http://localhost:1/oauth/callback"),
    ):
        server = Server(data, "--base-url", url)
        assert callback(server) == wanted
        assert server.stop() == 0
