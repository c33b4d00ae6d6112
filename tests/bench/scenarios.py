"""The scenarios: the requests of each, and the fraction of the bare handler's speed that it must reach.

A further scenario is a row of SCENARIOS and a function that creates its requests."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from tests.bench.data import RARE_WORD, REFUND_WORD, text
from tests.bench.load import COUNTER

Goal = tuple[float, float | None] | None
MANY = 100_000
BATCHED = 100
SENDER_NAME, SUBJECT = "Ana Ames", f"Order {COUNTER} has not arrived"  # of an email
ARTICLES, ARTICLES_READ, SEARCHES = 2000, 200, 400
WORDS = ("spring", "summer", "autumn", "winter", "rain", "snow", "wind", "frost", "drought", "storm")  # of titles
TICKETS_READ = 1000  # different ids, so that more than a single row's page is warm


@dataclass(frozen=True)
class Desk:
    """A running server with `tickets` tickets whose ids start at 1, and a token for it."""

    port: int
    token: str
    tickets: int

    def answer(self, request: str) -> dict[str, Any]:
        """Sends one prepared request; returns the JSON of the response, or a page as {"page": its text}. Raises
        urllib's HTTPError for statuses other than 2xx."""
        head, _, body = request.replace(COUNTER, "0" * len(COUNTER)).partition("\r\n\r\n")
        method, path, _ = head.split("\r\n")[0].split(" ")
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        sent = Request(f"http://127.0.0.1:{self.port}{path}", body.encode("latin-1") or None, headers, method=method)
        with urlopen(sent, timeout=30) as answered:
            is_page = answered.headers["Content-Type"].startswith("text/html")
            return {"page": answered.read().decode()} if is_page else json.load(answered)

    def get(self, path: str, **params: str) -> str:
        """Returns a GET request as text, ready to be sent."""
        query = f"?{urlencode(params, quote_via=quote)}" if params else ""
        return f"GET {path}{query} HTTP/1.1\r\n{self._headers()}\r\n"

    def post(self, path: str, **params: str) -> str:
        """Returns a POST request with form fields as text, ready to be sent."""
        return self._form("POST", path, params)

    def put(self, path: str, **params: str) -> str:
        """Returns a PUT request with form fields as text, ready to be sent."""
        return self._form("PUT", path, params)

    def tool(self, name: str, **arguments: Any) -> str:
        """Returns a call of a tool for assistants as text, ready to be sent."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        body = json.dumps(message)
        more = f"MCP-Protocol-Version: 2025-11-25\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"POST /mcp HTTP/1.1\r\n{self._headers()}{more}\r\n{body}"

    def _form(self, method: str, path: str, params: dict[str, str]) -> str:
        body = urlencode(params)
        form = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        return f"{method} {path} HTTP/1.1\r\n{self._headers()}{form}\r\n{body}"

    def _headers(self) -> str:
        return f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"


@dataclass(frozen=True)
class Scenario:
    """Goals: `ratio` to the bare handler at 16 clients; `most_ms`, the median response time of one client;
    `most_p99_ms`, the 99th percentile at 16 clients; each up to MANY tickets and above. None: not judged.
    waiting: the number of webhooks that wait for another program in the meantime. same_as: the scenario whose requests
    do the same by REST, with whose processor time this one is compared."""

    name: str
    title: str
    requests: Callable[[Desk], list[str]]
    ratio: Goal = None
    most_ms: Goal = None
    most_p99_ms: Goal = None
    waiting: int = 0
    same_as: str = ""


def goal_at(goal: Goal, tickets: int) -> float | None:
    """Returns the goal for this number of tickets."""
    return goal[tickets > MANY] if goal else None


def read(desk: Desk) -> list[str]:
    numbers = random.Random(1).sample(range(1, desk.tickets + 1), min(TICKETS_READ, desk.tickets))
    return [desk.get(f"/rest/records/ticket/{number}.json") for number in numbers]


def newest(desk: Desk) -> list[str]:
    return [desk.get("/rest/records/ticket/search.json", q="status:open sort:-created", limit="10")]


def fulltext(desk: Desk) -> list[str]:
    return [desk.get("/rest/records/ticket/search.json", q=RARE_WORD, limit="10")]


def create(desk: Desk) -> list[str]:
    return [desk.post("/rest/records/address/create.json", **{"fields[email]": f"made{COUNTER}@example.com"})]


def batch(desk: Desk) -> list[str]:
    operations = [
        {"method": "POST", "path": "records/address/create",
         "params": {"fields": {"email": f"made{COUNTER}-{number}@example.com"}}}
        for number in range(BATCHED)
    ]  # fmt: skip
    return [desk.post("/rest/batch.json", operations=json.dumps(operations))]


def compose(desk: Desk) -> list[str]:
    groups = desk.answer(desk.get("/rest/records/group/search.json", limit="1"))["results"]
    fields = {"to": "ana@example.com", "subject": f"Your order {COUNTER}", "content": text(random.Random(2))}
    return [desk.post("/rest/tickets/compose.json", group_id=str(groups[0]["id"]), dont_send="1", **fields)]


def parse(desk: Desk) -> list[str]:
    return [parsed(desk, "ana@example.com", "Fri, 20 Nov 2026 09:30:00 +0000")]


def parsed(desk: Desk, sender: str, date: str) -> str:
    """Returns the request that parses an email."""
    head = [
        f"From: {SENDER_NAME} <{sender}>",
        "To: help@desk.example",
        f"Subject: {SUBJECT}",
        f"Message-Id: <{COUNTER}@bench.example>",
        f"Date: {date}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
    ]
    return desk.post("/rest/parser/parse.json", message="\r\n".join([*head, "", mail_text()]))


def mail_text() -> str:
    """Returns the text of the email."""
    return text(random.Random(3))


def expand(desk: Desk) -> list[str]:
    opened = "owner_,group_,org_,custom_"
    return [desk.get("/rest/records/ticket/search.json", q="status:open sort:-created", limit="50", expand=opened)]


def subtotals(desk: Desk) -> list[str]:
    asked = [("subtotals[]", "status"), ("subtotals[]", "group.id"), ("show_results", "0")]
    return [desk.get(f"/rest/records/ticket/search.json?{urlencode(asked)}")]


def months(desk: Desk) -> list[str]:
    return [desk.get("/rest/data/query.json", q="type:worklist.subtotals of:ticket by:[created@month,status]")]


def deep(desk: Desk) -> list[str]:
    wanted = f"org:(name:acme*) messages:(content:{REFUND_WORD})"
    return [desk.get("/rest/records/ticket/search.json", q=wanted, limit="10")]


RESPONDER = """
start:
  set:
    answer:
      method@key: request_method
      path@key: request_path
      headers@key: request_headers
      params@key: request_params
      client_ip@key: request_client_ip
  return:
    status_code@int: 200
    headers:
      Content-Type: application/json
    body: {{answer|json_encode}}
