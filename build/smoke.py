"""Walks through the main job with a built executable, from an empty folder: python build/smoke.py dist/helpdesk

First its registry is compared with that of the source, because modules that a packager missed show nowhere else. Then:
mail becomes a ticket, is found, answered, and is still there after a restart. Needs only the standard library, and for
the comparison an interpreter that has what the source needs. Not a replacement for the tests.
"""

import http.client
import json
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60  # the first start unpacks the executable and makes the database
STOP_SECONDS = 20
ANSWER_SECONDS = 30
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


class Api:
    """The REST API of the running server, with a token."""

    def __init__(self, address: str, token: str) -> None:
        self.host = urlsplit(address).netloc
        self.token = token

    def get(self, path: str, **params: str) -> dict[str, Any]:
        return self.call("GET", path + (f"?{urlencode(params)}" if params else ""), None)

    def post(self, path: str, **params: str) -> dict[str, Any]:
        return self.call("POST", path, urlencode(params))

    def call(self, method: str, path: str, body: str | None, status: int = 200) -> dict[str, Any]:
        """The answer's JSON. Raises Failed for another status, showing the answer."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(self.host, timeout=ANSWER_SECONDS)
        try:
            connection.request(method, f"/rest/{path}", body, headers)
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
    if len(sys.argv) != 2:
        raise SystemExit("usage: python build/smoke.py path/to/helpdesk")
    executable = str(Path(sys.argv[1]).resolve())
    try:
        compare_registries(executable)
        with tempfile.TemporaryDirectory(prefix="helpdesk-smoke-") as folder:
            walk(executable, Path(folder))
    except (Failed, URLError) as failure:
        raise SystemExit(f"smoke: FAILED: {failure}") from None
    print("smoke: all steps passed")


def compare_registries(executable: str) -> None:
    """The executable must know exactly the record types, field kinds and endpoints that the source knows."""
    built = json.loads(run([executable], "describe", "--json"))
    source = json.loads(run([sys.executable, "-m", "server"], "describe", "--json"))
    expect(len(source["record_types"]) > 0, "the source knows no record types")
    for part in sorted(set(built) | set(source)):
        has, wants = names(built.get(part)), names(source.get(part))
        expect(has == wants, f"{part}: only in the source {sorted(wants - has)}; only built in {sorted(has - wants)}")
    expect(built == source, "the names are the same, but their descriptions differ between executable and source")
    say(f"registry: {len(built['record_types'])} record types, the same as in the source")


def walk(executable: str, folder: Path) -> None:
    """The main job, then a restart."""
    data = folder / "data"
    with serving(executable, data, folder / "serve.log") as address:
        look_at_console(address)
        token = set_up(executable, data, folder)
        ticket_id = work_a_ticket(Api(address, token))
        import_mail(executable, data, folder)
        expect_imported(Api(address, token), ticket_id)
    with serving(executable, data, folder / "serve.log") as address:
        kept = Api(address, token).get(f"records/ticket/{ticket_id}.json")
        expect(kept["status"] == "open", f"after the restart the ticket is {kept['status']}, not open")
        say("restart: everything is still there")
    run([executable], "check", "--data", str(data))
    say("check: clean")


def look_at_console(address: str) -> None:
    """Its pages and files are data to a packager, which leaves out what it is not told of."""
    for path in ("/", "/static/console.css"):
        with urlopen(address + path, timeout=ANSWER_SECONDS) as answer:
            expect(answer.status == 200 and len(answer.read()) > 0, f"{path} answered {answer.status} or nothing")
    say("console: its first page and its style sheet are there")


def set_up(executable: str, data: Path, folder: Path) -> str:
    """Make an administrator and a token for her, through the command line, while the server runs."""
    password = folder / "password"
    password.write_text("correct horse battery staple\n", "utf-8")
    person = ["--email", WORKER, "--first-name", "Nora", "--last-name", "North", "--admin"]
    run([executable], "worker", "create", *person, "--password-file", str(password), "--data", str(data))
    token = run([executable], "token", "create", "--worker", WORKER, "--data", str(data)).strip()
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


def import_mail(executable: str, data: Path, folder: Path) -> None:
    """Feed the requester's answer in through the command line."""
    file = folder / "answer.eml"
    file.write_bytes(ANSWER_MAIL.encode("ascii"))
    run([executable], "mail", "import", str(file), "--data", str(data))


def expect_imported(api: Api, ticket_id: int) -> None:
    ticket = api.get(f"records/ticket/{ticket_id}.json")
    expect((ticket["status"], ticket["num_messages"]) == ("open", 3), f"after the answer the ticket is {ticket}")
    say("mail import: the answer landed on the same ticket and opened it")


@contextmanager
def serving(executable: str, data: Path, log: Path) -> Iterator[str]:
    """A running server; its address. It must stop by itself, with exit code 0, on SIGTERM."""
    command = [executable, "serve", "--port", "0", "--data", str(data), "--no-open"]
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield address_told(process, log)
        process.send_signal(signal.SIGTERM)
        code = process.wait(STOP_SECONDS)
        expect(code == 0, f"SIGTERM ended the server with code {code}:\n{tail(log)}")
        say("stop: exit code 0")
    except subprocess.TimeoutExpired:
        raise Failed(f"the server did not stop within {STOP_SECONDS} s of SIGTERM:\n{tail(log)}") from None
    except Failed as failure:
        raise Failed(f"{failure}\n--- log of the server:\n{tail(log)}") from None
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


def address_told(process: subprocess.Popen[str], log: Path) -> str:
    """The address on the line `listening on ...`. A thread keeps reading, so that the pipe never fills up."""
    lines: queue.Queue[str] = queue.Queue()

    def pump() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=pump, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=START_SECONDS)
        except queue.Empty:
            raise Failed(f"the server said nothing for {START_SECONDS} s:\n{tail(log)}") from None
        if not line:
            raise Failed(f"the server ended with code {process.wait()} before it listened:\n{tail(log)}")
        found = re.match(r"listening on (http://\S+)", line)
        if found:
            say(f"start: {found[1]}")
            return found[1]


def run(program: list[str], *arguments: str) -> str:
    """What the command printed. Raises Failed when it ends with another code than 0."""
    done = subprocess.run([*program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=START_SECONDS)
    shown = " ".join(arguments)
    expect(done.returncode == 0, f"`{shown}` ended with code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


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
