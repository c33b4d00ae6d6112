"""Walks through the main job with a built executable, in an empty folder: python build/smoke.py dist/helpdesk

First it compares everything that the executable describes with the source, because a module that the packager missed
would show nowhere else. Then a mail becomes a ticket, is found, replied to, judged as spam, and is still there after a
restart; a webhook responds. Every scan runs during the walk, and the log must contain no failure. The PATH of the
executable is empty, and it must leave no files. In a second empty folder a browser follows the setup link
(smoke_browser.py). Last, the start is timed and compared with the start of the source.

Needs only the standard library, an interpreter with the packages of the source for the comparisons, and Playwright and
Chromium for the browser; without these that walk is skipped with a warning, or fails with --browser. It does not
replace the tests.
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
START_SECONDS = 60  # the first start unpacks the executable and makes the database
STOP_SECONDS = 20
ANSWER_SECONDS = 30
SCAN_SECONDS = 150  # one round of every scan; a round begins each minute
FAILURES = re.compile(r"Traceback|\b(?:scan|scheduler|job)\.failed\b")
STARTS = 3  # starts of each program; the fastest counts, since the machine may be busy
MAX_START_RATIO = 3  # start time of the executable over that of the source
KEPT_VARIABLES = ("SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "LOCALAPPDATA")  # Windows starts no program without them
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
ANSWER_MAIL = (
    MAIL.replace("<first@example.com>", "<second@example.com>")
    .replace("Subject: ", "In-Reply-To: <first@example.com>\r\nSubject: Re: ")
    .replace("loses gas", "is empty now")
)


class Failed(Exception):
    """A step of the walk did not do what it should."""


class Program:
    """A program with its own folder, environment and working folder."""

    def __init__(self, command: list[str], folder: Path, working_folder: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.data = folder / "data"
        self.log = folder / "serve.log"
        self.working_folder = working_folder
        self.environment = environment
        self.lines: queue.Queue[str] = queue.Queue()  # what a server of it said, and nobody asked for yet

    def run(self, *arguments: str, **variables: str) -> str:
        """The output of a command. Raises Failed unless it exits with code 0."""
        done = subprocess.run(
            [*self.command, *arguments], cwd=self.working_folder, env=self.environment | variables,
            capture_output=True, encoding="utf-8", timeout=START_SECONDS,
        )  # fmt: skip
        shown = " ".join(arguments)
        expect(done.returncode == 0, f"`{shown}` ended with code {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def on_data(self, *arguments: str) -> str:
        """The same, for a command on the data folder."""
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
        """The answer's JSON. Raises Failed for another status, showing the answer."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self.host, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, f"{below}{path}", body, headers)
            answer = connection.getresponse()
            text = answer.read().decode("utf-8")
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{method} {path}: {error!r}") from None
        finally:
            connection.close()
        expect(answer.status == status, f"{method} {path} answered {answer.status}, not {status}: {text[:1000]}")
        return json.loads(text)


def main() -> None:
    """Exit code 0 when every step did what it should, else 1 with the step's complaint."""
    options = argparse.ArgumentParser(description="Walk through the main job with a built executable.")
    options.add_argument("executable", type=Path, help="such as dist/helpdesk")
    options.add_argument("--browser", action="store_true", help="fail where there is no browser, instead of a warning")
    asked = options.parse_args()
    executable = asked.executable.resolve()
    try:
        with tempfile.TemporaryDirectory(prefix="helpdesk-smoke-") as folder:
            built, source = packed(executable, Path(folder) / "built"), from_source(Path(folder) / "source")
            compare_registries(built, source)
            walk(built)
            expect_nothing_left(built)
            kill_and_start_again(built)
            walk_in_a_browser(packed(executable, Path(folder) / "browser"), is_required=asked.browser)
            compare_starts(built, source)
    except (Failed, URLError) as failure:
        raise SystemExit(f"smoke: FAILED: {failure}") from None
    print("smoke: all steps passed")


def packed(executable: Path, folder: Path) -> Program:
    """The executable in an empty folder, on a machine without Python: the PATH leads to a folder without programs."""
    for name in ("here", "unpacked", "programs"):
        (folder / name).mkdir(parents=True)
    unpacked = str(folder / "unpacked")
    environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {
        "PATH": str(folder / "programs"), "TMPDIR": unpacked, "TEMP": unpacked, "TMP": unpacked,
    }  # fmt: skip
    return Program([str(executable)], folder, folder / "here", environment)


