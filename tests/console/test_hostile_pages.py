"""Every page of the console in a helpdesk in which every text is hostile: nothing runs, nothing is leaked, reading
writes nothing, and no one sees records of others. The pages are those of the route table."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, urlencode

import pytest
import requests
from playwright.sync_api import Dialog, Response, expect

from console.http import routes
from server.web.endpoint_call import SANDBOX
from tests.console.browser import Browser
from tests.console.table import STREAMS
from tests.console.visitor import Visitor
from tests.security import payloads
from tests.security.world import CANARY, NOTHING, PROMPTS, World, package_of
from tests.service import Api

pytestmark = [
    pytest.mark.sqlite("the same with any store"),
    pytest.mark.exhaustive("every page with hostile texts in every record"),
]

routes.load()
ROSTERS = "/admin/people/rosters"
# One template for all types: the source is checked for all, a browser opens some of them.
OF_EVERY_TYPE = re.compile(r"/search/|/records/\w+/(new|import$|\d+/(edit|delete|activity|raw))")
SAMPLED = {"worker", "ticket", "task", "org", "address", "snippet"}
OWN = (
    "/records/",
    "/macros/new",
    "/snippets/new",
    "/workspaces/new",
    "/articles/",
    "/boards/",
)  # forms of records of their own
READ_BY_ALL = "/search/reminder"  # reminders are readable by any worker, through the API as well
# They end their session or begin an absence, of members of their group as well.
LEAVING = {("POST", path) for path in ("/sign-out", "/account/absence/begin", "/admin/people/absences/1/begin")}
LEAVING_FORMS = {"/sign-out", "/account/sessions/0/end", "/account/sessions/end", "/setup/demo"}  # the last takes long
GETS = [each for each in routes.PAGES if each.method == "GET"]
# Parameters that pages read from their address.
QUERY = ("q", "type", "kind", "set", "tag", "name", "state", "page", "group", "next", "tried", "records", "status")
POLICY = ("default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'")
# Documents of mail: console/tickets/frames.py.
FRAMES = re.compile(
    r"/messages/\d+/(body|quotation)$|/drafts/\d+/preview$|/admin/people/acknowledgements/\d+$|/-/snippets/preview(/\d+)?$"
    r"|/-/article-preview(/\d+)?$|/pages/texts/\d+$"
)
FRAME_POLICY = {
    "default-src": "'none'", "img-src": "'self' data:", "style-src": "'unsafe-inline'", "frame-ancestors": "'self'",
    "base-uri": "'none'", "form-action": "'none'",
    "sandbox": "allow-same-origin allow-popups allow-popups-to-escape-sandbox",
}  # fmt: skip
# The elements of a page that treated text as markup.
ACTS = r"""own => [...document.querySelectorAll('*')].filter(each => {
  if (each.localName == 'script') return !each.src.startsWith(own + '/static/');
  const src = each.getAttribute('src') ?? '';
  const isOurs = each.localName == 'img' && /^\/(avatars|files)\/\w/.test(src)
    || each.localName == 'iframe'
      && (/^$|^\/(messages\/\d+\/body|drafts\/\d+\/preview|pages\/texts\/\d+)$/.test(src)
        || /^\/-\/(snippets\/|article-)preview(\/\d+)?$/.test(src))
      && each.getAttribute('sandbox') == 'allow-same-origin allow-popups allow-popups-to-escape-sandbox';
  if (!isOurs && ['iframe', 'object', 'embed', 'base', 'style', 'img'].includes(each.localName)) return true;
  const isFit = isOurs && /^height: \d+px;$/.test(each.getAttribute('style') ?? '');
  return [...each.attributes].some(one =>
    one.name.startsWith('on') || one.name == 'style' && !isFit || one.name == 'srcdoc');
}).map(each => each.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("hostile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def looked(world: World) -> dict[str, requests.Response]:
    """Every page as nora sees it, by its path; `world.before` is the state of the database before."""
    world.proven()
    world.before = world.stored()
    paths = [*(path for each in GETS for path in world.paths(each)), world.consent]
    return {path: world.visitor.get(path) for path in paths}


def test_hostile_texts_reach_the_source_of_pages(world: World) -> None:
    """Otherwise the tests below would test nothing."""
    assert len(world.taken) > 90, world.refused
    assert len(world.refused) < len(world.taken) / 2, world.refused


def test_pages_escape_hostile_texts(world: World, looked: dict[str, requests.Response]) -> None:
    pages = {path: page for path, page in looked.items() if is_page(page) and not FRAMES.match(path)}
    acted = {path: payloads.acting(page.text, world.server.url) for path, page in pages.items()}
    assert {path: found for path, found in acted.items() if found} == {}
    wrong = {path: page.status_code for path, page in looked.items() if page.status_code not in (200, 303)}
    assert wrong.pop("/oauth/authorize") == 400
    assert wrong.pop("/connect/callback") == 422, "the response of a provider that nobody was sent to"
    assert wrong.pop("/admin/people/sign-in/1") == 404, "there is no provider"
    assert wrong.pop("/pages/texts/1") == 404, "a widget of no known kind has no text"
    assert wrong.pop("/pages/forms/1") == 404, "a widget that offers no such form"
    assert wrong.pop("/pages/forms/columns/1") == 404, "a column that offers no such form"
    assert [wrong.pop(each) for each in STREAMS] == [404] * len(STREAMS), "a stream is no page"
    assert {path: status for path, status in wrong.items() if NOTHING not in path} == {}
    assert set(wrong.values()) == {404, 422}  # 422: of a sign-in at a provider that nobody began
    assert sum(payloads.shown(page.text) for page in looked.values()) > 35


def test_mail_is_shown_where_nothing_runs(looked: dict[str, requests.Response]) -> None:
    """Text of strangers is shown without active content, in a separate document without rights."""
    frames = {path: page for path, page in looked.items() if FRAMES.match(path)}
    assert {path.split("/")[1] for path, page in frames.items() if page.status_code == 200} == {
        "messages", "drafts", "admin", "-"
    }  # fmt: skip
    for path, page in frames.items():
        if page.status_code != 200:
            continue
        headers = page.headers
        policy = dict(each.strip().partition(" ")[::2] for each in headers["Content-Security-Policy"].split(";"))
        assert policy == FRAME_POLICY and headers["X-Frame-Options"] == "SAMEORIGIN", path
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store", path
        _before, _style, body = page.text.partition("</style>")
        assert [each for each in payloads.acting(body, "http://none") if each != "<img {}>"] == [], path


def test_every_page_forbids_framing_caching_and_sniffing(looked: dict[str, requests.Response]) -> None:
    for path, page in looked.items():
        headers = page.headers
        if FRAMES.match(path) and page.status_code == 200:
            continue
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY", path
        assert headers["Cache-Control"] == "no-store", path
        assert headers["Referrer-Policy"] in ("same-origin", "no-referrer"), path
        policy = headers["Content-Security-Policy"]
        if "Content-Disposition" in headers:
            assert policy == SANDBOX and headers["Content-Disposition"].startswith("attachment;"), path
        else:
            assert all(part in policy for part in POLICY), (path, policy)
        assert "unsafe" not in policy and "*" not in policy, path
        assert all("HttpOnly" in each and "SameSite=Lax" in each for each in cookies_of(page)), path


BY_ITSELF = {"outgoing_state"}  # it advances with the log of changes, whatever is read


def test_reading_writes_nothing(world: World, looked: dict[str, requests.Response]) -> None:
    """Neither the first time, nor again, nor by HEAD. Exports are recorded in the activity log."""
    taken = 2 * sum("/export" in path and "Content-Disposition" in page.headers for path, page in looked.items())
    for path, page in looked.items():
        assert world.visitor.get(path).status_code == page.status_code, path
        head = world.visitor.session.head(world.server.url + path, timeout=60, allow_redirects=False)
        assert (head.status_code, head.content) == (page.status_code, b""), path
    assert changed(world, world.before) - BY_ITSELF == {"activity_log"} and taken > 0
    assert world.nora.search("activity_log", "activity:data.exported").ok()["total"] == taken


@pytest.mark.parametrize("name", ["milo", "mona"])
def test_others_can_neither_see_nor_do_anything(name: str, world: World) -> None:
    """milo is a member of a group, mona manages it. Forms have the token of their own session."""
    visitor = Visitor(world.server.url)
    assert visitor.sign_in(f"{name}@desk.example").status_code == 303
    token, before = visitor.token("/account"), world.stored()
    own = f"part[g{world.ids['private']}][w{world.ids[name]}]"
    form = {"_xsrf": token, "name": CANARY, "do": "save", "before": "{}", own: "manager"}
    hidden = quote(world.nora.record("ticket", world.ids["secret"]).ok()["mask"], safe="")
    # That pages of administrators are closed to milo is tested in test_hostile.py.
    for page in (each for each in routes.PAGES if name == "mona" or not each.access.endswith("admin")):
        for path in world.paths(page):
            if (page.method, path) in LEAVING or (page.method == "POST" and path.startswith(OWN)):
                continue  # they may create their own records there; for others see test_record_form.py
            if page.method == "POST" and path.startswith("/tickets/") and hidden not in path:
                continue  # these they may change; see test_tickets.py
            response = visitor.get(path) if page.method == "GET" else visitor.post(path, form)
            refused = page.access.endswith("admin") or (path == ROSTERS and name != "mona")
            assert response.status_code == 403 if refused else response.status_code < 500, (page.method, path, response)
            assert CANARY not in response.text or path == READ_BY_ALL, (page.method, path)
    secret = world.ids["secret"]
    response = visitor.get(f"{ROSTERS}?group={world.ids['private']}")
    assert response.status_code == (200 if name == "mona" else 403) and "Management" not in response.text
    for operation in ("records_ticket_retrieve", "records_ticket_delete/write", "tickets_retrieve"):
        response = visitor.post(f"/api/{operation}", {"_xsrf": token, "v0": str(secret)})
        assert "404" in response.text and CANARY not in response.text, operation
    assert world.nora.record("ticket", secret).ok()["subject"] == CANARY
    # The API page creates and removes a token for each request of its worker. On tickets that they may change they
    # write drafts.
    assert changed(world, before) - BY_ITSELF <= {
        "login_attempt", "session", "oauth_token", "draft", "change_log", "notification_mail_choice",
        "passkey_challenge",
    }  # fmt: skip
    for each in world.tokens:
        Api(world.server.url, each).get("/rest/workers/me.json").ok()
    own_form = {"_xsrf": world.visitor.token("/account"), "v0": str(secret)}
    assert CANARY in world.visitor.post("/api/records_ticket_retrieve", own_form).text


def test_no_page_runs_or_loads_hostile_content(
    chromium: Browser, world: World, looked: dict[str, requests.Response]
) -> None:
    """Pages that show a hostile text; the others are covered by the other tests of this file."""
    told: list[str] = []
    acted, shown = {}, [path for path, each in looked.items() if is_page(each) and payloads.shown(each.text)]
    shown = [path for path in shown if not OF_EVERY_TYPE.match(path) or path.split("/")[2] in SAMPLED]

    def on_dialog(dialog: Dialog) -> None:
        if dialog.type != "beforeunload":  # which a page with a secret asks by itself
            told.append(dialog.message)
        dialog.accept()

    with chromium.page(world.server.url, cookies=world.visitor.cookies, is_journey=True) as page:
        page.on("dialog", on_dialog)
        for path in shown:
            page.goto(path, wait_until="domcontentloaded")
            acted[path] = [] if FRAMES.match(path) else page.evaluate(ACTS, world.server.url)
    assert told == [] and {path: found for path, found in acted.items() if found} == {}
    assert len(shown) > 35


def test_another_site_can_neither_send_our_forms_nor_frame_our_pages(chromium: Browser, world: World) -> None:
    """From another port of the same host, for which browsers send cookies, and from another host."""
    forms = [path for each in routes.PAGES if each.method == "POST" for path in world.paths(each)]
    answers: dict[str, int] = {}
    before, own = world.stored(), world.server.url

    def heard(answer: Response) -> None:
        answers.setdefault(answer.url.removeprefix(own), answer.status)

    with other_site() as port:
        for host, sent in (("127.0.0.1", forms), ("localhost", forms[:10])):
            site = f"http://{host}:{port}"
            with chromium.page(own, cookies=world.visitor.cookies, elsewhere=site, refused="frame-ancestors") as page:
                page.on("response", heard)
                page.goto(f"{site}/")
                page.evaluate(SENDING, [own, sent])
                page.evaluate(FRAMING, [own, [*FRAMED, world.consent]])
                assert len(page.frames) == len(FRAMED) + 2
                for frame in page.frames[1:]:
                    frame.wait_for_url("chrome-error://chromewebdata/", wait_until="commit")
                page.evaluate(SUBMITTING, own)
                page.wait_for_url(f"{own}/account/profile")
                expect(page.locator("main")).to_contain_text("sent from another site")
            others = {path: answers[path] for path in sent if answers[path] != 403}
            assert others == (OPEN_TO_ALL if sent is forms else {})
            answers.clear()
    assert changed(world, before) == set()
    assert world.visitor.is_in


FRAMED = ("/", "/forgotten", "/account", "/admin/tokens")
# Where an app sends workers, which shows a question, not a form result; where a provider sends a signed token.
OPEN_TO_ALL = {"/oauth/authorize": 303, f"/sign-in/backchannel/{NOTHING}": 400}
FORM = "new URLSearchParams({name: 'x', theme: 'dark', email: 'x@evil.example', answer: 'allow', do: 'save'})"
SENDING = f"""async ([own, paths]) => {{
  for (const path of paths)
    await fetch(own + path, {{method: 'POST', mode: 'no-cors', credentials: 'include', body: {FORM}}});
}}"""
FRAMING = """([own, paths]) => Promise.all(paths.map(path => new Promise(done => {
  const frame = document.createElement('iframe');
  frame.onload = frame.onerror = done;
  frame.src = own + path;
  document.body.append(frame);
})))"""
SUBMITTING = """own => {
  const form = Object.assign(document.createElement('form'), {method: 'post', action: own + '/account/profile'});
  form.append(Object.assign(document.createElement('input'), {name: 'first_name', value: 'x'}));
  document.body.append(form);
  form.submit();
}"""


@contextmanager
def other_site() -> Iterator[int]:
    """The port of a foreign server with an empty page."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Other</title><link rel=icon href=data:,><body>")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_hostile_input_is_text_in_the_response(world: World, looked: dict[str, requests.Response]) -> None:
    """Each parameter of an address, then each form with hostile texts in all fields, whatever its result."""
    world.proven()
    query = urlencode({name: payloads.varied() for name in QUERY})
    only = urlencode({"q": payloads.ALL})
    sent: dict[str, dict[str, str]] = {}
    for path, page in looked.items():
        plain = path.partition("?")[0]
        for asked in (only,) if re.search(r"\d", path) else (query, only):
            require_text(world, world.visitor.get(f"{plain}?{asked}"), path)
        if is_page(page):
            forms = Forms(page.text)
            sent |= {action: fields for action, fields in forms.found.items() if ending(action) not in LEAVING_FORMS}
    assert len(sent) > 60
    sent["/admin/packages/look"] = {"package_json": package_of(PROMPTS), "_xsrf": world.visitor.token("/account")}
    refused = 0
    for path, fields in sent.items():
        response = world.visitor.post(path, fields)
        require_text(world, response, path)
        refused += response.status_code == 422
        if response.status_code == 303:
            require_text(world, world.visitor.get(response.headers["Location"]), path)
        world.proven()
    assert refused > 15 and world.visitor.is_in


def require_text(world: World, answer: requests.Response, path: str) -> None:
    assert answer.status_code < 500, (path, answer.text)
    if FRAMES.match(path):
        return  # see test_mail_is_shown_where_nothing_runs
    if "Content-Type" in answer.headers and is_page(answer):
        assert payloads.acting(answer.text, world.server.url) == [], path


def changed(world: World, before: dict[str, str]) -> set[str]:
    """Returns the tables whose contents changed."""
    after = world.stored()
    return {name for name in before if before[name] != after[name]}


def ending(path: str) -> str:
    return re.sub(r"\d+", "0", path)


class Forms(HTMLParser):
    """The forms that a page posts: {action: fields}, with a hostile text in every field that can be typed into."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str]] = {}
        self._fields: dict[str, str] = {}
        self._chooses = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self._fields = {}
            if given.get("method") == "post":
                self.found[given["action"]] = self._fields
        elif tag == "input" and name:
            is_kept = given.get("type") in ("hidden", "checkbox", "radio", "submit", "number")
            self._fields[name] = given.get("value", "") if is_kept else payloads.varied(60)
            if "data-sure" in given:
                self._fields[name] = "1"
        elif tag == "textarea" and name:
            self._fields[name] = payloads.varied()
        elif tag == "select":
            self._chooses = name
        elif tag == "option" and self._chooses:
            self._fields[self._chooses] = given.get("value", "")
        elif tag == "button" and name:
            self._fields.setdefault(name, given.get("value", ""))


def is_page(answer: requests.Response) -> bool:
    """Returns whether a browser displays it; files are downloaded."""
    return answer.headers["Content-Type"].startswith("text/html") and "Content-Disposition" not in answer.headers


def cookies_of(answer: requests.Response) -> list[str]:
    return answer.raw.headers.getlist("Set-Cookie")
