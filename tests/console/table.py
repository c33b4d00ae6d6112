"""The route table as addresses of a lively desk: every page that can be opened, and its forms."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from console.http import routes
from tests.console.lively import BACKUP, Lively

routes.load()
_ARGUMENT = re.compile(r"\(\?P<(\w+)>[^)]*\)")
# The path before an id, and the record of the desk that the id refers to.
IDS = {
    "/admin/connections": "service", "/admin/connections/accounts": "account", "/admin/people/sign-in": "provider",
    "/account/apps": "plain", "/avatars": "nora", "/admin/apps": "app", "/admin/fields": "field",
    "/admin/fields/sets": "fieldset",
    "/admin/jobs/timers": "timer", "/admin/mail/mailboxes": "mailbox", "/admin/mail/outbox": "mail",
    "/admin/mail/transports": "transport", "/admin/packages/imported": "imported", "/admin/people": "worker0",
    "/admin/people/absences": "worker0",
    "/admin/people/buckets": "bucket", "/admin/people/groups": "group0", "/admin/people/roles": "role",
    "/files": "file", "/notifications": "notification", "/records/{type}": "worker0",
    "/admin/targets": "target", "/admin/tags": "tag", "/admin/statuses": "status", "/admin/help-center": "brand",
    "/admin/help-center/contact-forms": "contact_form",
    "/records/contact": "contact",
    "/records/calendar": "calendar",
    "/snippets": "snippet", "/-/snippets/preview": "snippet", "/macros": "macro", "/admin/rules": "rule",
    "/reminders": "reminder", "/records/org": "org",
    "/messages": "html_message", "/drafts": "draft", "/-/articles": "article",
    "/articles": "article", "/articles/categories": "category", "/articles/in/{name}": "article",
    "/-/article-preview": "article",
    "/automations": "automation", "/automations/webhooks": "webhook", "/automations/webhooks/deliveries": "delivery",
    "/pages": "workspace_page", "/pages/widgets": "workspace_widget", "/pages/lists": "workspace_list",
    "/pages/forms": "form_widget", "/pages/forms/columns": "board_column",
    "/pages/texts": "workspace_widget", "/workspaces": "workspace_page",
    "/workspaces/tabs": "workspace_tab",
    "/pages/boards": "board", "/boards": "board", "/boards/columns": "board_column",
    "/workspaces/widgets": "workspace_widget", "/workspaces/lists": "workspace_list",
    "/automations/outgoing": "outgoing", "/automations/outgoing/sent": "sent",
    "/automations/outgoing/chats": "chat",
    "/admin/writing-assistant/calls": "model_call", "/tickets/{mask}/writing-assistant": "model_call",
}  # fmt: skip
NAMES = {
    "/help": "kata", "/help/{folder}": "records", "/api": "records_ticket_update", "/choose": "worker",
    "/automations/recipes": "github",
    "/reports": "workers", "/articles/in": "0", "/-/choose": "worker", "/avatars": "worker", "/admin/backups": BACKUP,
    "/-/words": "binding",
    "/admin/system/settings": "mail_mask_pattern",
}  # fmt: skip
FOLDER, TYPE = "api", "worker"
FRAMES = (
    "/messages/",
    "/drafts/",
    "/admin/people/acknowledgements/",
    "/-/snippets/preview",
    "/-/article-preview",
    "/pages/texts/",
)  # documents of mail inside pages
CODES = {
    "/admin/packages/done/{code}": "done",
    "/records/{type}/import/{code}": "table",
    "/pages/forms/runs/{code}": "run",
}
# Required parameters of a page, and further states of pages, such as an empty or a filtered list.
QUERIES = {
    "/admin/fields/new": "type=ticket&kind=D", "/admin/fields/sets/new": "type=ticket",
    "/admin/packages/open": "name=webhook-responder", "/help/search": "q=record",
    "/admin/tokens/revoke": "app={app}", "/inbox/reply": "ids=1", "/inbox/macro": "ids=1",
    "/inbox/note": "ids=1", "/inbox/merge": "ids=1",
    "/records/{type}/set": "ids=1&field=first_name", "/pages/forms/{id}": "form=return",
    "/pages/forms/columns/{id}": "form=return", "/-/words/{name}": "trigger=svc.trigger.projectBoard.cardAction",
}  # fmt: skip
MORE = (
    "/automations/log?q=message:nothing", "/automations/webhooks/{quiet}", "/admin/packages/export?type=automation",
    "/admin/fields?type=ticket", "/admin/people/rosters?group={group0}", "/no/such/page",
)  # fmt: skip
STREAMS = ("/-/stream",)  # endless; tested by tests/console/test_streams.py
GONE = "A" * 43  # a code that was used long ago


def addresses(lively: Lively) -> dict[str, str]:
    """Returns {address: access} of the pages to open, each once, and further states of them."""
    found = {
        _address(each, lively): each.access
        for each in routes.PAGES
        if each.method == "GET" and pattern(each) not in STREAMS
    }
    return found | {more.format(**lively.ids): "admin" for more in MORE}


def _address(page: routes.Page, lively: Lively) -> str:
    path = pattern(page)
    if path == "/oauth/authorize":
        asked = {"client_id": lively.texts["client_id"], "response_type": "code", "scope": "api", "prompt": "consent",
                 "code_challenge": GONE, "code_challenge_method": "S256"}  # fmt: skip
        return f"{path}?{urlencode(asked)}"
    if path in CODES:
        return lively.texts[CODES[path]]
    before = re.split(r"/\{(?:id|name)\}", path)[0]
    names = NAMES | {"/admin/mail/failed": lively.texts["letter"]}
    filled = path.format(
        code=GONE,
        name=names.get(before, ""),
        id=lively.ids.get(IDS.get(before, ""), 1),
        folder=FOLDER,
        type=TYPE,
        mask=lively.texts["mask"],
        file="a.txt",
        rest="1-Nora-Berg",
    )
    return f"{filled}?{QUERIES[path].format(**lively.ids)}" if path in QUERIES else filled


def pattern(page: routes.Page) -> str:
    """Returns the path of a page as declared, with its arguments in braces."""
    return _ARGUMENT.sub(lambda match: f"{{{match[1]}}}", page.pattern.pattern.removesuffix(r"\Z"))


@dataclass
class Form:
    """A form as a browser without scripts would submit it: target, method, fields."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)


