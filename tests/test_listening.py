"""The addresses that the service listens on: all interfaces, or a Unix socket for a proxy; and its output about
them."""

import http.client
import json
import re
import signal
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.service import ROOT, Server, started, surroundings


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket, as used by a proxy."""

    def __init__(self, path: Path) -> None:
        super().__init__("desk.example", timeout=60)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self.path))

    def answer(self, path: str, **headers: str) -> tuple[int, bytes]:
        self.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        found = self.getresponse()
        return found.status, found.read()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


if has_ipv6():  # otherwise no socket exists

    def test_all_addresses_are_those_of_both_kinds(data: Path) -> None:
        server = Server(data, "--host", "::")
        port = urlsplit(server.url).port
        assert server.url == f"http://[::1]:{port}"
        for host in ("[::1]", "127.0.0.1"):
            response = requests.get(f"http://{host}:{port}/health", timeout=60)
            assert response.status_code == 200 and "findings" in response.json()
        assert server.stop() == 0


def test_a_proxy_on_the_machine_can_use_a_unix_socket(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "http.sock"
    env = {"HELPDESK_HTTP_SOCKET": str(path), "HELPDESK_BASE_URL": "https://desk.example"}
    server = Server(data, env={**env, "HELPDESK_TRUSTED_PROXIES": "127.0.0.1"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert UnixConnection(path).answer("/login")[0] == 200
    assert UnixConnection(path).answer("/metrics")[0] == 200  # a client on this machine
    assert UnixConnection(path).answer("/metrics", X_Forwarded_For="192.0.2.7")[0] == 403
    with pytest.raises(RuntimeError, match="another program listens there"):
        Server(tmp_path / "other", env=env)
    assert UnixConnection(path).answer("/login")[0] == 200
    server.kill()
    server = Server(data, env=env)  # replaces the socket of the killed server
    assert UnixConnection(path).answer("/login")[0] == 200
    assert server.stop() == 0


def lines(data: Path, **settings: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and every line of a service that is stopped as soon as it has started, read as JSON."""
    environment = surroundings(data) | {"HELPDESK_LOG_FORMAT": "json"} | settings
    command = ["server", "serve", "--port", "0", "--data", str(data), "--no-open"]
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
    assert process.stdout is not None
    found = []
    for line in process.stdout:
        found.append(json.loads(line))
        if found[-1]["event"] == "started":
            process.send_signal(signal.SIGTERM)
    return process.wait(60), found


def test_every_line_is_json_where_the_log_is(data: Path) -> None:
    code, found = lines(data)
    assert code == 0 and all({"at", "level", "event"} <= each.keys() for each in found)
    by_event = {each["event"]: each for each in reversed(found)}
    assert re.match(r"http://127\.0\.0\.1:\d+$", by_event["listening"]["url"])
    assert "/setup/" in by_event["setup.link"]["url"] and by_event["started"]["data"] == str(data)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"HELPDESK_BASE_URL": "http://desk.lan/desk"}, "cannot be served below a path"),
        ({"HELPDESK_HOST": "192.0.2.1"}, "cannot be opened"),
        ({"HELPDESK_ADMIN_EMAIL": "nora@desk.example"}, "admin_password_file"),
    ],
)
def test_a_refused_start_is_a_line_of_json(data: Path, settings: dict[str, str], words: str) -> None:
    code, found = lines(data, **settings)
    assert code == 1 and found[-1]["event"] == "start.refused" and words in found[-1]["reason"]
