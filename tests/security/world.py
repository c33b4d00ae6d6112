"""A helpdesk in which every text that people may write is hostile, and a record for every page of the console.

Pages come from the table of routes, so that a new page is covered without a change here. Its id belongs to the record
that CRUMBS lists for the preceding word of the path, else it is 1."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import requests

from console.http import routes
from server import app, clock
from server.access import provider, sessions
from server.fields import Field
from server.jobs import scheduler
from server.jobs.job_queue import JOB, MAX_ATTEMPTS, OFF, JobQueue
from server.mailroom.mailboxes import dead_letters
from server.record_types.workspaces.visits import VISIT
from server.store.schema import META
from server.store.statements import slot
from server.tickets import target_alerts
from server.writing_assistant.model_calls import MODEL_CALL
from server.writing_assistant.model_provider import MODEL_PROVIDER, NAME
from tests.api.minimal import MINIMAL
from tests.console.visitor import Visitor, place
from tests.oauth.apps import challenge
from tests.records.desk import NOW, Desk
from tests.security import payloads
from tests.service import PASSWORD, Server, people

CANARY = "zxcanary"
NOTHING = "nothing-that-there-is"  # in place of a name or code
FAR = 4_000_000_000  # Unix seconds; the due time of work that must not begin during a count
# Records by the word before an id in a path.
CRUMBS = {
    "apps": "app", "people": "worker", "targets": "service_target", "tags": "tag", "contact": "contact", "org": "org",
    "reminders": "reminder", "rules": "rule", "macros": "macro",
    "fields": "custom_field", "sets": "custom_fieldset", "groups": "group",
    "outgoing": "outgoing", "sent": "sent",
    "buckets": "bucket", "roles": "role", "automations": "automation", "webhooks": "webhook", "deliveries": "delivery",
    "transports": "transport", "mailboxes": "mailbox", "outbox": "letter", "jobs": "job", "timers": "timer",
    "sessions": "session", "senders": "sender", "tokens": "token",
    "messages": "html_message", "drafts": "draft", "snippets": "snippet",
    "calls": "model_call",
    "imported": "package", "files": "attachment", "notifications": "notification",
}  # fmt: skip
# Pages with a name in their path.
NAMED = {
    "/help/{name}": "/help/limits", "/help/{folder}/{name}": "/help/types/ticket",
    "/choose/{name}": "/choose/ticket", "/-/choose/{name}": "/-/choose/org",
    "/-/query/{type}": "/-/query/ticket",
    "/records/{type}/set": "/records/worker/set?ids=1&field=first_name",
    "/records/{type}/set/undo": "/records/worker/set/undo",
    "/articles/in/{name}/{id}/move": "/articles/in/1/1/move",
    "/api/{name}": "/api/records_ticket_search", "/api/{name}/write": "/api/records_ticket_delete/write",
}  # fmt: skip
# Parameters without which a page is empty.
ASKED = {
    "/inbox/reply": ("ids=1",), "/inbox/macro": ("ids=1",), "/inbox/note": ("ids=1",), "/inbox/merge": ("ids=1",),
    "/admin/tokens/revoke": ("worker=1",), "/jump": ("q=zqx",), "/-/jump": ("q=zqx",),
    "/admin/fields/new": ("type=org", "type=org&kind=D"), "/admin/fields/sets/new": ("type=org",),
    "/admin/packages/open": ("name=starter",), "/admin/fields": ("", "type=org"), "/api": ("", "tag=ticket"),
}  # fmt: skip
# Activity and traffic that the service records at its own pace.
SEEN = {
    ("session", "seen_at"), ("worker", "last_activity_at"), ("oauth_token", "last_used_at"),
    ("oauth_token", "last_used_from"), ("automation", "last_run_at"), ("automation", "last_run_state"),
}  # fmt: skip
SCRIPT = """start:
  log.warn: {0}
  set:
    greeting: {0}
  return:
    status_code: 201
    headers:
      X-Greeting: {0}
    body: {{{{request_body}}}}