class _Forms(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.forms: list[Form] = []
        self.is_inside, self.has_button = False, False
        self.select, self.first, self.chosen = "", "", ""
        self.area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self.is_inside, self.has_button = True, False
            self.forms.append(Form(given.get("action", self.address), given.get("method", "get").lower()))
        elif tag == "select":
            self.select, self.first, self.chosen = name, "", ""
        elif tag == "option" and self.select:
            self.first = self.first or given.get("value", "")
            self.chosen = given.get("value", "") if "selected" in given else self.chosen
        elif tag == "textarea":
            self.area = name
        elif tag == "input" and self._is_sent(given):
            self._add(name, given.get("value", "on" if given.get("type") in ("checkbox", "radio") else ""))
        elif tag == "button" and given.get("type", "submit") == "submit" and not self.has_button:
            self.has_button = True  # the button that Enter presses
            self._add(name, given.get("value", ""))

    def _is_sent(self, given: dict[str, str]) -> bool:
        if "disabled" in given or given.get("type") in ("submit", "button", "file"):
            return False
        return given.get("type") not in ("checkbox", "radio") or "checked" in given

    def _add(self, name: str, value: str) -> None:
        if self.is_inside and name:
            self.forms[-1].fields.append((name, value))

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            self._add(self.area, data.removeprefix("\n"))
            self.area = None

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.is_inside = False
        elif tag == "select":
            self._add(self.select, self.chosen or self.first)
            self.select = ""
        elif tag == "textarea" and self.area is not None:
            self._add(self.area, "")
            self.area = None


def forms(html: str, address: str) -> list[Form]:
    """Returns the forms that a page posts, with the values of their fields."""
    reader = _Forms(address)
    reader.feed(html)
    return [form for form in reader.forms if form.method == "post"]


def kind(form: Form) -> str:
    """Returns the pattern of the route that receives a form, "" for none."""
    path = urlsplit(form.action).path
    return next((pattern(each) for each in routes.PAGES if each.method == "POST" and each.pattern.match(path)), "")