"""
REPEATING = """
start:
  repeat:
    each@csv: {{range(1, 10000)|join(",")}}
    as: number
    do:
      set:
        last@key: number
  return:
    headers:
      Content-Type: application/json
    body: {{ {last: last}|json_encode }}
"""
NOTING = """
start:
  log.warn: {{request_method}} {{request_body}}
  return:
    body: {{request_params|json_encode}}
"""
ASKING = """
start:
  http.request:
    output: answered
    inputs:
      url: http://127.0.0.1:PORT/
      timeout@int: 60
"""
# 120 seconds: some wait for as long as another measurement takes.
MAY_ALL = "settings:\n  time_limit_ms@int: 120000\ncommands:\n  all:\n    allow@bool: yes"


def webhook(desk: Desk, script: str, name: str) -> str:
    """Creates a webhook whose automation is this script; returns a POST request to it."""
    known = f"{name}.{desk.port}"
    fields = {"name": known, "extension_id": "svc.trigger.webhook.respond", "script": script, "policy_kata": MAY_ALL}
    create_record(desk, "automation", fields)
    made = create_record(
        desk, "webhook_listener", {"name": known, "automations_kata": f"automation/a:\n  uri: {known}"}
    )
    return desk.post(f"/webhooks/{made['guid']}?order=7", name="Ana")


def create_record(desk: Desk, uri: str, fields: dict[str, str]) -> dict[str, Any]:
    """Creates a record; returns the response."""
    return desk.answer(
        desk.post(f"/rest/records/{uri}/create.json", **{f"fields[{name}]": value for name, value in fields.items()})
    )


_made = count(1)  # numbers of webhooks, whose names must be unique


def respond(desk: Desk) -> list[str]:
    return [webhook(desk, RESPONDER, f"bench.respond{next(_made)}")]


def repeat(desk: Desk) -> list[str]:
    return [webhook(desk, REPEATING, f"bench.repeat{next(_made)}")]


OPENED = "owner__label,group__label,tags"  # what search_tickets shows of linked records


def assistant_search(desk: Desk) -> list[str]:
    return [desk.tool("search_tickets", query="status:open sort:-created")]


def search_for_assistant(desk: Desk) -> list[str]:
    """The REST request for what search_tickets returns."""
    query = {"q": "status:open sort:-created", "limit": "10", "expand": OPENED}
    return [desk.get("/rest/records/ticket/search.json", **query)]


def assistant_read(desk: Desk) -> list[str]:
    numbers = random.Random(1).sample(range(1, desk.tickets + 1), min(TICKETS_READ, desk.tickets))
    return [desk.tool("read_ticket", ticket_id=number) for number in numbers]


def read_for_assistant(desk: Desk) -> list[str]:
    """The REST requests for what read_ticket returns, in one batch."""
    numbers = random.Random(1).sample(range(1, desk.tickets + 1), min(TICKETS_READ, desk.tickets))
    return [desk.post("/rest/batch.json", operations=json.dumps(_reads(number))) for number in numbers]


def _reads(number: int) -> list[dict[str, Any]]:
    messages = {
        "q": f"ticket.id:{number} sort:-created,-id",
        "limit": 5,
        "expand": "content,sender_email,worker__label",
    }
    notes = {"q": f"on.ticket:(id:{number}) sort:-created", "limit": 20, "expand": "author__label"}
    return [
        {"path": f"records/ticket/{number}", "params": {"expand": f"requesters,{OPENED}"}},
        {"path": "records/message/search", "params": messages},
        {"path": "records/comment/search", "params": notes},
    ]


def assistant_note(desk: Desk) -> list[str]:
    return [desk.tool("add_note", ticket_id=number, text=f"Called back {COUNTER}") for number in _noted(desk)]


def note_for_assistant(desk: Desk) -> list[str]:
    """The REST requests for what add_note does."""
    path = "/rest/tickets/{}/comment.json"
    return [desk.post(path.format(number), comment=f"Called back {COUNTER}") for number in _noted(desk)]


def _noted(desk: Desk) -> range:
    """The tickets that get notes."""
    return range(1, min(TICKETS_READ, desk.tickets) + 1)


def me(desk: Desk) -> list[str]:
    return [desk.get("/rest/workers/me.json")]


@cache
def brand_id(desk: Desk) -> int:
    """Creates the brand of the help center; returns its id."""
    return int(create_record(desk, "brand", {"name": f"Bench {next(_made)}", "is_public": "1"})["id"])


@cache
def _articles(desk: Desk) -> list[str]:
    """Creates a help center with published articles; returns the paths of their pages. One word of each is rare."""
    brand_id(desk)
    paths = []
    for batch in range(0, ARTICLES, BATCHED):
        numbers = range(batch, min(batch + BATCHED, ARTICLES))
        sent = [_article_fields(number) for number in numbers]
        operations = [
            {"method": "POST", "path": "records/kb_article/create", "params": {"fields": fields}} for fields in sent
        ]
        made = desk.answer(desk.post("/rest/batch.json", operations=json.dumps(operations)))["results"]
        paths += [f"/help-center/a/{each['body']['id']}-{each['body']['slug']}" for each in made]
    return paths


def _article_fields(number: int) -> dict[str, str]:
    return {
        "title": f"Pump {number} in {WORDS[number % len(WORDS)]}",
        "content": f"{_article_text(number)}\n\n{RARE_WORD if number % 50 == 0 else 'granite'}",
        "format": "markdown",
        "status": "published",
    }


def _article_text(number: int) -> str:
    chance = random.Random(number)
    return "\n\n".join(f"## Step {step}\n\n{text(chance)}" for step in range(4))


def article(desk: Desk) -> list[str]:
    return [desk.get(path) for path in _articles(desk)[:ARTICLES_READ]]


def searched(desk: Desk) -> list[str]:
    _articles(desk)
    return [desk.get("/help-center/search", q=f"pump {word}") for word in WORDS]


def searched_anew(desk: Desk) -> list[str]:
    """Searches with other words each, of which no page is cached. After the first round all words are known."""
    _articles(desk)
    words = (random.Random(number).sample(_article_text(number).split(), 2) for number in range(SEARCHES))
    return [desk.get("/help-center/search", q=" ".join(each), again=COUNTER) for each in words]


SCENARIOS = (
    Scenario("read", "read a ticket by id", read, (0.75, 0.75)),
    Scenario("newest", "ten newest open tickets", newest, (0.50, 0.48)),
    Scenario("fulltext", "full-text search, 50 found", fulltext, (0.50, 0.40)),
    Scenario("create", "create an address", create, (0.40, 0.35)),
    Scenario("batch", f"create {BATCHED} addresses in one", batch),
    Scenario("compose", "compose, not sent", compose, (0.30, 0.25)),
    Scenario("parse", "parse a mail", parse, (0.22, 0.18)),
    Scenario("expand", "50 tickets, four expanded", expand, (0.05, 0.05)),
    Scenario("subtotals", "subtotals of status, group", subtotals, (0.30, 0.25)),
    Scenario("months", "months by status, data query", months, most_ms=(20, 60)),
    Scenario("deep", "deep filter, org and messages", deep, most_ms=(15, 60)),
    Scenario("rest-search", "REST request below the next line", search_for_assistant),
    Scenario("mcp-search", "search_tickets by an assistant", assistant_search, same_as="rest-search"),
    Scenario("rest-ticket", "REST requests below the next line", read_for_assistant),
    Scenario("mcp-ticket", "read_ticket by an assistant", assistant_read, same_as="rest-ticket"),
    Scenario("rest-note", "REST request below the next line", note_for_assistant),
    Scenario("mcp-note", "add_note by an assistant", assistant_note, same_as="rest-note"),
    Scenario("webhook", "webhook, example responder", respond, (0.30, 0.30)),
    Scenario("repeat", "webhook, repeat 10,000 times", repeat, most_ms=(150, None)),
    Scenario("article", "help center, an article", article, (0.40, 0.40), most_ms=(30, 30)),
    Scenario("searched", "help center, a known search", searched, (0.40, 0.40), most_ms=(30, 30)),
    Scenario("searched-anew", "help center, a new search", searched_anew, (0.40, 0.40), most_ms=(30, 30)),
    Scenario("waiting", "who I am, 200 webhooks waiting", me, most_p99_ms=(50, 50), waiting=200),
)