"""
PROMPTS = [
    {"type": "text", "label": payloads.ALL, "key": "name", "params": {"default": payloads.ALL}},
    {"type": "picklist", "label": payloads.ALL, "key": "one", "params": {"options": {payloads.ALL: payloads.ALL}}},
    {"type": "chooser", "label": payloads.ALL, "key": "to", "params": {"context": "address", "single": True}},
]
# A text that a script contains literally.
SCRIPTED = f"{payloads.MARK}<script>alert(1)</script>\"'></textarea><img src=x onerror=alert(2)>"
BINDING = "# {0}\nautomation/echo:\n  uri: svc:automation:shop.echo\n"
SCOPES = '"api": {{label: "{0}", endpoints: ["*"]}}\n"read": {{label: "{0}", endpoints: ["{0}": GET]}}\n'
LABEL = f"{payloads.MARK}</option><script>alert(1)</script><img src=x onerror=alert(2)>"
ADDRESS = f"https://{payloads.EVIL}/'><script>alert('{payloads.MARK}')</script>"
_ARGUMENT = re.compile(r"\(\?P<(\w+)>[^)]*\)")


class World:
    """A server with its people, a desk on the same file, nora signed in as `visitor`. ids: a record for each crumb.

    taken: the (type, field) pairs that accepted a hostile text; refused: the other pairs."""

    def __init__(self, folder: Path) -> None:
        routes.load()
        hostile = {"HELPDESK_SUBJECT_PREFIX": payloads.SHORT[0], "HELPDESK_MAIL_EXCLUDE_PATTERNS": payloads.SHORT[1]}
        self.server = Server(folder / "data", env={"HELPDESK_COMPONENT_PAGE": "yes", **hostile})
        self.nora = self.server.set_up()
        self.nora.is_checked = False
        people(self.nora)
        self.desk = Desk(self.server.data)
        self._stop_scans()
        self.ids = self.nora.ids
        self.codes: dict[str, str] = {}
        self.before: dict[str, str] = {}
        self.taken: set[tuple[str, str]] = set()
        self.refused: set[tuple[str, str]] = set()
        self.visitor = Visitor(self.server.url)
        self.visitor.session.headers["User-Agent"] = payloads.text(sessions.MAX_DEVICE_CHARS)
        assert self.visitor.sign_in().status_code == 303
        self._records()
        self._people()
        self._fields()
        self._automations()
        self._apps()
        self._mail()
        self._jobs()
        self._secrets()
        self._codes()
        self.several = self._addressed()
        target_alerts.watch(self.desk.service, clock.now())  # work that the scheduler would do some time later
        self._forms()
        self.visitor.get(f"/admin/help-center/contact-forms/{self.ids['contact_form']}")  # which creates a key, once
        self.visitor.get("/")  # where existing records tick off the list of first steps, once
        self.visitor.get(f"/notifications/{self.ids['notification']}")  # which counts as read from now on

    def close(self) -> None:
        self.desk.close()
        assert self.server.stop() == 0

    def _stop_scans(self) -> None:
        """Disables scheduled writes of the server: on a busy machine a scan may become due during a test."""
        app.all_tables(self.desk.registry)  # which imports every module with scans
        names = scheduler.scans()
        assert "mail servers to look at" in names
        self.desk.store.write(lambda tx: tx.put_many(OFF, OFF.names, [(name,) for name in names]))

    # -- records -------------------------------------------------------------------------------------------------------

    def _make(self, key: str, type_uri: str, /, **fields: Any) -> int:
        self.ids[key] = int(self.nora.create(type_uri, **fields).ok()["id"])
        return self.ids[key]

    def _records(self) -> None:
        """One record of each type, with a hostile text in each of its fields that accepts any text."""
        for uri, minimal in MINIMAL.items():
            fields = minimal(self.nora)
            texts = {
                name: payloads.varied(field.describe()["max_length"])
                for name, field in self.desk.registry.type(uri).fields.items()
                if takes_text(name, field)
            }
            while True:
                reply = self.nora.create(uri, **fields | texts)
                if reply.status == 200:
                    break
                wrong = {each["field"].partition("[")[0] for each in reply["errors"]} & texts.keys()
                assert wrong, (uri, reply)
                self.refused.update((uri, name) for name in wrong)
                for name in wrong:
                    del texts[name]
            self.taken.update((uri, name) for name in texts)
            self.ids[uri] = int(reply["id"])

    def _people(self) -> None:
        for name in ("first_name", "last_name", "title", "location"):
            self.nora.update("worker", self.ids["worker"], **{name: payloads.text(128)}).ok()
        self.nora.update("group", self.ids["group"], members={"manager": str(self.ids["worker"])}).ok()
        self.nora.update(
            "role", self.ids["role"], member_query_worker=f'first_name:"{payloads.text(60)}" OR isDisabled:no'
        )
        made = [
            self.nora.post("/rest/oauth/tokens/create.json", worker_id=self.ids["nora"], **given).ok()["access_token"]
            for given in ({"label": payloads.text(100)}, {"label": payloads.text(100), "app_id": self.ids["oauth_app"]})
        ]
        self.tokens = [*made, self.nora.token]
        self.ids["token"] = 1
        read = self.desk.read(lambda tx: tx.find(sessions.SESSION))
        self.ids["session"] = int(read[0][0])

    def _fields(self) -> None:
        owner = {"owner__context": "app", "owner_id": 0}
        self._make("custom_fieldset", "custom_fieldset", name=payloads.text(255), context="org", **owner)
        for number, kind in enumerate("SDX"):
            params = {"params": {"options": f"{payloads.text(120)}\n{payloads.text(120)}"}} if kind in "DX" else {}
            self._make(
                "custom_field",
                "custom_field",
                name=payloads.text(128),
                context="org",
                type=kind,
                uri=f"zfield_{number}",
                custom_fieldset_id=self.ids["custom_fieldset"],
                **params,
            )

        gone = self._make("gone", "custom_field", name=payloads.text(128), context="org", type="S", uri="zgone")
        self.nora.remove("custom_field", gone).ok()

    def _automations(self) -> None:
        self._make(
            "automation",
            "automation",
            name="shop.echo",
            description=payloads.text(),
            extension_id="svc.trigger.webhook.respond",
            script=SCRIPT.format(SCRIPTED),
        )
        macro = {"extension_id": "svc.trigger.ticket.macro", "script": "start:\n  return:\n    note: x"}
        self.nora.create("automation", name="shop.macro", description=payloads.text(60), **macro).ok()
        timer = {"extension_id": "svc.trigger.automation.timer", "script": "start:\n  log: x"}
        self.nora.create("automation", name="shop.timer", description=payloads.text(60), **timer).ok()
        hook = self.nora.create("webhook_listener", name=payloads.text(255), automations_kata=BINDING.format(SCRIPTED))
        self.ids["webhook"] = hook.ok()["id"]
        address = f"{self.server.url}/webhooks/{hook['guid']}/{payloads.SHORT[0]}"
        headers = {"User-Agent": payloads.ALL, "X-Hostile": payloads.ALL, "Referer": ADDRESS}
        called = requests.post(address, params={"a": payloads.ALL}, data=payloads.ALL, headers=headers, timeout=60)
        assert called.status_code == 201, called.text
        response = self.nora.get(f"/rest/webhooks/{self.ids['webhook']}/deliveries.json").ok()
        self.ids["delivery"] = response["results"][0]["id"]
        self._make(
            "timer",
            "automation_timer",
            name=payloads.text(255),
            next_run_at=str(FAR),
            automations_kata=BINDING.format(SCRIPTED).replace("shop.echo", "shop.timer"),
        )
        self.nora.post(
            "/rest/contexts/activity/create.json", on=f"svc.contexts.org:{self.ids['org']}",
            activity_point="custom.other", variables=json.dumps({"message": SCRIPTED}),
        ).ok()  # fmt: skip

    def _apps(self) -> None:
        scopes = SCOPES.format(LABEL.replace('"', ""))
        made = self.nora.create(
            "oauth_app", name=payloads.text(255), url=ADDRESS, scopes=scopes, callback_url="https://app.example/back"
        )
        self.ids["app"] = made.ok()["id"]
        asked = {"response_type": "code", "client_id": made["client_id"], "scope": "api read", "state": payloads.ALL,
                 "code_challenge": challenge(), "code_challenge_method": "S256", "prompt": "consent"}  # fmt: skip
        self.consent = f"/oauth/authorize?{urlencode(asked)}"
        given = provider.begin(self.desk.service, list(asked.items()), clock.now())
        assert isinstance(given, provider.AuthorizationRequest), given
        provider.allow(self.desk.service, given, self.ids["nora"], clock.now())

    def _mail(self) -> None:
        params = {"host": "127.0.0.1", "port": "9", "username": payloads.text(100), "encryption": "none"}
        self._make(
            "transport",
            "mail_transport",
            name=payloads.text(255),
            params=params,
            extension_id="core.mail.transport.smtp",
        )
        self._make(
            "outgoing", "outgoing_webhook", name=payloads.text(255), url="http://127.0.0.1:9/hook",
            events="ticket.created", is_disabled=1,
        )  # fmt: skip
        self.ids["sent"] = self.nora.post(f"/rest/outgoing_webhooks/{self.ids['outgoing']}/test.json").ok()["id"]
        chat = {"program": "ntfy", "url": "https://ntfy.sh/kite", "events": "ticket.created", "is_disabled": 1}
        self._make("chat", "outgoing_webhook", name=payloads.text(255), **chat)
        self._make("sender", "address", email="help@desk.example", mail_transport_id=self.ids["transport"])
        self._make(
            "mailbox",
            "mailbox",
            name=payloads.text(255),
            host="127.0.0.1",
            username=payloads.text(100),
            password="x",
            is_enabled=0,
        )
        self.desk.update("mailbox", self.ids["mailbox"], folder=payloads.text(60))
        subject = payloads.text(200)
        params = {"to": "ana@customer.example", "subject": subject, "content": payloads.ALL}
        self._make(
            "letter",
            "draft",
            type="mail.transactional",
            name=subject,
            to=f'"{SCRIPTED[:40]}" <ana@c.example>',
            params=params,
            is_queued=1,
            queue_delivery_date=FAR,
        )
        kept = dead_letters.keep(self.desk.service.settings, f"mailbox-1-{SCRIPTED}", payloads.ALL.encode())
        settings = self.desk.service.settings
        self.failed = next(
            each.key for each in dead_letters.list_dead_letters(settings) if each.name == Path(kept).name
        )
        mail = (
            f'From: "{payloads.SHORT[0]}" <ana@customer.example>\nTo: support@desk.example\nSubject: {payloads.ALL}\n'
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
            f"--b\nContent-Type: text/html\n\n<p>{payloads.ALL}</p>\n"
            f'--b\nContent-Type: text/html; name="{payloads.SHORT[1][:20]}.html"\nContent-Disposition: attachment\n\n'
            f"{payloads.ALL}\n--b--\n"
        )
        self.ids["mailed"] = self.nora.parse(mail.encode()).ok()["id"]

    def _jobs(self) -> None:
        def write(tx: Any) -> int:
            id = JobQueue.add(tx, "nobody.does.this", FAR, {"note": payloads.ALL})
            tx.update(JOB, id, {"failed_at": NOW, "attempts": MAX_ATTEMPTS, "last_error": f"Error: {payloads.ALL}"})
            return id

        self.ids["job"] = self.desk.store.write(write)
        self.desk.own("automation_log", automation_name=payloads.text(100), message=payloads.ALL, level=3)
        self.ids["package"] = self.desk.own("package", name=payloads.text(100), point="bot", uri="zpack")

    def _secrets(self) -> None:
        """Records that nora, an administrator, may see, but neither milo nor mona, who manages his group."""
        mona = self._make(
            "mona",
            "worker",
            first_name="Mona",
            email="mona@desk.example",
            language="en_US",
            timezone="UTC",
            password=PASSWORD,
        )
        members = {"manager": str(mona), "member": str(self.ids["milo"])}
        self.nora.update("group", self.ids["support"], members=members).ok()
        for name in ("milo", "olga"):
            self.nora.update("worker", self.ids[name], password=PASSWORD).ok()
        ticket = self._make("secret", "ticket", subject=CANARY, group_id=self.ids["private"])
        self.nora.create("comment", comment=CANARY, target__context="ticket", target_id=ticket).ok()
        owner: dict[str, Any] = {"owner__context": "worker", "owner_id": self.ids["nora"]}
        self.nora.create("snippet", title=CANARY, content=CANARY, **owner).ok()
        self.nora.create("reminder", name=CANARY, remind_at="+1 day", worker_id=self.ids["nora"]).ok()

    def _forms(self) -> None:
        """A rule for no ticket, and a macro, as they are built by form."""
        steps = [{"kind": "note", "text": payloads.text(1000)}]
        form = {"title": payloads.text(100), "when": ["created"], "conditions": ["status:deleted"], "steps": steps}
        self._make("rule", "automation", extension_id="svc.trigger.ticket.event", form=json.dumps(form))
        macro = {"name": payloads.text(100), "owner": "svc.contexts.app:0", "do": "save", "steps": "1"}
        macro |= {"steps-0-kind": "note", "steps-0-text": payloads.text(1000)}
        self.ids["macro"] = int(place(self.visitor.send("/macros/new", macro)).rpartition("/")[2])

    def _codes(self) -> None:
        """Addresses that contain a code: a link to choose a password, and the result of an import."""
        page = self.visitor.send(f"/admin/people/{self.ids['milo']}/invite", {"invite": "link"}, page="/account")
        found = re.search(r"/reset/([\w-]+)", page.text)
        assert found is not None, page.text
        package = package_of([], {"uid": "o", "_context": "org", "name": SCRIPTED})
        response = self.visitor.send(
            "/admin/packages/import", {"package_json": package, "do": "import"}, page="/admin/packages"
        )
        self.codes = {"/reset/": found[1], "/admin/packages/done/": place(response).rpartition("/")[2]}

    def _offers(self, uri: str, operation: str) -> bool:
        return bool(self.desk.registry.type(uri).operations[operation])

    def _addressed(self) -> dict[str, list[str]]:
        """Pages that exist for each record type, and for each visible ticket."""
        tickets = [self.nora.record("ticket", self.ids[each]).ok() for each in ("ticket", "mailed", "secret")]
        masks = [each["mask"] for each in tickets]
        [self.ids["html_message"]] = self.nora.found("message", f"ticket.id:{self.ids['mailed']}")
        calls = {each["mask"]: self._model_call(each["id"], each["group_id"]) for each in tickets}
        on_tickets = [_ARGUMENT.sub(r"{\1}", each.pattern.pattern.removesuffix(r"\Z")) for each in routes.PAGES]
        return {
            "/-/follow/{type}": ["/-/follow/ticket"],
            **{
                path: [
                    path.replace("{mask}", quote(mask, safe="")).replace("{id}", str(id)) for mask, id in calls.items()
                ]
                for path in on_tickets
                if path.startswith("/tickets/{mask}/")
            },
            "/search/{type}": [f"/search/{each.uri}" for each in self.desk.registry if each.operations["search"]],
            "/records/{type}/new": [f"/records/{uri}/new" for uri in MINIMAL if self._offers(uri, "create")],
            "/records/{type}/{id}/edit": [
                f"/records/{uri}/{self.ids[uri]}/edit" for uri in MINIMAL if self._offers(uri, "update")
            ],
            "/records/{type}/{id}/delete": [
                f"/records/{uri}/{self.ids[uri]}/delete" for uri in MINIMAL if self._offers(uri, "delete")
            ],
            "/records/{type}/{id}/activity": [f"/records/{uri}/{self.ids[uri]}/activity" for uri in MINIMAL],
            **{
                f"/records/{{type}}/{{id}}/{act}": [f"/records/org/{self.ids['org']}/{act}"]
                for act in ("comment", "link", "unlink", "remind", "tags")
            },
            "/records/{type}/{id}/raw": [f"/records/{uri}/{self.ids[uri]}/raw" for uri in MINIMAL],
            "/records/{type}/{id}": [f"/records/{uri}/{self.ids[uri]}" for uri in MINIMAL],
            "/records/{type}/import": [f"/records/{uri}/import" for uri in MINIMAL if self._offers(uri, "create")],
            "/records/{type}/import/{code}": [self._uploaded(), f"/records/org/import/{NOTHING}"],
            "/tickets/{mask}": [f"/tickets/{quote(mask, safe='')}" for mask in masks],
            "/profiles/{type}/{rest}": [f"/profiles/org/{self.ids['org']}-{payloads.EVIL}"],
        }

    def _model_call(self, ticket_id: int, group_id: int) -> int:
        """A result of the writing assistant with hostile texts on a ticket; returns its id. Its provider may not be
        reached."""
        self.nora.update("group", group_id, writing_assistant="1").ok()
        sources = [{"kind": "article", "title": payloads.EVIL, "path": "/articles/1"}]
        texts = {"model": payloads.EVIL, "host": "model.example", "result": payloads.ALL, "error": payloads.EVIL}
        row = texts | {"worker_id": self.ids["nora"], "ticket_id": ticket_id, "act": "draft", "state": "done"}
        row |= {"sources": json.dumps(sources), "sent": json.dumps([{"role": payloads.EVIL, "content": payloads.ALL}])}
        provider = {"name": NAME, "base_url": "https://127.0.0.1:9/v1", "model": payloads.EVIL, "api_key": "k"}
        self.desk.store.write(lambda tx: tx.put(MODEL_PROVIDER, provider))
        self.ids["model_call"] = self.desk.store.write(lambda tx: tx.insert(MODEL_CALL, {**row, "created_at": NOW}))
        return self.ids["model_call"]

    def _uploaded(self) -> str:
        """The page of an uploaded file with hostile names and cells."""
        quoted = payloads.EVIL.replace('"', '""')
        lines = f'"{quoted}",name\n"{quoted}","{quoted}"\n'
        path = "/records/org/import"
        form = {"_xsrf": self.visitor.token(path)}
        files = {"file": (f"{payloads.EVIL}.csv", lines.encode(), "text/csv")}
        return place(self.visitor.post(path, form, files=files))

    # -- pages
    # ----------------------------------------------------------------------------------------------------------

    def paths(self, page: routes.Page) -> list[str]:
        """The paths of a page, with an existing id, name or code."""
        text = page.pattern.pattern.removesuffix(r"\Z")
        argument = _ARGUMENT.search(text)
        if argument is None:
            return [f"{text}?{query}" if query else text for query in ASKED.get(text, ("",))]
        before = text[: argument.start()]
        if argument[1] == "id":
            crumb = before.rstrip("/").rpartition("/")[2]
            id = str(self.ids[CRUMBS[crumb]] if crumb in CRUMBS else 1)
            return [_ARGUMENT.sub(NOTHING, text.replace(argument[0], id))]
        if argument[1] == "code":
            return [text.replace(argument[0], self.codes.get(before, NOTHING))]
        named = _ARGUMENT.sub(r"{\1}", text)
        if named in self.several:
            return self.several[named]
        return [NAMED.get(named, named.replace("{name}", self.failed if "/failed/" in named else NOTHING))]

    def stored(self) -> dict[str, str]:
        """A digest of each table, without records of visits, and without the test write of /admin/system."""

        def read(tx: Any) -> dict[str, str]:
            found = {}
            for table in app.all_tables(self.desk.registry):
                kept = [place for place, name in enumerate(table.names) if (table.name, name) not in SEEN]
                rows = [[row[place] for place in kept] for row in tx.find(table)]
                if table.name not in (META.name, VISIT.name) and not table.name.startswith("metric"):
                    found[table.name] = hashlib.sha256(repr(rows).encode()).hexdigest()
            return found

        return self.desk.read(read)

    def proven(self) -> None:
        """Sets all sessions as if their password had just been entered."""
        table = sessions.SESSION.sql
        self.desk.store.write(lambda tx: tx.run(lambda: table.update({table.stepped_up_at: slot(0)}), (clock.now(),)))


def package_of(prompts: list[dict[str, Any]], *records: dict[str, Any]) -> str:
    """A package as text."""
    head = {"name": payloads.text(100), "revision": 1, "requires": {"svc_version": "1.0.0", "plugins": []}}
    configure = {"prompts": prompts, "placeholders": []}
    return json.dumps({"package": head | {"configure": configure}, "records": records})


def takes_text(name: str, field: Field) -> bool:
    """Whether a field accepts any text."""
    limits = field.describe()
    return not (field.immutable or "<" in name) and field.type == "text" and not limits.keys() & {
        "allowed", "pattern", "format"
    }  # fmt: skip
