"""A full disk: writes are refused cleanly, reads continue, nothing is half written, and the service recovers."""

import resource
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.console.visitor import Visitor
from tests.service import PASSWORD, Api, Reply, Server, command

PAGE_BYTES = 4096
ROOM_PAGES = 50
BIG_BYTES = 2 * ROOM_PAGES * PAGE_BYTES
MAIL = (
    "From: ana@larch.example\r\nTo: support@desk.example\r\nSubject: {0}\r\nMessage-ID: <{0}@larch.example>\r\n\r\n{1}"
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A data folder and the token of its administrator."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "password").write_text(PASSWORD)
    names = ("--email", "nora@desk.example", "--first-name", "Nora", "--password-file", str(folder / "password"))
    assert command("worker", "create", *names, "--admin", data=folder / "data").returncode == 0
    issued = command("token", "create", "--worker", "nora@desk.example", "--expires", "1 day", data=folder / "data")
    return folder / "data", issued.stdout.decode().strip()


@pytest.fixture
def token(data: Path, prepared: tuple[Path, str]) -> str:
    """The administrator's token for `data`, a copy of the prepared folder."""
    shutil.copytree(prepared[0], data)
    return prepared[1]


def _limit(data: Path, room: int = ROOM_PAGES) -> dict[str, str]:
    pages = (data / "helpdesk.db").stat().st_size // PAGE_BYTES
    return {"HELPDESK_MAX_DATABASE_PAGES": str(pages + room)}


def _is_no_room(reply: Reply) -> bool:
    """Whether it is the error for a full disk, in the form of every error, with Retry-After."""
    if reply.status != 507:
        return False
    assert reply["__status"] == "error" and "the disk of the database is full" in reply["message"]
    assert int(reply.headers["Retry-After"]) >= 1
    return True


def _fill(write: Callable[[int], Reply]) -> int:
    """Writes until the disk is full; returns the number of successful writes."""
    for number in range(20_000):
        reply = write(number)
        if reply.status != 200:
            assert _is_no_room(reply), reply
            return number
    raise AssertionError("there is no end to the room")


def test_a_full_database_refuses_writes_and_answers_reads(data: Path, token: str) -> None:
    server = Server(data, env=_limit(data))
    api = Api(server.url, token)
    count = _fill(lambda number: api.create("task", title=f"{number} " + "x" * 200))
    assert count > 10
    for _ in range(3):
        assert _is_no_room(
            api.compose(group_id=1, to="ana@larch.example", subject="Big", content="x" * BIG_BYTES, dont_send=1)
        )
    assert api.search("task", "").ok()["total"] == count
    assert api.record("task", 1).ok()["title"].startswith("0 x")
    assert api.get("/rest/workers/me.json").ok()["first_name"] == "Nora"
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"
    _works_without_limit(data, token, count)


def _works_without_limit(data: Path, token: str, count: int) -> None:
    server = Server(data)
    api = Api(server.url, token)
    assert api.create("task", title="room again").status == 200
    assert api.search("task", "").ok()["total"] == count + 1
    assert server.stop() == 0


def test_removing_records_makes_room(data: Path, token: str) -> None:
    server = Server(data, env=_limit(data))
    api = Api(server.url, token)
    ids: list[int] = []

    def upload(number: int) -> Reply:
        reply = api.post("/rest/attachments/upload.json", file_name="log.txt", content=f"{number}" * 20_000)
        ids.extend([reply["id"]] if reply.status == 200 else [])
        return reply

    assert _fill(upload) > 2
    for id in ids:
        api.remove("attachment", id).ok()
    assert upload(7).status == 200
    assert server.stop() == 0


def test_nothing_of_a_record_without_room_is_left(data: Path, token: str) -> None:
    server = Server(data)
    api = Api(server.url, token)
    field = api.create("custom_field", name="Model", uri="model", type="T", context="task").ok()["id"]
    org = api.create("org", name="Larch").ok()["id"]
    server.stop()
    server = Server(data, env=_limit(data))
    api = Api(server.url, token)

    def linked(number: int) -> Reply:
        return api.create("task", title=f"{number}", **{f"custom_{field}": "m" * 5000}, links=[f"org:{org}"])

    count = _fill(linked)
    for uri, query in [("task", ""), ("task", f"links.org:(id:{org})"), ("task", "model:m*")]:
        assert api.search(uri, query).ok()["total"] == count, query
    rows = api.search("task", "sort:id", limit=500, expand="custom_,links").ok()["results"]
    assert [row["title"] for row in rows] == [f"{number}" for number in range(count)]
    assert {row[f"custom_{field}"] for row in rows} == {"m" * 5000}
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def test_a_change_without_room_leaves_the_record_as_it_was(data: Path, token: str) -> None:
    server = Server(data)
    api = Api(server.url, token)
    field = api.create("custom_field", name="Model", uri="model", type="T", context="task").ok()["id"]
    id = api.create("task", title="before", **{f"custom_{field}": "old"}).ok()["id"]
    server.stop()
    server = Server(data, env=_limit(data))
    api = Api(server.url, token)
    others = [api.create("task", title=f"{number}").ok()["id"] for number in range(20)]
    replies = [api.update("task", other, title="after", **{f"custom_{field}": "n" * 60_000}) for other in [id, *others]]
    assert any(_is_no_room(reply) for reply in replies)
    for place, (each, reply) in enumerate(zip([id, *others], replies, strict=True)):
        row = api.record("task", each, expand="custom_").ok()
        changed = (row["title"], len(row[f"custom_{field}"] or ""))
        before = ("before", 3) if place == 0 else (f"{place - 1}", 0)
        assert changed == (("after", 60_000) if reply.status == 200 else before)
    assert server.stop() == 0


def test_mail_without_room_leaves_no_ticket_and_no_sender(data: Path, token: str) -> None:
    server = Server(data, env=_limit(data))
    api = Api(server.url, token)
    assert _is_no_room(api.parse(MAIL.format("big", "A long story.\r\n" * (BIG_BYTES // 15))))
    for uri, query in [("ticket", ""), ("message", ""), ("attachment", ""), ("address", "email:ana@larch.example")]:
        assert api.search(uri, query).ok()["total"] == 0, uri
    assert api.parse(MAIL.format("small", "Short.")).status == 200
    assert server.stop() == 0


def test_an_import_without_room_says_so_and_fails(data: Path, token: str, tmp_path: Path) -> None:
    mail = tmp_path / "big.eml"
    mail.write_text(MAIL.format("big", "A long story.\r\n" * (BIG_BYTES // 15)), newline="")
    done = command("mail", "import", str(mail), data=data, env=_limit(data))
    assert done.returncode == 1 and b"the disk of the database is full" in done.stderr
    assert b"Traceback" not in done.stderr
    assert command("check", data=data).returncode == 0


def test_a_disk_that_refuses_is_survived_and_used_again_when_it_takes_writes(data: Path, token: str) -> None:
    """The limit on the file size of a process makes real writes fail, and can be raised while it runs."""
    server = Server(data)
    api, visitor = Api(server.url, token), Visitor(server.url)
    visitor.sign_in()
    size = (data / "helpdesk.db-wal").stat().st_size if (data / "helpdesk.db-wal").exists() else 0
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 1_000_000, resource.RLIM_INFINITY))
    written = 0
    for number in range(5000):
        reply = api.create("task", title=f"{number} " + "x" * 200)
        if reply.status != 200:
            break
        written += 1
    assert reply.status in (503, 507) and int(reply.headers["Retry-After"]) >= 1
    assert reply["__status"] == "error" and written > 10
    assert api.search("task", "").ok()["total"] == written
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    assert "Hello, Nora" in visitor.get("/").text  # which logs attempts as soon as it can
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert api.create("task", title="again").status == 200
    assert api.search("task", "").ok()["total"] == written + 1
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def test_writes_beside_those_without_room_are_done_once_or_refused(data: Path, token: str) -> None:
    """The large writes of a group fail and roll it back; the other writes run again."""
    server = Server(data, env=_limit(data, 300))
    done: dict[str, list[str]] = {"task": [], "ticket": [], "compose": []}
    refused: list[str] = []

    def small(number: int) -> None:
        api = Api(server.url, token)
        for count in range(8):
            name = f"{number}x{count}"
            for uri, reply in (
                ("task", api.create("task", title=name, links=["worker:1"])),
                ("ticket", api.parse(MAIL.format(name, "Short."))),
                ("compose", api.compose(group_id=1, to="zoe@larch.example", subject=name, content=name, dont_send=1)),
            ):
                assert reply.status == 200 or _is_no_room(reply), reply
                (done[uri] if reply.status == 200 else refused).append(name)

    def large(number: int) -> None:
        api = Api(server.url, token)
        for count in range(4):
            name = f"big {number}x{count}"
            assert _is_no_room(api.post("/rest/attachments/upload.json", file_name=name, content=name * 200_000))

    with ThreadPoolExecutor(12) as threads:
        for each in [threads.submit(work, number) for number in range(6) for work in (small, large)]:
            each.result()
    assert len(done["task"]) > 10
    api = Api(server.url, token)
    assert sorted(each["title"] for each in _all(api, "task")) == sorted(done["task"])
    assert sorted(each["subject"] for each in _all(api, "ticket")) == sorted(done["ticket"] + done["compose"])
    assert len(_all(api, "message")) == len(done["ticket"] + done["compose"])
    assert _all(api, "attachment") == []
    assert server.stop() == 0
    assert command("check", data=data).stdout == b"the database is intact\n"


def _all(api: Api, uri: str) -> list[dict[str, Any]]:
    return api.search(uri, "", limit=500).ok()["results"]
