"""/health and /metrics: contents, permissions, and the report of each failure."""

import json
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import requests
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_metrics
from tornado.httputil import HTTPHeaders, RequestStartLine

from server.context import Service
from server.jobs import scheduler
from server.jobs.scheduler import Scheduler
from server.upkeep import health, verdict
from server.upkeep.health import Health, Pulse
from server.web import monitoring
from server.web.meter import BOUNDS, Meter
from server.web.metrics import Numbers
from server.web.site import Pool, Request
from tests import databases
from tests.records.desk import Desk
from tests.service import Api, Server

OF_FILE = set() if databases.is_postgresql() else {"helpdesk_log_bytes"}
CHECKS = {
    "database_readable", "database_writable", "files_in_place", "scheduler_alive", "disk_has_room", "takes_requests",
}  # fmt: skip


def get(url: str, path: str, **headers: str) -> requests.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.get(url + path, headers=named, timeout=30)


def numbers(url: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Returns all metrics: {(name, labels): value}."""
    response = get(url, "/metrics")
    assert response.status_code == 200 and response.headers["Content-Type"].startswith("text/plain; version=")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in read_metrics(response.text)
        for sample in family.samples
    }


def test_health_needs_no_token_and_reports_that_all_is_well(server: Server, api: Api) -> None:
    response = get(server.url, "/health")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json; charset=utf-8")
    told = response.json()
    worst = max((each["state"] for each in told["findings"]), key=verdict.STATES.index)
    assert told["status"] == worst and told["checks"] == dict.fromkeys(CHECKS, True)
    assert told["disk_free_bytes"] > 0 and told["writes_waiting"] >= 0
    assert set(told["backlog"]) == set(health.Backlog.__dataclass_fields__)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host"])
def test_a_client_behind_an_unknown_proxy_gets_no_numbers(server: Server, api: Api, header: str) -> None:
    for value in ("127.0.0.1", "9.9.9.9"):
        told = get(server.url, "/health", **{header: value}).json()
        assert set(told) == {"status", "checks"}
        response = get(server.url, "/metrics", **{header: value})
        assert response.status_code == 403 and "metrics_allow" in response.text


@pytest.mark.parametrize("path", ["/health", "/metrics"])
def test_they_are_read_only(server: Server, api: Api, path: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        response = requests.request(method, server.url + path, timeout=30)
        assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert requests.options(server.url + path, timeout=30).status_code == 204
    assert requests.head(server.url + path, timeout=30).status_code == 200
    assert get(server.url, f"{path}y").status_code == 404


def _count(found: dict[Any, float], **labels: str) -> float:
    return found.get(("helpdesk_requests_total", tuple(sorted(labels.items()))), 0)


def test_requests_are_counted_by_route_and_class_of_status(server: Server, api: Api) -> None:
    route = "/rest/records/{uri}/{id}.json"
    before = numbers(server.url)
    for id in (1, 2, 999_999):
        api.record("worker", id)
    requests.get(f"{server.url}/rest/records/worker/1.json", timeout=30)  # without a token no route is resolved
    requests.request("BREW", f"{server.url}/nowhere", timeout=30)
    after = numbers(server.url)
    for labels, more in (
        ({"method": "GET", "route": route, "status": "2xx"}, 2),
        ({"method": "GET", "route": route, "status": "4xx"}, 1),
        ({"method": "GET", "route": "/rest/", "status": "4xx"}, 1),
    ):
        assert _count(after, **labels) - _count(before, **labels) == more, labels
    assert any(dict(labels).get("method") == "other" for _, labels in after)
    name, labels = "helpdesk_request_seconds", (("method", "GET"), ("route", route))
    assert after[f"{name}_count", labels] - before.get((f"{name}_count", labels), 0) == 3
    buckets = [after[f"{name}_bucket", (("le", le), *labels)] for le in [*(f"{each:g}" for each in BOUNDS), "+Inf"]]
    assert buckets == sorted(buckets) and buckets[-1] == after[f"{name}_count", labels]
    assert after[f"{name}_sum", labels] > 0


def test_the_metrics_cover_queues_files_and_the_process(server: Server, api: Api) -> None:
    told = {name for name, _ in numbers(server.url)}
    assert {
        "helpdesk_writes_waiting", "helpdesk_jobs_due", "helpdesk_jobs_failed", "helpdesk_mail_queued",
        "helpdesk_webhook_requests", "helpdesk_requests_in_flight", "helpdesk_database_bytes", *OF_FILE,
        "helpdesk_disk_free_bytes", "helpdesk_loop_stalls_total", "process_resident_memory_bytes", "process_open_fds",
    } <= told  # fmt: skip
    found = numbers(server.url)
    assert {found["helpdesk_healthy", (("check", name),)] for name in CHECKS} == {1.0}


def test_openmetrics_is_sent_if_the_client_accepts_it(server: Server, api: Api) -> None:
    response = get(server.url, "/metrics", Accept="application/openmetrics-text; version=1.0.0")
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert "helpdesk_requests" in {family.name for family in read_openmetrics(response.text)}


def test_no_secret_and_no_id_is_published(server: Server, api: Api) -> None:
    get(server.url, "/webhooks/k7Qm2xk7Qm2xk7Qm2xk7Qm2x/orders")
    text = get(server.url, "/metrics").text + get(server.url, "/health").text
    assert "k7Qm2x" not in text and api.token not in text and "desk.example" not in text


def test_the_setting_names_readers_and_a_trusted_proxy_forwards_its_clients(data: Path) -> None:
    server = Server(data, env={"HELPDESK_METRICS_ALLOW": "10.1.0.0/16", "HELPDESK_TRUSTED_PROXIES": "127.0.0.1"})
    assert get(server.url, "/metrics").status_code == 403
    assert get(server.url, "/metrics", X_Forwarded_For="10.1.2.3").status_code == 200
    assert get(server.url, "/metrics", X_Forwarded_For="10.2.2.3").status_code == 403
    assert set(get(server.url, "/health").json()) == {"status", "checks"}
    assert server.stop() == 0


def test_an_invalid_network_stops_the_start(data: Path) -> None:
    with pytest.raises(RuntimeError, match="metrics_allow: 'everybody' is not an address or network"):
        Server(data, env={"HELPDESK_METRICS_ALLOW": "everybody"})


def _health_until(url: str, status: int) -> dict[str, Any]:
    """Returns the report once it has this status; the result of the disk check is cached for a second."""
    for _ in range(20_000):
        response = get(url, "/health")
        if response.status_code == status:
            return response.json()
    raise AssertionError(response.text)


@pytest.mark.sqlite("the file of the database")
def test_a_disk_that_refuses_writes_is_reported_and_so_is_its_recovery(data: Path) -> None:
    server = Server(data)
    wal = data / "helpdesk.db-wal"
    size = wal.stat().st_size if wal.exists() else 0
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    told = _health_until(server.url, 503)
    assert told["status"] == "problem"
    assert told["checks"]["database_writable"] is False and told["checks"]["database_readable"] is True
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert _health_until(server.url, 200)["status"] == "warning"
    assert server.stop() == 0


def test_the_log_level_changes_at_run_time(data: Path) -> None:
    server = Server(data, env={"HELPDESK_LOG_FORMAT": "json"})
    settings = data / "helpdesk.toml"
    for level in ("warning", "info"):
        settings.write_text(f"log_level = '{level}'\n")
        server.process.send_signal(signal.SIGHUP)
        _wait_for(server, lambda events, level=level: events[-1:] == [{"event": "log.level", "level": level}])
        get(server.url, f"/level/{level}")
        get(server.url, "/health")
    settings.write_text("log_level = 'loud'\n")
    server.process.send_signal(signal.SIGHUP)
    _wait_for(server, lambda events: events[-1:] == [{"event": "settings.refused", "level": "error"}])
    get(server.url, "/level/kept")
    assert server.stop() == 0
    paths = [json.loads(line).get("path") for line in Path(server.log.name).read_text().splitlines()]
    assert "/level/warning" not in paths and {"/level/info", "/level/kept"} <= set(paths)


def _wait_for(server: Server, holds: Any) -> None:
    """Waits until the log of a server, without requests, satisfies `holds`."""
    for _ in range(20_000):
        get(server.url, "/health")
        rows = [json.loads(line) for line in Path(server.log.name).read_text().splitlines()]
        events = [{"event": row["event"], "level": row["level"]} for row in rows if row["event"] != "request"]
        if holds(events):
            return
    raise AssertionError(events)


def test_each_part_can_fail_independently(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Pulse(desk.service).look(True).is_well
    assert not Pulse(desk.service).look(False).is_well
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**12, 10**12, 199 * health.MIB))
    found = Pulse(desk.service).look(True)
    assert [name for name, value in found.checks().items() if not value] == ["disk_has_room"]


def test_the_check_does_not_wait_for_a_hanging_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "WRITE_SECONDS", 0.01)
    monkeypatch.setattr(desk.store, "submit", lambda write, done: None)
    assert not Pulse(desk.service).look(True).database_writable


def test_the_disk_check_is_cached_for_a_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [1000.0]
    monkeypatch.setattr(health.time, "monotonic", lambda: moment[0])
    asked: list[int] = []
    monkeypatch.setattr(health, "is_writable", lambda store: bool(asked.append(1)) or True)
    monkeypatch.setattr(health, "is_readable", lambda store: True)
    pulse = Pulse(desk.service)
    for after in (0, 0.5, 0.9, 1.1, 1.2):
        moment[0] = 1000 + after
        pulse.look(True)
    assert len(asked) == 2


def test_the_verdict_is_cached_for_a_moment_unless_a_check_fails(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers may poll as often as they like, and the numbers that they get are consistent."""
    asked: list[int] = []
    moment, state = [1000.0], [Health(True, True, True, True, True, 0)]
    monkeypatch.setattr(monitoring.time, "monotonic", lambda: moment[0])
    monkeypatch.setattr(verdict, "current", lambda service, now: asked.append(1) or verdict.Verdict(()))
    site = monitoring.HealthSite(
        Pool(1, 1, "watching"), monitoring.MetricsReaders(desk.service), desk.service, lambda: state[0]
    )
    request = Request(RequestStartLine("GET", "/health", "HTTP/1.1"), HTTPHeaders(), "192.0.2.7", "192.0.2.7")
    for after in (0, 0.5, 0.9, 1.1, 1.2):
        moment[0] = 1000 + after
        assert site.shown(request).status == 200
    assert len(asked) == 2
    state[0] = Health(True, False, True, True, True, 0)
    assert site.shown(request).status == 503 and len(asked) == 3


def test_a_stuck_scheduler_is_not_alive(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Scheduler(desk.service, None)  # type: ignore[arg-type]
    assert not runner.is_alive
    runner._thread = type("Thread", (), {"is_alive": lambda self: True})()  # type: ignore[assignment]
    runner._turned_at = 1000.0
    for seconds, alive in ((1, True), (scheduler.STUCK_SECONDS - 1, True), (scheduler.STUCK_SECONDS + 1, False)):
        monkeypatch.setattr(scheduler.time, "monotonic", lambda seconds=seconds: 1000.0 + seconds)
        assert runner.is_alive is alive


@pytest.mark.parametrize(("seconds", "place"), [(0.0, 0), (0.001, 0), (0.0011, 1), (10.0, 12), (11.0, 13)])
def test_a_request_counts_in_the_bucket_that_ends_at_or_above_its_time(seconds: float, place: int) -> None:
    meter = Meter()
    meter.count("GET", "/", 200, seconds)
    tally = meter.tallies["GET", "/", 2]
    assert tally.buckets.index(1) == place and sum(tally.buckets) == 1 and tally.seconds == seconds


def test_a_scan_that_fails_repeatedly_is_a_finding(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    is_broken = True

    def look(service: Service, now: int) -> None:
        if is_broken:
            raise ValueError("no such table")

    monkeypatch.setitem(scheduler._scans, "pumps", look)
    runner = Scheduler(desk.service, None)  # type: ignore[arg-type]
    scheduler.SCHEDULER.set(desk.service.store, runner)

    def state(now: int) -> tuple[list[str], dict[str, str]]:
        runner.run_due(now)
        told = Numbers(desk.service, Meter(), lambda: Pulse(desk.service).look(True)).text("")[0].decode()
        lines = {name: line.rpartition(" ")[2] for line in told.splitlines() for name in [line.partition(" ")[0]]}
        findings = verdict.current(desk.service, now).about("jobs").wrong
        return [str(each.found) for each in findings if each.state == "problem"], lines

    for turn in (1, 2, 3, 4):
        found, numbers = state(1000 + 60 * turn)
        assert numbers['helpdesk_scan_failures{scan="pumps"}'] == f"{turn}.0"
        assert len(found) == (turn > 2), found
    assert found == ["the maintenance task 'pumps' failed 4 times in a row: ValueError: no such table"]
    is_broken = False
    found, numbers = state(2000)
    assert found == [] and numbers['helpdesk_scan_failures{scan="pumps"}'] == "0.0"
    assert float(numbers['helpdesk_scan_timestamp_seconds{scan="pumps"}']) == 2000
