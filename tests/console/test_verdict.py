"""One verdict: the pages, the marks, /health and `helpdesk doctor` agree on the state of the service."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import requests

from server.jobs.job_queue import JOB
from server.outbox import sender
from server.upkeep import checkup, health, verdict
from server.upkeep.finding import Finding
from server.upkeep.health import Health
from tests.console.visitor import Visitor, text_of
from tests.records.desk import Desk
from tests.service import Api, Server, command

SYSTEM, CHECKUP = "/admin/system", "/admin/system/checkup"
SMTP = "core.mail.transport.smtp"
NOW = 1_800_000_000


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "data")
    yield started
    assert started.stop() == 0


def badge(page: str, heading: str) -> str:
    """Returns the text of the badge next to a heading; the text of an empty verdict if there is no such heading."""
    found = re.search(rf">{heading}</h[12]>\s*<span class=\"badge[^>]*>(.*?)</span>\s*(?:<|$)", page, re.DOTALL)
    return re.sub(r"^[●▲✕] ", "", text_of(found[1])) if found else verdict.Verdict(()).text


def mark(page: str, label: str) -> str:
    """Returns the text of the mark next to an entry of the rail."""
    found = re.search(rf">{label}</span>\s*<span class=\"stall[^>]*title=\"([^\"]*)\"", page)
    return found[1] if found else verdict.Verdict(()).text


def said(server: Server, visitor: Visitor) -> dict[str, str]:
    """Returns the verdict of each. The command comes first, since it makes the service check again."""
    doctor = command("doctor", data=server.data)
    health = requests.get(f"{server.url}/health", timeout=60)
    told = verdict.Verdict(tuple(Finding(**each) for each in health.json()["findings"]))
    assert health.status_code == 200 and health.json()["status"] == told.state
    assert doctor.returncode == (told.state == "problem"), doctor.stdout
    home = visitor.get("/").text
    return {
        "doctor": doctor.stdout.decode().splitlines()[-1], "health": told.text, "start": badge(home, "Needs attention"),
        "system": badge(visitor.get(SYSTEM).text, "System"), "check-up": badge(visitor.get(CHECKUP).text, "System"),
        "rail": mark(visitor.get("/help").text, "Settings"),
    }  # fmt: skip


@pytest.mark.exhaustive("every page that shows the state of the service")
def test_every_place_shows_the_same_verdict(fresh: Server) -> None:
    api = fresh.set_up()
    visitor = Visitor(fresh.url)
    visitor.sign_in()
    assert set(said(fresh, visitor).values()) == {"3 warnings"}  # mail, its sender and backups are not set up
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        params = {"host": "127.0.0.1", "port": str(deaf.getsockname()[1])}
        made = api.create("mail_transport", name="Down", extension_id=SMTP, params=params).ok()["id"]
        assert set(said(fresh, visitor).values()) == {"1 problem and 2 warnings"}
        assert "no mail server at 127.0.0.1" in mark(visitor.get("/settings").text, "Mail")
        assert text_of(visitor.get(SYSTEM).text).count("no mail server at 127.0.0.1") == 1
    api.remove("mail_transport", made).ok()
    assert set(said(fresh, visitor).values()) == {"3 warnings"}
    (fresh.data / "failed-mail").mkdir()
    (fresh.data / "failed-mail" / "mailbox-1.eml").write_bytes(b"broken")
    assert set(said(fresh, visitor).values()) == {"4 warnings"}
    _nobody_else_learns_more(fresh, api)


def _nobody_else_learns_more(server: Server, api: Api) -> None:
    told = requests.get(f"{server.url}/health?look=now", headers={"Via": "1.1 proxy"}, timeout=60).json()
    assert set(told) == {"status", "checks"} and told["status"] == "warning"
    assert "failed-mail" not in json.dumps(told)


# -- without a server -------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    opened = Desk(tmp_path)
    opened.own("group", name="Support", is_default=1)
    yield opened
    opened.close()


def test_mail_servers_are_probed_and_the_result_is_cached(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(sender.transport(SMTP), "probe", lambda settings: asked.append(1))
    desk.own("mail_transport", name="Up", extension_id=SMTP, params={"host": "127.0.0.1", "port": 9})
    assert not _reached(verdict.current(desk.service, NOW)) and asked == []
    assert _reached(verdict.refresh(desk.service, NOW)) and _reached(verdict.current(desk.service, NOW))
    assert asked == [1]
    verdict.refresh(desk.service, NOW + verdict.TRUSTED_SECONDS - 1)
    assert asked == [1], "who asks often connects seldom"
    verdict.refresh(desk.service, NOW + verdict.TRUSTED_SECONDS)
    assert asked == [1, 1]
    desk.update("mail_transport", 1, params={"host": "127.0.0.1", "port": 10})
    assert not _reached(verdict.current(desk.service, NOW)), "that of before the change tells nothing"


def _reached(judged: verdict.Verdict) -> list[str]:
    return [each.found for each in judged.findings if "can be reached" in each.found]


def test_checks_run_in_parallel_and_one_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of another caller is not delayed by a mail server that hangs."""
    both = threading.Barrier(2, timeout=30)
    monkeypatch.setattr(sender.transport(SMTP), "probe", lambda settings: both.wait() and None)
    for port in (9, 10):
        desk.own("mail_transport", name="Slow", extension_id=SMTP, params={"host": "127.0.0.1", "port": port})
    assert len(_reached(verdict.refresh(desk.service, NOW))) == 2  # each would wait forever without the other
    with verdict._looking:
        assert len(_reached(verdict.refresh(desk.service, NOW + 2 * verdict.TRUSTED_SECONDS))) == 2
    assert (verdict.RESULTS.get(desk.service.store) or verdict.LookupResults()).at == NOW


