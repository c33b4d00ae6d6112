"""A real server for tests: started the way a user starts it, in its own folder, used over HTTP.

Two checks run all the time: handlers read only declared parameters (watched.py), and responses match the OpenAPI
document (conformance.py)."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from tests import conformance, databases, zygote
from tests.transport import KNOWN, Transport

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "correct horse battery"
BARE = {"HELPDESK_STARTER_PACKAGE": "no"}  # tests count only their own records


def hears_ctrl_c() -> None:
    """Restores SIGINT in a process that is to be ended by Ctrl-C: tests in the background of a shell inherit that it is
    ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def surroundings(data: Path) -> dict[str, str]:
    """The environment of a process that uses the data folder `data`."""
    return {**os.environ, **BARE, **databases.environment(data)}


def command(
    *arguments: str, data: Path, stdin: bytes | None = None, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Runs `helpdesk ARGUMENTS --data DATA`; returns subprocess.CompletedProcess with bytes."""
    asked, environment = ["server", *arguments, "--data", str(data)], {**surroundings(data), **(env or {})}
    if zygote.CAN_FORK and not options:
        return zygote.run(asked, input=stdin, env=environment, timeout=120)
    return subprocess.run(
        [sys.executable, "-m", *asked], input=stdin, capture_output=True, cwd=ROOT, env=environment, timeout=120,
        **options,
    )  # fmt: skip


def started(module: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """A process of `python -m MODULE ...`."""
    if zygote.CAN_FORK:
        return zygote.Forked(module, **options)
    return subprocess.Popen([sys.executable, "-m", *module], **options)


class Server:
    """`helpdesk serve` on a free port. `url`: its address, `setup_link`: printed on a first start."""

    def __init__(
        self,
        data: Path,
        *flags: str,
        env: Mapping[str, str] | None = None,
        seconds_off: int = 0,
        is_first: bool = False,
    ) -> None:
        """seconds_off: offset of its clock from the clock of the machine. is_first: a new folder stays empty, so that
        the server itself creates the tables."""
        self.data = data
        if not is_first and not data.exists():
            databases.begin_folder(data)
        self.log = (data.parent / f"{data.name}.log").open("ab")
        moved = {"HELPDESK_CLOCK_OFFSET_SECONDS": str(seconds_off)} if seconds_off else {}
        asked = ["tests.watched", "serve", "--port", "0", "--data", str(data), "--no-open", *flags]
        self.process = started(
            asked, stdout=subprocess.PIPE, stderr=self.log, cwd=ROOT, env={**surroundings(data), **moved, **(env or {})}
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        match = re.match(r"listening on (http://\S+)$|\{.*\"event\": \"listening\", \"url\": \"(.*)\"\}$", line)
        if not match:
            self.process.wait(30)
            raise RuntimeError(f"the server did not start: {line!r} {Path(self.log.name).read_text()[-2000:]}")
        self.url = match[1] or match[2]
        self.lines = [self.process.stdout.readline().decode()]
        self.setup_link = ""
        if not self._has_administrator():
            self.lines.append(self.process.stdout.readline().decode())
            link = re.search(r"https?://[^\s\"]+", self.lines[-1])
            self.setup_link = link[0] if link is not None else ""  # another process on the same database printed it

    def _has_administrator(self) -> bool:
        return "setup link" not in requests.get(self.url + "/", timeout=30).text

    def stop(self) -> int:
        """Stops the server with SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self.log.close()
        return code

    def kill(self) -> None:
        """Kills the server with SIGKILL."""
        self.process.kill()
        self.process.wait(30)
        self.log.close()

    def set_up(self) -> "Api":
        """Makes nora the administrator through the setup link; returns her client."""
        form = {
            "first_name": "Nora", "last_name": "Berg", "email": "nora@desk.example", "timezone": "UTC",
            "password": PASSWORD, "password_again": PASSWORD,
        }  # fmt: skip
        with requests.Session() as browser:
            response = browser.post(self.setup_link, data=form, timeout=60)
            assert response.status_code == 200 and response.url.endswith("/setup/address"), response.text
            return Api(self.url, self._token(browser, response.text))

    def _token(self, browser: requests.Session, page: str) -> str:
        """A token from the form of the console: a command would start one more process per server. page: any page of
        the session, whose forms all have the same guard."""
        form = {"worker_id": "1", "expires": "1 day", "scopes[]": "api", "label": "Tests"}
        guard = re.search(r'name="_xsrf" value="([0-9a-f]+)"', page)
        assert guard is not None
        made = browser.post(f"{self.url}/admin/tokens/new", data={**form, "_xsrf": guard[1]}, timeout=60)
        shown = re.search(r"svc_at_[A-Za-z0-9_-]{43}", made.text)
        assert shown is not None, made.text
        return shown[0]


class Reply:
    """A response: status, headers, JSON body by key."""

    def __init__(self, response: requests.Response) -> None:
        self.response = response
        self.status = response.status_code
        self.headers = response.headers
        self.content = response.content

    @property
    def json(self) -> dict[str, Any]:
        found = self.response.json()
        assert isinstance(found, dict)
        return found

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def ok(self) -> "Reply":
        """Returns itself if it is a success."""
        assert self.status == 200, (self.status, self.response.text)
        return self

    def __repr__(self) -> str:
        return f"Reply({self.status}, {self.response.text[:500]})"


class Api:
    """A client with a worker's token. `people`: clients of other workers by name. is_checked: check every response
    against the OpenAPI document."""

    def __init__(self, url: str, token: str, is_checked: bool = True) -> None:
        self.url = url
        self.token = token
        self.is_checked = is_checked
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"Bearer {token}"
        self.session.trust_env = False  # ignores proxies and password files, which would be looked up for each request
        self._transport = Transport()
        self.people: dict[str, Api] = {}
        self.ids: dict[str, int] = {}

    def as_(self, name: str) -> "Api":
        return self.people[name]

    def call(self, method: str, path: str, **options: Any) -> Reply:
        response = self._answer(method, path, options)
        if self.is_checked:
            conformance.check(self.url, method, path, response)
        return Reply(response)

    def _answer(self, method: str, path: str, options: dict[str, Any]) -> requests.Response:
        if path.startswith("/rest/") and options.keys() <= KNOWN:
            return self._transport.send(self.url, method, path, {"Authorization": f"Bearer {self.token}"}, options)
        return self.session.request(method, self.url + path, timeout=60, **options)

    def get(self, path: str, **params: Any) -> Reply:
        return self.call("GET", path, params=params)

    def post(self, path: str, **form: Any) -> Reply:
        return self.call("POST", path, data=form)

    def put(self, path: str, **form: Any) -> Reply:
        return self.call("PUT", path, data=form)

    def patch(self, path: str, **form: Any) -> Reply:
        return self.call("PATCH", path, data=form)

    def delete(self, path: str) -> Reply:
        return self.call("DELETE", path)

    # -- shortcuts for the records API

    def create(self, uri: str, /, expand: str = "", **fields: Any) -> Reply:
        return self.call("POST", f"/rest/records/{uri}/create.json", data=sent(fields, expand=expand))

    def update(self, uri: str, id: int, /, expand: str = "", **fields: Any) -> Reply:
        return self.call("PUT", f"/rest/records/{uri}/{id}.json", data=sent(fields, expand=expand))

    def upsert(self, uri: str, query: str, /, expand: str = "", **fields: Any) -> Reply:
        return self.call("PATCH", f"/rest/records/{uri}/upsert.json", data=sent(fields, query=query, expand=expand))

    def record(self, uri: str, id: int, expand: str = "") -> Reply:
        return self.get(f"/rest/records/{uri}/{id}.json", **({"expand": expand} if expand else {}))

    def search(self, uri: str, q: str = "", **params: Any) -> Reply:
        subtotals = params.pop("subtotals", None)
        listed = {"subtotals[]": subtotals} if subtotals else {}
        return self.get(f"/rest/records/{uri}/search.json", q=q, **params, **listed)

    def found(self, uri: str, q: str) -> list[int]:
        """The ids that match a search, in order."""
        return [each["id"] for each in self.search(uri, q, limit=500).ok()["results"]]

    def remove(self, uri: str, id: int) -> Reply:
        return self.delete(f"/rest/records/{uri}/{id}.json")

    def parse(self, raw: bytes | str) -> Reply:
        return self.call("POST", "/rest/parser/parse.json", data={"message": raw})

    def compose(self, **values: Any) -> Reply:
        return self.post("/rest/tickets/compose.json", **values)

    def reply(self, **values: Any) -> Reply:
        return self.post("/rest/tickets/reply.json", **values)


def sent(fields: dict[str, Any], **more: Any) -> list[tuple[str, Any]]:
    """Fields in the encoding of a form: lists repeated with [], maps with [key]."""
    pairs = [(name, value) for name, value in more.items() if value != ""]
    for name, value in fields.items():
        pairs += _flat(f"fields[{name}]", value)
    return pairs


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [pair for item in value for pair in _flat(f"{name}[]", item)]
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _flat(f"{name}[{key}]", item)]
    return [(name, value)]


def people(nora: Api) -> None:
    """The named people of the tests: nora administers; milo is a member of Support; olga is in no group; dora is
    disabled. `private` is a group with nora as its only member."""
    support = nora.search("group", "default:yes").ok()["results"][0]["id"]
    nora.ids["support"] = support
    private = nora.create("group", name="Management", is_private=1).ok()["id"]
    nora.ids["private"] = private
    for name in ("milo", "olga", "dora"):
        made = nora.create(
            "worker", first_name=name.capitalize(), last_name="Test", email=f"{name}@desk.example",
            language="en_US", timezone="UTC", at_mention_name=name,
        ).ok()  # fmt: skip
        nora.ids[name] = made["id"]
        token = nora.post("/rest/oauth/tokens/create.json", worker_id=made["id"], expires="1 day").ok()
        nora.people[name] = Api(nora.url, token["access_token"])
    nora.update("group", support, members={"member": str(nora.ids["milo"])}).ok()
    nora.update("worker", nora.ids["dora"], is_disabled=1).ok()
    nora.people["nora"] = nora
    nora.ids["nora"] = nora.get("/rest/workers/me.json").ok()["id"]
    for each in nora.people.values():
        each.people, each.ids = nora.people, nora.ids
