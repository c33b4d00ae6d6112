"""Tests a built executable end to end, in an empty folder: python build/smoke.py dist/helpdesk

The output of `helpdesk describe` must equal that of the source, because nothing else reveals a module that the packager
missed. Then an email becomes a ticket, is found, answered and marked as spam, and survives a restart; a webhook
responds. Every scan runs meanwhile, and the log must contain no failure. The executable has an empty PATH, and must
leave no files behind. A browser follows the setup link of a second, empty data folder (smoke_browser.py). Finally, the
start time is compared with that of the source.

Needs the standard library, an interpreter with the packages of the source, and Playwright with Chromium; without a
browser, that part is skipped with a warning, or fails with --browser. This does not replace the tests.
"""

import argparse
import http.client
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import smoke_browser

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60  # the first start unpacks the executable and creates the database
STOP_SECONDS = 20
RESPONSE_SECONDS = 30
SCAN_SECONDS = 150  # one run of every scan; a round starts each minute
FAILURES = re.compile(r"Traceback|\b(?:scan|scheduler|job)\.failed\b")
STARTS = 3  # starts of each program; the fastest counts, because the machine may be busy
MAX_START_RATIO = 3  # start time of the executable over that of the source
PASSED_VARIABLES = ("SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "LOCALAPPDATA")  # Windows programs need them to start
WORKER = "nora@example.com"
WORD = "zeppelin"
EXPAND = "custom_,latest_message_,latest_message_content,requesters"

MAIL = "\r\n".join(
    [
        "From: Ana Ames <ana@example.com>",
        "To: help@desk.example",
        f"Subject: Leaking {WORD}",
        "Message-Id: <first@example.com>",
        "Date: Fri, 20 Nov 2026 09:30:00 +0000",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=iso-8859-1",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        f"The {WORD} loses gas. Gr=FC=DFe, Ana",
        "",
    ]
)
REPLY_MAIL = (
    MAIL.replace("<first@example.com>", "<second@example.com>")
    .replace("Subject: ", "In-Reply-To: <first@example.com>\r\nSubject: Re: ")
    .replace("loses gas", "is empty now")
)


class Failed(Exception):
    """A step had an unexpected result."""


class Program:
    """A program with its own data folder, working folder and environment."""

    def __init__(self, command: list[str], folder: Path, working_folder: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.data = folder / "data"
        self.log = folder / "serve.log"
        self.working_folder = working_folder
        self.environment = environment
        self.lines: queue.Queue[str] = queue.Queue()  # unread output of its server

    def run(self, *arguments: str, **variables: str) -> str:
        """Runs a command and returns its output. Raises Failed unless it exits with code 0."""
        completed = subprocess.run(
            [*self.command, *arguments], cwd=self.working_folder, env=self.environment | variables,
            capture_output=True, encoding="utf-8", timeout=START_SECONDS,
        )  # fmt: skip
        text = " ".join(arguments)
        error = completed.stderr.strip()[-2000:]
        expect(completed.returncode == 0, f"`{text}` exited with code {completed.returncode}: {error}")
        return completed.stdout

    def on_data(self, *arguments: str) -> str:
        """Runs a command on the data folder."""
        return self.run(*arguments, "--data", str(self.data))


class Api:
    """The REST API of the running server, with a token."""

    def __init__(self, address: str, token: str) -> None:
        self.host = urlsplit(address).netloc
        self.token = token

    def get(self, path: str, **params: str) -> dict[str, Any]:
        return self.call("GET", path + (f"?{urlencode(params)}" if params else ""), None)

    def post(self, path: str, **params: str) -> dict[str, Any]:
        return self.call("POST", path, urlencode(params))

    def call(
        self, method: str, path: str, body: str | None, status: int = 200, below: str = "/rest/"
    ) -> dict[str, Any]:
        """Returns the JSON of the response. Raises Failed with the response if its status differs."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self.host, timeout=RESPONSE_SECONDS)
        try:
            connection.request(method, f"{below}{path}", body, headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8")
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{method} {path}: {error!r}") from None
        finally:
            connection.close()
        expect(response.status == status, f"{method} {path} returned {response.status}, not {status}: {text[:1000]}")
        return json.loads(text)


def main() -> None:
    """Runs all steps. Exits with code 1 and a message at the first failure."""
    options = argparse.ArgumentParser(description="Test a built executable end to end.")
    options.add_argument("executable", type=Path, help="such as dist/helpdesk")
    options.add_argument("--browser", action="store_true", help="fail without a browser, instead of printing a warning")
    arguments = options.parse_args()
    executable = arguments.executable.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix="helpdesk-smoke-") as folder:
            built, source = packed(executable, Path(folder) / "built"), from_source(Path(folder) / "source")
            compare_registries(built, source)
            run_main_features(built)
            expect_nothing_left(built)
            kill_and_start_again(built)
            run_in_browser(packed(executable, Path(folder) / "browser"), is_required=arguments.browser)
            compare_starts(built, source)
    except (Failed, URLError) as failure:
        raise SystemExit(f"smoke: FAILED: {failure}") from None
    print("smoke: all steps passed")


def packed(executable: Path, folder: Path) -> Program:
    """Returns the executable in an empty folder, as on a machine without Python: its PATH has no programs."""
    for name in ("here", "unpacked", "programs"):
        (folder / name).mkdir(parents=True)
    unpacked = str(folder / "unpacked")
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ} | {
        "PATH": str(folder / "programs"), "TMPDIR": unpacked, "TEMP": unpacked, "TMP": unpacked,
    }  # fmt: skip
    return Program([str(executable)], folder, folder / "here", environment)


def from_source(folder: Path) -> Program:
    """Returns the source of this checkout, run by the same Python and compiled once, like an installed package."""
    folder.mkdir(parents=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("HELPDESK_")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    return Program([sys.executable, "-m", "server"], folder, ROOT, environment)


def compare_registries(built: Program, source: Program) -> None:
    """Checks that the executable contains all that the source contains: record types, commands, files and so on."""
    has_all, wants_all = (json.loads(each.run("describe", "--json")) for each in (built, source))
    expect(len(wants_all["record_types"]) > 0, "the source has no record types")
    for part in sorted({*has_all, *wants_all}):
        has, wants = names(has_all.get(part)), names(wants_all.get(part))
        expect(
            has == wants, f"{part}: only in the source {sorted(wants - has)}; only in the build {sorted(has - wants)}"
        )
        expect(len(wants) > 0 or part == "migrations", f"the source has no {part}")
    expect(has_all == wants_all, "the descriptions differ between executable and source, although the names are equal")
    counts = ", ".join(f"{len(content)} {part.replace('_', ' ')}" for part, content in wants_all.items())
    say(f"registries equal those of the source: {counts}")
    version, wanted = built.run("--version"), source.run("--version")
    expect(version == wanted, f"--version prints {version!r}, but from source {wanted!r}")
    licenses = built.run("licenses")
    missing = [
        name for name in ("Python", "tornado", "apsw", "pyinstaller") if not re.search(rf"(?m)^{name} ", licenses)
    ]
    expect(not missing, f"`licenses` does not list {missing}")
    say(f"version and licences: {version.strip()}")


def run_main_features(built: Program) -> None:
    """Tests the main features, then a restart."""
    with serving(built) as address:
        check_console(address)
        token = set_up(built)
        api = Api(address, token)
        ticket_id = work_a_ticket(api)
        import_mail(built)
        expect_imported(api, ticket_id)
        call_webhook(built, api)
        learn_spam(built, api, address)
    with serving(built) as address:
        output = built.run("api", "GET", f"records/ticket/{ticket_id}.json", HELPDESK_URL=address, HELPDESK_TOKEN=token)
        status = json.loads(output)["status"]
        expect(status == "waiting", f"after the restart, the status of the ticket is {status}, not waiting")
        say("restart: `helpdesk api` returns the ticket unchanged")
    built.on_data("check")
    say("check: clean")
    expect_no_failure(built)


def check_console(address: str) -> None:
    """Checks a page and a static file: they are data files, and the packager omits those that are not listed."""
    for path in ("/", "/static/console.css"):
        with urlopen(address + path, timeout=RESPONSE_SECONDS) as response:
            is_good = response.status == 200 and len(response.read()) > 0
            expect(is_good, f"{path} returned {response.status} or an empty body")
    say("console: served its first page and its style sheet")


def set_up(built: Program) -> str:
    """Creates an administrator and her token with the command line while the server runs; returns the token."""
    password = built.data.parent / "password"
    password.write_text("correct horse battery staple\n", "utf-8")
    person = ["--email", WORKER, "--first-name", "Nora", "--last-name", "North", "--admin"]
    built.on_data("worker", "create", *person, "--password-file", str(password))
    token = built.on_data("token", "create", "--worker", WORKER).strip()
    expect(bool(re.fullmatch(r"\S+", token)), "`token create` must print the token and nothing else")
    say("command line: created a worker and a token")
    return token


def work_a_ticket(api: Api) -> int:
    """Receives an email, finds, reads and answers its ticket, and composes another. Returns the ticket id."""
    expect(api.get("workers/me.json")["first_name"] == "Nora", "workers/me is not the worker of the token")
    refused = Api(f"http://{api.host}", "").call("GET", "workers/me.json", None, status=401)
    expect(refused["__status"] == "error", "a request without a token must get an error response")

    parsed = api.post("parser/parse.json", message=MAIL)
    ticket_id = parsed["id"]
    again = api.post("parser/parse.json", message=MAIL)
    expect(again["id"] == ticket_id, "importing the same email again must return the same ticket")
    say(f"incoming mail: created ticket {ticket_id} with mask {parsed['mask']}")

    result = api.get("records/ticket/search.json", q=f"{WORD} status:open")
    expect([row["id"] for row in result["results"]] == [ticket_id], f"search for '{WORD}' returned {result}")
    ticket = api.get(f"records/ticket/{ticket_id}.json", expand=EXPAND)
    expect(
        "Grüße" in ticket["latest_message_content"],
        f"the message is {ticket['latest_message_content']!r}",
    )
    expect("ana@example.com" in json.dumps(ticket["requesters"]), f"the requesters are {ticket['requesters']}")
    say("search and expand: found the ticket by a word, with the right text and requester")

    reply = {"message_id": str(parsed["last_message_id"]), "content": "Please send it **in**.", "dont_send": "1"}
    replied = api.post("tickets/reply.json", content_format="markdown", status="1", reopen_at="+2 days", **reply)
    expect(replied["status"] == "waiting", f"after the reply, the status is {replied['status']}, not waiting")
    expect(replied["num_messages"] == 2, f"after the reply the ticket has {replied['num_messages']} messages")
    compose(api)
    return ticket_id


def compose(api: Api) -> None:
    group = api.get("records/group/search.json", limit="1")["results"][0]
    mail = {"to": "milo@example.com", "subject": "Your order", "content": "It is on its way."}
    composed = api.post("tickets/compose.json", group_id=str(group["id"]), dont_send="1", **mail)
    expect(composed["group_id"] == group["id"], f"the new ticket is in group {composed['group_id']}")
    say("reply and compose: the status, the messages and the group are right")


def import_mail(built: Program) -> None:
    """Imports the reply of the requester with the command line."""
    file = built.data.parent / "reply.eml"
    file.write_bytes(REPLY_MAIL.encode("ascii"))
    built.on_data("mail", "import", str(file))


def expect_imported(api: Api, ticket_id: int) -> None:
    ticket = api.get(f"records/ticket/{ticket_id}.json")
    expect((ticket["status"], ticket["num_messages"]) == ("waiting", 3), f"after the import, the ticket is {ticket}")
    say("mail import: the reply was added to the same ticket, which is still waiting")


def call_webhook(built: Program, api: Api) -> None:
    """Imports a package with a webhook, and calls the webhook without a token."""
    answers = ["--answer", "name=Smoke", "--answer", "answers=yes"]
    imported = json.loads(built.on_data("package", "import", "webhook-responder", *answers))
    webhook = api.get("records/webhook_listener/search.json", q='name:"Smoke"')["results"][0]
    expect(bool(imported["records_created"]), f"the import of the package returned {imported}")
    caller = Api(f"http://{api.host}", "")
    response = caller.call("POST", f"{webhook['guid']}?color=blue", "paid=yes", below="/webhooks/")
    expect((response["method"], response["params"].get("color")) == ("POST", "blue"), f"the webhook: {response}")
    say("webhook: its automation ran and responded")


def learn_spam(built: Program, api: Api, address: str) -> None:
    """Marks an email as spam, and waits until every scan has run; one of them learns its words."""
    mail = MAIL.replace("first@", "prize@").replace(WORD, "lottery")
    ticket_id = api.post("parser/parse.json", message=mail)["id"]
    api.call("PUT", f"records/ticket/{ticket_id}.json", urlencode({"fields[spam_training]": "S"}))
    wait_for_scans(built, address, int(time.time()) + 1)
    say("scans: all have run since an email was marked as spam")


def wait_for_scans(built: Program, address: str, since: int) -> None:
    """Waits until every scan has run. since: Unix seconds. Raises Failed if a scan fails or does not run in time."""
    wanted = set(json.loads(built.run("describe", "--json"))["scans"])
    deadline = time.monotonic() + SCAN_SECONDS
    while True:
        runs = metric(address, "helpdesk_scan_timestamp_seconds", "scan")
        late = {name for name in wanted if runs.get(name, 0) < since}
        failing = {name for name, times in metric(address, "helpdesk_scan_failures", "scan").items() if times}
        expect(not failing, f"these scans failed: {sorted(failing)}")
        if not late:
            return
        expect(time.monotonic() < deadline, f"these scans did not run within {SCAN_SECONDS} s: {sorted(late)}")
        time.sleep(1)


def metric(address: str, name: str, label: str) -> dict[str, float]:
    """Returns {label: value} of a metric of /metrics."""
    with urlopen(address + "/metrics", timeout=RESPONSE_SECONDS) as response:
        text = response.read().decode("utf-8")
    return {label: float(value) for label, value in re.findall(rf'(?m)^{name}{{{label}="([^"]*)"}} (\S+)$', text)}


def expect_no_failure(built: Program) -> None:
    """Checks the log for failures: background work reports them nowhere else."""
    lines = built.log.read_text("utf-8", "replace").splitlines()
    failed = next((place for place, line in enumerate(lines) if FAILURES.search(line)), None)
    expect(failed is None, "the log contains a failure:\n" + "\n".join(lines[failed or 0 :][:40]))
    say("log: no failures")


def run_in_browser(built: Program, is_required: bool) -> None:
    """Tests the first start, the setup, the login and a page in a browser."""
    missing = smoke_browser.missing()
    if missing:
        expect(not is_required, f"the test in a browser cannot run: {missing}")
        say(f"WARNING: SKIPPED THE TEST IN A BROWSER: {missing}")
        return
    with serving(built) as address:
        link = announced(built, r"setup link\s+(\S+)")
        try:
            smoke_browser.walk(address, link)
        except smoke_browser.Wrong as wrong:
            raise Failed(f"in the browser: {wrong}") from None
    expect_nothing_left(built)
    expect_no_failure(built)
    say("browser: setup link, first step, sign-out and sign-in, a page; no errors in its console")


def expect_nothing_left(built: Program) -> None:
    """Checks that the executable removed its unpacked files and wrote no files into its working folder."""
    for name in ("here", "unpacked"):
        left = sorted(path.name for path in (built.data.parent / name).iterdir())
        expect(not left, f"files left in the folder '{name}': {left}")
    say("files: none left behind")


def kill_and_start_again(built: Program) -> None:
    """Checks that the next start removes the files of a killed executable."""
    if sys.platform != "linux":
        return
    unpacked = built.data.parent / "unpacked"
    with suppress(Failed), serving(built, is_verbose=False):
        holder = re.match(r"process (\d+) ", (built.data / "helpdesk.lock").read_text("utf-8"))
        assert holder is not None
        for pid in (
            parent_of(int(holder[1])),
            int(holder[1]),
        ):  # the parent first, since it cleans up
            os.kill(pid, signal.SIGKILL)
    left = list(unpacked.iterdir())
    expect(len(left) == 1, f"a killed executable left {left} instead of one folder")
    with serving(built, is_verbose=False):
        deadline = time.monotonic() + START_SECONDS
        while left[0].exists():
            expect(time.monotonic() < deadline, f"the next start did not remove {left[0]} of a killed executable")
            time.sleep(0.1)
    expect_nothing_left(built)
    say("kill: the next start removed the files of the killed executable")


def parent_of(pid: int) -> int:
    """Returns the id of the parent process."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    match = re.search(r"(?m)^PPid:\s+(\d+)$", status)
    assert match is not None
    return int(match[1])


def compare_starts(built: Program, source: Program) -> None:
    """Compares the time from the command to the first response, with an existing database."""
    with serving(source):
        pass
    starts = [(start_seconds(built), start_seconds(source)) for _ in range(STARTS)]  # in turn, as the load varies
    built_seconds, source_seconds = (min(each) for each in zip(*starts, strict=True))
    ratio = built_seconds / source_seconds
    say(f"start to first response: {built_seconds:.2f} s, {ratio:.1f} times the {source_seconds:.2f} s of the source")
    expect(ratio <= MAX_START_RATIO, f"the executable takes more than {MAX_START_RATIO} times as long to start")


def start_seconds(program: Program) -> float:
    """Returns the seconds from the start of a server to its first response."""
    started = time.perf_counter()
    with serving(program, is_verbose=False) as address, urlopen(address + "/", timeout=RESPONSE_SECONDS):
        return time.perf_counter() - started


@contextmanager
def serving(program: Program, is_verbose: bool = True) -> Iterator[str]:
    """Starts a server, yields its address, and stops it. It must exit with code 0 on SIGTERM."""
    command = [*program.command, "serve", "--port", "0", "--data", str(program.data), "--no-open"]
    with program.log.open("ab") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=program.working_folder,
            env=program.environment,
        )  # fmt: skip
    try:
        program.lines = lines_of(process)
        address = announced(program, r"listening on (http://\S+)")
        if is_verbose:
            say(f"start: {address}")
        yield address
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_SECONDS)
        expect(code == 0, f"the server exited with code {code} on SIGTERM:\n{tail(program.log)}")
        if is_verbose:
            say("stop: exit code 0")
    except subprocess.TimeoutExpired:
        raise Failed(f"the server did not stop within {STOP_SECONDS} s after SIGTERM:\n{tail(program.log)}") from None
    except Failed as failure:
        raise Failed(f"{failure}\n--- log of the server:\n{tail(program.log)}") from None
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ends a process after a failure. SIGTERM first: an executable is two processes, and SIGKILL ends only one."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def lines_of(process: subprocess.Popen[str]) -> "queue.Queue[str]":
    """Returns the output lines of a process, then "". A thread reads them, so that the pipe cannot fill up."""
    lines: queue.Queue[str] = queue.Queue()

    def pump() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=pump, daemon=True).start()
    return lines


def announced(program: Program, pattern: str) -> str:
    """Waits for an output line that matches a pattern, and returns the first group of the match."""
    while True:
        try:
            line = program.lines.get(timeout=START_SECONDS)
        except queue.Empty:
            raise Failed(f"the server printed nothing for {START_SECONDS} s:\n{tail(program.log)}") from None
        if not line:
            raise Failed(f"the server exited before it printed '{pattern}':\n{tail(program.log)}")
        match = re.match(pattern, line)
        if match:
            return match[1]


def names(part: object) -> set[str]:
    """Returns the names in one part of the registry, a map or a list."""
    if isinstance(part, dict):
        return set(part)
    if isinstance(part, list):
        return {item if isinstance(item, str) else json.dumps(item, sort_keys=True) for item in part}
    return set()


def tail(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-3000:]


def expect(is_true: bool, message: str) -> None:
    if not is_true:
        raise Failed(message)


def say(text: str) -> None:
    print(f"smoke: {text}", flush=True)


if __name__ == "__main__":
    main()