def test_a_check_is_scheduled_only_if_there_is_something_to_check(desk: Desk) -> None:
    def jobs() -> int:
        return len(desk.read(lambda tx: tx.find(JOB, kind=verdict.KIND)))

    health.watch(desk.service, lambda seconds: Health(True, True, True, True, True, 0), lambda: 0)
    verdict.RESULTS.set(desk.service.store, verdict.LookupResults(NOW))
    verdict.find_due(desk.service, NOW + verdict.LOOK_SECONDS)
    assert jobs() == 0  # no mail server, and links stay on this machine
    desk.own("mail_transport", name="Up", extension_id=SMTP, params={"host": "127.0.0.1", "port": 9})
    verdict.find_due(desk.service, NOW + verdict.LOOK_SECONDS - 1)
    assert jobs() == 0
    for _ in range(2):
        verdict.find_due(desk.service, NOW + verdict.LOOK_SECONDS)
    assert jobs() == 1


def test_the_verdict_is_the_worst_finding(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "of_server", lambda service: iter(()))  # servers of tests would be reported as unsafe
    for name in ("of_mail", "of_backups", "of_folder"):
        monkeypatch.setattr(checkup, name, lambda *given: iter([Finding("mail", "ok", "fine")]))
    assert (verdict.current(desk.service, NOW).state, verdict.current(desk.service, NOW).text) == ("ok", "all is well")
    for state, text in (("warning", "3 warnings"), ("problem", "3 problems")):
        for name in ("of_mail", "of_backups", "of_folder"):
            monkeypatch.setattr(checkup, name, lambda *given, state=state: iter([Finding("mail", state, "", "")]))
        judged = verdict.current(desk.service, NOW)
        assert (judged.state, judged.text, len(judged.wrong)) == (state, text, 3)


def test_a_failing_check_is_a_problem_and_hides_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*given: object) -> Iterator[Finding]:
        raise OSError("the folder is gone")
        yield

    def unread(work: object) -> None:
        raise checkup.HelpdeskError("the file is gone")

    monkeypatch.setattr(checkup, "of_folder", gone)
    found = {each.part: asdict(each) for each in verdict.current(desk.service, NOW).findings}
    assert found["data folder"]["state"] == "problem" and "the folder is gone" in found["data folder"]["found"]
    assert found["clock"]["state"] == "ok" and found["jobs"]["state"] == "ok"
    monkeypatch.setattr(desk.store, "read", unread)
    wrong = {each.part for each in verdict.current(desk.service, NOW).wrong}
    assert {"database", "clock", "mail", "jobs"} <= wrong


def test_no_password_stays_in_memory_for_the_verdict(desk: Desk) -> None:
    params = {"host": "127.0.0.1", "port": 9, "username": "help", "password": "hush-hush"}
    desk.own("mail_transport", name="Up", extension_id=SMTP, params=params)
    far = verdict._slow_lookups(replace(desk.service), NOW)
    assert len(far) == 1 and "hush" not in repr(list(far)), far