def from_source(folder: Path) -> Program:
    """The source next to this script, run by the same Python; compiled once, as an installed one is."""
    folder.mkdir(parents=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith("HELPDESK_")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    return Program([sys.executable, "-m", "server"], folder, ROOT, environment)


def compare_registries(built: Program, source: Program) -> None:
    """The executable must know exactly what the source knows: record types, commands, filters, files and all else."""
    has_all, wants_all = (json.loads(each.run("describe", "--json")) for each in (built, source))
    expect(len(wants_all["record_types"]) > 0, "the source knows no record types")
    for part in sorted({*has_all, *wants_all}):
        has, wants = names(has_all.get(part)), names(wants_all.get(part))
        expect(has == wants, f"{part}: only in the source {sorted(wants - has)}; only built in {sorted(has - wants)}")
        expect(len(wants) > 0 or part == "migrations", f"the source knows no {part}")
    expect(has_all == wants_all, "the names are the same, but their descriptions differ between executable and source")
    counts = ", ".join(f"{len(found)} {part.replace('_', ' ')}" for part, found in wants_all.items())
    say(f"registries, the same as in the source: {counts}")
    version, wanted = built.run("--version"), source.run("--version")
    expect(version == wanted, f"--version tells {version!r}, and from source {wanted!r}")
    told = built.run("licenses")
    missing = [name for name in ("Python", "tornado", "apsw", "pyinstaller") if not re.search(rf"(?m)^{name} ", told)]
    expect(not missing, f"`licenses` does not tell of {missing}")
    say(f"version and licences: {version.strip()}")


def walk(built: Program) -> None:
    """The main job, then a restart."""
    with serving(built) as address:
        look_at_console(address)
        token = set_up(built)
        api = Api(address, token)
        ticket_id = work_a_ticket(api)
        import_mail(built)
        expect_imported(api, ticket_id)
        call_webhook(built, api)
        learn_spam(built, api, address)
    with serving(built) as address:
        told = built.run("api", "GET", f"records/ticket/{ticket_id}.json", HELPDESK_URL=address, HELPDESK_TOKEN=token)
        kept = json.loads(told)
        expect(kept["status"] == "waiting", f"after the restart the ticket is {kept['status']}, not waiting")
        say("restart: everything is still there, as `helpdesk api` tells")
    built.on_data("check")
    say("check: clean")
    expect_no_failure(built)


def look_at_console(address: str) -> None:
    """Checks pages and static files: they are data, and a packager leaves out data that is not listed."""
    for path in ("/", "/static/console.css"):
        with urlopen(address + path, timeout=ANSWER_SECONDS) as answer:
            expect(answer.status == 200 and len(answer.read()) > 0, f"{path} answered {answer.status} or nothing")
    say("console: its first page and its style sheet are there")


def set_up(built: Program) -> str:
    """Make an administrator and a token for her, through the command line, while the server runs."""
    password = built.data.parent / "password"
    password.write_text("correct horse battery staple\n", "utf-8")
    person = ["--email", WORKER, "--first-name", "Nora", "--last-name", "North", "--admin"]
    built.on_data("worker", "create", *person, "--password-file", str(password))
    token = built.on_data("token", "create", "--worker", WORKER).strip()
    expect(bool(re.fullmatch(r"\S+", token)), "`token create` must print the token and nothing else")
    say("command line: worker and token made")
    return token


def work_a_ticket(api: Api) -> int:
    """Mail in, find, read, answer, compose. Returns the ticket's id."""
    expect(api.get("workers/me.json")["first_name"] == "Nora", "workers/me does not know the token's worker")
    refused = Api(f"http://{api.host}", "").call("GET", "workers/me.json", None, status=401)
    expect(refused["__status"] == "error", "a request without a token must be answered with the error envelope")

    parsed = api.post("parser/parse.json", message=MAIL)
    ticket_id = parsed["id"]
    again = api.post("parser/parse.json", message=MAIL)
    expect(again["id"] == ticket_id, "the same mail again must give the same ticket")
    say(f"mail in: ticket {ticket_id}, mask {parsed['mask']}")

    found = api.get("records/ticket/search.json", q=f"{WORD} status:open")
    expect([row["id"] for row in found["results"]] == [ticket_id], f"search for '{WORD}' found {found}")
    ticket = api.get(f"records/ticket/{ticket_id}.json", expand=EXPAND)
    expect("Grüße" in ticket["latest_message_content"], f"the text came out as {ticket['latest_message_content']!r}")
    expect("ana@example.com" in json.dumps(ticket["requesters"]), f"the requesters are {ticket['requesters']}")
    say("search and expand: found by a word, text and requester are right")

    answer = {"message_id": str(parsed["last_message_id"]), "content": "Please send it **in**.", "dont_send": "1"}
    replied = api.post("tickets/reply.json", content_format="markdown", status="1", reopen_at="+2 days", **answer)
    expect(replied["status"] == "waiting", f"after the reply the ticket is {replied['status']}, not waiting")
    expect(replied["num_messages"] == 2, f"after the reply the ticket has {replied['num_messages']} messages")
    compose(api)
    return ticket_id


def compose(api: Api) -> None:
    group = api.get("records/group/search.json", limit="1")["results"][0]
    mail = {"to": "milo@example.com", "subject": "Your order", "content": "It is on its way."}
    composed = api.post("tickets/compose.json", group_id=str(group["id"]), dont_send="1", **mail)
    expect(composed["group_id"] == group["id"], f"the new ticket is in group {composed['group_id']}")
    say("reply and compose: status, messages and group are right")


def import_mail(built: Program) -> None:
    """Feed the requester's answer in through the command line."""
    file = built.data.parent / "answer.eml"
    file.write_bytes(ANSWER_MAIL.encode("ascii"))
    built.on_data("mail", "import", str(file))


def expect_imported(api: Api, ticket_id: int) -> None:
    ticket = api.get(f"records/ticket/{ticket_id}.json")
    expect((ticket["status"], ticket["num_messages"]) == ("waiting", 3), f"after the answer the ticket is {ticket}")
    say("mail import: the answer landed on the same ticket, as history that leaves it waiting")


def call_webhook(built: Program, api: Api) -> None:
    """Import the shipped package with a webhook, and call it as a stranger would."""
    answers = ["--answer", "name=Smoke", "--answer", "answers=yes"]
    made = json.loads(built.on_data("package", "import", "webhook-responder", *answers))
    webhook = api.get("records/webhook_listener/search.json", q='name:"Smoke"')["results"][0]
    expect(bool(made["records_created"]), f"the package made {made}")
    stranger = Api(f"http://{api.host}", "")
    told = stranger.call("POST", f"{webhook['guid']}?color=blue", "paid=yes", below="/webhooks/")
    expect((told["method"], told["params"].get("color")) == ("POST", "blue"), f"the webhook answered {told}")
    say("webhook: its automation ran and answered")


def learn_spam(built: Program, api: Api, address: str) -> None:
    """Judge a mail as spam, and let every scan run: one of them learns its words."""
    mail = MAIL.replace("first@", "prize@").replace(WORD, "lottery")
    ticket_id = api.post("parser/parse.json", message=mail)["id"]
    api.call("PUT", f"records/ticket/{ticket_id}.json", urlencode({"fields[spam_training]": "S"}))
    wait_for_scans(built, address, int(time.time()) + 1)
    say("scans: each has run since a mail was judged as spam")


def wait_for_scans(built: Program, address: str, since: int) -> None:
    """Return when every scan has run at or after `since`, in Unix seconds. Raises Failed for one that fails."""
    wanted = set(json.loads(built.run("describe", "--json"))["scans"])
    deadline = time.monotonic() + SCAN_SECONDS
    while True:
        runs = metric(address, "helpdesk_scan_timestamp_seconds", "scan")
        late = {name for name in wanted if runs.get(name, 0) < since}
        failing = {name for name, times in metric(address, "helpdesk_scan_failures", "scan").items() if times}
        expect(not failing, f"scans that failed: {sorted(failing)}")
        if not late:
            return
        expect(time.monotonic() < deadline, f"scans that did not run within {SCAN_SECONDS} s: {sorted(late)}")
        time.sleep(1)


def metric(address: str, name: str, label: str) -> dict[str, float]:
    """{label: value} of one of the numbers of /metrics."""
    with urlopen(address + "/metrics", timeout=ANSWER_SECONDS) as answer:
        text = answer.read().decode("utf-8")
    return {label: float(value) for label, value in re.findall(rf'(?m)^{name}{{{label}="([^"]*)"}} (\S+)$', text)}


def expect_no_failure(built: Program) -> None:
    """Nothing may have failed unseen: what runs by itself says so in the log alone."""
    lines = built.log.read_text("utf-8", "replace").splitlines()
    failed = next((place for place, line in enumerate(lines) if FAILURES.search(line)), None)
    expect(failed is None, "the log tells of a failure:\n" + "\n".join(lines[failed or 0 :][:40]))
    say("log: no failure")


def walk_in_a_browser(built: Program, is_required: bool) -> None:
    """First start, setup, signing in and a page, as a person sees them."""
    missing = smoke_browser.missing()
    if missing:
        expect(not is_required, f"no walk in a browser: {missing}")
        say(f"WARNING: THE WALK IN A BROWSER IS LEFT OUT: {missing}")
        return
    with serving(built) as address:
        link = announced(built, r"setup link\s+(\S+)")
        try:
            smoke_browser.walk(address, link)
        except smoke_browser.Wrong as wrong:
            raise Failed(f"in the browser: {wrong}") from None
    expect_nothing_left(built)
    expect_no_failure(built)
    say("browser: setup link, first step, signing out and in, a page; no error in its console")


def expect_nothing_left(built: Program) -> None:
    """Checks that the executable removes its unpacked files and writes none into the folder in which it was started."""
    for name in ("here", "unpacked"):
        left = sorted(path.name for path in (built.data.parent / name).iterdir())
        expect(not left, f"left behind in the folder '{name}': {left}")
    say("nothing is left behind")


def kill_and_start_again(built: Program) -> None:
    """The next start removes the files that a killed executable left."""
    if sys.platform != "linux":
        return
    unpacked = built.data.parent / "unpacked"
    with suppress(Failed), serving(built, is_told=False):
        holder = re.match(r"process (\d+) ", (built.data / "helpdesk.lock").read_text("utf-8"))
        assert holder is not None
        for pid in (parent_of(int(holder[1])), int(holder[1])):  # else the parent cleans up after its child
            os.kill(pid, signal.SIGKILL)
    left = list(unpacked.iterdir())
    expect(len(left) == 1, f"a killed executable left {left}, and not one folder")
    with serving(built, is_told=False):
        deadline = time.monotonic() + START_SECONDS
        while left[0].exists():
            expect(time.monotonic() < deadline, f"the next start left {left[0]} of a killed executable")
            time.sleep(0.1)
    expect_nothing_left(built)
    say("kill: the next start removed what was left")


def parent_of(pid: int) -> int:
    """The process that started another one."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    found = re.search(r"(?m)^PPid:\s+(\d+)$", status)
    assert found is not None
    return int(found[1])


def compare_starts(built: Program, source: Program) -> None:
    """From the command to the first answer, on a database that is there."""
    with serving(source):
        pass
    starts = [(start_seconds(built), start_seconds(source)) for _ in range(STARTS)]  # in turn, as others come and go
    of_built, of_source = (min(each) for each in zip(*starts, strict=True))
    ratio = of_built / of_source
    say(f"start to first answer: {of_built:.2f} s, from source {of_source:.2f} s, so {ratio:.1f} times")
    expect(ratio <= MAX_START_RATIO, f"the executable takes more than {MAX_START_RATIO} times as long to start")


def start_seconds(program: Program) -> float:
    """Seconds from the start of a server to its first answer."""
    begun = time.perf_counter()
    with serving(program, is_told=False) as address, urlopen(address + "/", timeout=ANSWER_SECONDS):
        return time.perf_counter() - begun


@contextmanager
def serving(program: Program, is_told: bool = True) -> Iterator[str]:
    """A running server; its address. It must stop by itself, with exit code 0, on SIGTERM."""
    command = [*program.command, "serve", "--port", "0", "--data", str(program.data), "--no-open"]
    with program.log.open("ab") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=program.working_folder,
            env=program.environment,
        )  # fmt: skip
    try:
        program.lines = lines_of(process)
        address = announced(program, r"listening on (http://\S+)")
        if is_told:
            say(f"start: {address}")
        yield address
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_SECONDS)
        expect(code == 0, f"SIGTERM ended the server with code {code}:\n{tail(program.log)}")
        if is_told:
            say("stop: exit code 0")
    except subprocess.TimeoutExpired:
        raise Failed(f"the server did not stop within {STOP_SECONDS} s of SIGTERM:\n{tail(program.log)}") from None
    except Failed as failure:
        raise Failed(f"{failure}\n--- log of the server:\n{tail(program.log)}") from None
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End it after a failure. SIGTERM first: a one-file executable is two processes, and a kill reaches only one."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def lines_of(process: subprocess.Popen[str]) -> "queue.Queue[str]":
    """The output of a process, line by line, and "" at its end. A thread reads it, so that the pipe never fills up."""
    lines: queue.Queue[str] = queue.Queue()

    def pump() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=pump, daemon=True).start()
    return lines


def announced(program: Program, form: str) -> str:
    """The first group of the first output line of a started server that matches a pattern."""
    while True:
        try:
            line = program.lines.get(timeout=START_SECONDS)
        except queue.Empty:
            raise Failed(f"the server said nothing for {START_SECONDS} s:\n{tail(program.log)}") from None
        if not line:
            raise Failed(f"the server ended before it said '{form}':\n{tail(program.log)}")
        found = re.match(form, line)
        if found:
            return found[1]


def names(part: object) -> set[str]:
    """The names in one part of the registry, which is a map or a list."""
    if isinstance(part, dict):
        return set(part)
    if isinstance(part, list):
        return {item if isinstance(item, str) else json.dumps(item, sort_keys=True) for item in part}
    return set()


def tail(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-3000:]


def expect(holds: bool, complaint: str) -> None:
    if not holds:
        raise Failed(complaint)


def say(text: str) -> None:
    print(f"smoke: {text}", flush=True)


if __name__ == "__main__":
    main()
