"""A desk in daily use, created through the API: long and odd names, many tickets, successful and failed calls.

The journeys walk through its pages, and the pictures of the README show it."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

from server import settings
from server.access.sign_in_providers import SIGN_IN_PROVIDER
from server.first_start.setup import STEPS
from server.mailroom.mailboxes import dead_letters
from server.writing_assistant.model_calls import MODEL_CALL
from server.writing_assistant.model_provider import MODEL_PROVIDER, NAME
from tests.console.visitor import Visitor, place
from tests.records.desk import Desk
from tests.service import PASSWORD, Server, command

# First and last names: right-to-left, with symbols, of maximum length, and in other scripts.
PEOPLE = (
    ("Mara", "Lindqvist"), ("Tomás", "Ferreira"), ("نادية", "الحسيني"), ("דניאל", "בן־עמי"), ("Priya", "Raghunathan"),
    ("陈", "思远"), ("Zoë 🛠️", "van den Berg"), ("Wolfeschlegelsteinhausenbergerdorff", "Featherstonehaugh-Cholm"),
    ("Ines", "Kováč"), ("Otto", ""), ("Ἀλέξανδρος", "Παπαδόπουλος"),
)  # fmt: skip
GROUPS = {
    "Orders": ("Returns", "Shipping", "Waiting for the warehouse"),
    "Billing": ("Invoices", "Reminders"),
    "Partner programme and key accounts of the northern region": ("Contracts",),
}
SUBJECTS = (
    "Printer prints half pages", "Can we get 40 seats this week?", "Invoice 4711 has the wrong address",
    "Where is my parcel?", "طلب عرض سعر", "Re: Fwd: AW: quarterly report, third and really last version of it",
    "Login fails since the update 😕", "Donaudampfschifffahrtsgesellschaftskapitänsmütze ordered twice",
)  # fmt: skip
ECHO = """start:
  # Answers with what it was sent; a caller sees at once what arrived.
  set:
    greeting: Hello {{request_params.name|default('there')}}
  log: {{request_method}} from {{request_client_ip}}
  return:
    status_code: 200
    headers:
      Content-Type: application/json
    body: {{ {greeting: greeting, path: request_path}|json_encode }}
"""
RETURN = """start:
  await:
    form:
      title: Return goods
      elements:
        say/intro:
          content: Which **order** comes back?
        text/prompt_order:
          label: Order
          required@bool: yes
        picklist/prompt_reason:
          label: Reason
          options@csv: broken, late
        textarea/prompt_note:
          label: Note
  return:
    alert: {{prompt_order}} comes back.
"""
ORDERS = """start:
  set:
    order@json: {{request_body}}
  outcome/unknown:
    if@bool: {{order.id ? 'no' : 'yes'}}
    then:
      log.warn: An order without an id was sent.
      return:
        status_code: 422
        body: An order needs an id.
  record.create:
    output: ticket
    inputs:
      record_type: task
      fields:
        title: Order {{order.id}} of {{order.customer}}
    on_success:
      log: Task {{ticket.id}} was made for order {{order.id}}
  return:
    status_code: 201
    body: Order {{order.id}} is noted.
"""
BROKEN = "start:\n  error: The warehouse does not answer; its address is not set.\n"
WRITES = "commands:\n  record.create:\n    deny/type@bool: {{inputs.record_type != 'task'}}\n    allow@bool: yes\n"
SCOPES = """tickets:read:
  label: Read tickets and their messages
  endpoints:
    - "records/ticket/*": GET
    - "records/message/*": GET
tickets:write:
  label: Change and answer tickets
  endpoints:
    - "records/ticket/*": [POST, PUT, PATCH]
    - "tickets/*": POST
people:read:
  label: See who works here
  endpoints:
    - "records/worker/*": GET
    - "workers/me": GET
"""
QUESTION = json.dumps({"package": {
    "name": "Answering machine for the time between the years", "revision": 2,
    "requires": {"svc_version": "1.0.0", "plugins": []},
    "configure": {"placeholders": [], "prompts": [
        {"type": "text", "label": "What it is called", "key": "name", "params": {"default": "Between the years"}},
        {"type": "chooser", "label": "Who looks after it", "key": "owner_id",
         "params": {"context": "worker", "query": "isDisabled:no", "single": True}},
    ]},
}, "records": [{"uid": "made", "_context": "org", "name": "{{{name}}}"}]}, indent=1)  # fmt: skip
BACKUP = "helpdesk-20260102-030405"  # name of the backup
NEVER = 4_000_000_000  # Unix seconds of a far future


class Lively:
    """Nora's client and a browser in which she is signed in; `ids` and nora.ids name the created records."""

    def __init__(self, folder: Path, tickets: int = 300, messages: int = 300) -> None:
        """folder: an empty one. tickets: number of tickets. messages: number of additional messages in the first
        ticket."""
        backups = folder / "backups"
        backups.mkdir(parents=True)
        told = {"HELPDESK_COMPONENT_PAGE": "yes", "HELPDESK_BACKUP_FOLDER": str(backups)}
        self.server = Server(folder / "data", env=told)
        self.nora = self.server.set_up()
        self.nora.is_checked = False  # hundreds of responses, whose shape is tested elsewhere
        self.ids = self.nora.ids
        self.texts: dict[str, str] = {}
        self.visitor = Visitor(self.nora.url)
        assert self.visitor.sign_in().status_code == 303
        for step in STEPS:
            self.visitor.send("/setup/skip", {"step": step}, page="/account")
        self._people()
        self._groups()
        self._tickets(tickets, messages)
        self._automations()
        self._webhooks()
        self._timers()
        self._apps()
        self._fields()
        self._mail()
        self._package()
        self._table()
        self._interaction()
        assert command("backup", str(backups / f"{BACKUP}.db"), data=self.server.data).returncode == 0

    def _make(self, key: str, uri: str, /, **fields: Any) -> int:
        self.ids[key] = int(self.nora.create(uri, **fields).ok()["id"])
        return self.ids[key]

    def _people(self) -> None:
        self.ids["nora"] = self.nora.get("/rest/workers/me.json").ok()["id"]
        for number, (first, last) in enumerate(PEOPLE):
            zone = ("Europe/Lisbon", "Asia/Kolkata", "Pacific/Chatham")[number % 3]
            self._make(
                f"worker{number}", "worker", first_name=first, last_name=last, email=f"worker{number}@desk.example",
                language="en_US", timezone=zone, at_mention_name=f"worker{number}", title="Support engineer",
                **({"is_disabled": 1} if number == 9 else {"password": PASSWORD} if number == 0 else {}),
            )  # fmt: skip

    def _groups(self) -> None:
        self.ids["group"] = self.nora.search("group", "default:yes").ok()["results"][0]["id"]
        for number, (name, buckets) in enumerate(GROUPS.items()):
            members = {"member": ",".join(str(self.ids[f"worker{each}"]) for each in range(number, 8)),
                       "manager": str(self.ids["worker8"])}  # fmt: skip
            group = self._make(f"group{number}", "group", name=name, members=members, is_private=int(number == 1))
            for bucket in buckets:
                self._make("bucket", "bucket", name=bucket, group_id=group)
        self._make("role", "role", name="People who may look at everything and change nothing at all",
                   privs_mode="itemized", privs="", member_query_worker="isDisabled:no")  # fmt: skip

    def _tickets(self, tickets: int, messages: int) -> None:
        reply = ""
        for number in range(tickets + messages):
            subject = SUBJECTS[number % len(SUBJECTS)] if number < tickets else f"Re: {SUBJECTS[0]}"
            head = f"From: Ana {number % 40} <ana{number % 40}@customer.example>\nTo: support@desk.example\n"
            id = f"<{number}@customer.example>"
            reply = "In-Reply-To: <0@customer.example>\n" if number >= tickets else ""
            self.nora.parse(f"{head}Subject: {subject}\nMessage-ID: {id}\n{reply}\nMessage {number}.\n".encode()).ok()
        for key, title in (("rule", "VIP first"), ("other_rule", "Late payers wait")):
            steps = [{"kind": "importance", "importance": "90"}, {"kind": "note", "text": "{{subject}}"}]
            form = {"title": title, "when": ["created"], "conditions": ["tag:vip"], "steps": steps}
            self._make(key, "automation", extension_id="svc.trigger.ticket.event", form=json.dumps(form))
        first = self.nora.found("ticket", "sort:id")[0]
        self.texts["mask"] = self.nora.record("ticket", first).ok()["mask"]
        self.nora.create("comment", comment="They called twice.", target__context="ticket", target_id=first).ok()
        self._make("file", "attachment", name="floor plan.txt", content="Third floor", attach=[f"ticket:{first}"])
        html = "Content-Type: text/html\n\n<p>Please see <b>this</b>.</p><blockquote>Before</blockquote>\n"
        mailed = self.nora.parse(f"From: ana@customer.example\nSubject: In colour\nMIME-Version: 1.0\n{html}").ok()[
            "id"
        ]
        [self.ids["html_message"]] = self.nora.found("message", f"ticket.id:{mailed}")
        self._make(
            "draft", "draft", type="ticket.reply", name="Re: In colour", ticket_id=mailed, worker_id=self.ids["nora"],
            params={"content": "It **is**.", "in_reply_message_id": self.ids["html_message"]},
        )  # fmt: skip
        self._make("category", "kb_category", name="Visits")
        self._make(
            "article",
            "kb_article",
            title="Opening hours",
            content="Nine to five.",
            status="published",
            categories=str(self.ids["category"]),
        )
        told = {"message": "They called twice.", "urls": {"message": f"ctx://ticket:{first}"}}
        self._make(
            "notification", "notification", activity_point="custom.other", params=told, worker_id=self.ids["nora"]
        )
        for id in self.nora.found("ticket", "sort:id")[1:8]:
            self.nora.update("ticket", id, owner_id=self.ids["nora"]).ok()

    def _automations(self) -> None:
        responder = "svc.trigger.webhook.respond"
        self._make(
            "automation",
            "automation",
            name="shop.orders.receive",
            extension_id=responder,
            script=ORDERS,
            policy_kata=WRITES,
            description="Takes orders from the shop and makes a task of each.",
        )
        self._make(
            "echo",
            "automation",
            name="example.webhook.echo",
            extension_id=responder,
            script=ECHO,
            description="Answers with what it was sent.",
        )
        self._make(
            "broken",
            "automation",
            extension_id=responder,
            script=BROKEN,
            name="warehouse.of.the.northern.region.stock.levels.synchronise.nightly",
            description="Asks the warehouse what is in stock, " + "and asks again, " * 8 + "and writes it down",
        )
        self._make("wordless", "automation", name="weekly.report", extension_id="svc.trigger.automation.timer",
                   script="start:\n  return:\n    sum@int: 1\n")  # fmt: skip

    def _webhooks(self) -> None:
        bound = "automation/answer:\n  uri: svc:automation:{0}\n"
        orders = json.dumps({"id": 4711, "customer": "Acme Inc", "lines": [{"article": "B-200", "count": 3}]})
        post = self.nora.session.post
        for key, name, automation, bodies in (
            ("webhook", "Orders from the shop", "shop.orders.receive", [orders, orders, "{}", orders]),
            ("other", "Stock of the warehouse in the north, sent each night by their own system",
             "warehouse.of.the.northern.region.stock.levels.synchronise.nightly", ["{}", "{}"]),
            ("quiet", "Never called", "example.webhook.echo", []),
            ("bare", "Without an automation", "", []),
        ):  # fmt: skip
            kata = bound.format(automation) if automation else ""
            hook = self.nora.create("webhook_listener", name=name, automations_kata=kata).ok()
            self.ids[key] = hook["id"]
            for body in bodies:
                post(f"{self.nora.url}/webhooks/{hook['guid']}/orders?from=shop", data=body, timeout=60)
        self._make(
            "outgoing",
            "outgoing_webhook",
            name="Shop",
            url="http://127.0.0.1:9/hooks",
            events="currency.created, currency.deleted",
        )
        self.ids["sent"] = self.nora.post(f"/rest/outgoing_webhooks/{self.ids['outgoing']}/test.json").ok()["id"]
        self._make(
            "chat",
            "outgoing_webhook",
            name="The channel of the night shift",
            program="discord",
            url="https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz",
            events="ticket.created, ticket.late",
            has_text=1,
            is_disabled=1,
        )
        made = self.nora.get(f"/rest/webhooks/{self.ids['webhook']}/deliveries.json").ok()["results"]
        self.ids["delivery"] = made[0]["id"]

    def _timers(self) -> None:
        kata = "automation/report:\n  uri: svc:automation:weekly.report\n"
        named = (("timer", "Every weekday at nine", "0 9 * * 1-5"), ("", "Once a night", "0 3 * * *"))
        for key, name, pattern in named:
            self._make(key, "automation_timer", name=name, is_recurring=1, recurring_patterns=pattern,
                       automations_kata=kata, next_run_at=NEVER)  # fmt: skip

    def _apps(self) -> None:
        for key, name, more in (
            ("app", "Dashboard in the hall", {"scopes": SCOPES, "url": "https://dashboard.example"}),
            ("plain", "Shop", {}),
            ("long", "Integration of the accounting software for partner companies abroad", {"is_public": 1}),
        ):
            self._make(key, "oauth_app", name=name, callback_url=f"https://{key}.example/back", **more)
        self.texts["client_id"] = self.nora.record("oauth_app", self.ids["plain"]).ok()["client_id"]
        labels = ("Nightly export", "", "For the dashboard in the hall, second floor", "Test")
        for number, label in enumerate(labels):
            worker = self.ids[f"worker{number}"]
            self.nora.post("/rest/oauth/tokens/create.json", worker_id=worker, expires="3 days", label=label).ok()

    def _fields(self) -> None:
        owner = {"owner__context": "svc.contexts.app", "owner_id": 0}
        self._make("contact", "contact", first_name="Ana", email="ana.merge@larch.example")
        self._make("org", "org", name="Larch Merged")
        self._make("target", "service_target", name="Answer within a day", response_minutes=1440)
        self._make("calendar", "calendar", name="Opening hours", **owner)
        self.nora.post(f"/rest/calendars/{self.ids['calendar']}/holidays.json", days="25 Dec Christmas").ok()
        page = {"extension_id": "core.workspace.page.workspace", **owner}
        self._make("workspace_page", "workspace_page", name="Numbers", **page)
        tab = {"extension_id": "core.workspace.tab.dashboard", "page_id": self.ids["workspace_page"]}
        self._make("workspace_tab", "workspace_tab", name="Today", **tab)
        on_tab = {"tab_id": self.ids["workspace_tab"]}
        text = {"extension_id": "core.workspace.widget.markdown", "params": {"content": "Be *kind*."}}
        self._make("workspace_widget", "workspace_widget", label="Rules", **text, **on_tab)
        self._make("workspace_list", "workspace_list", name="Tasks", context="task", **on_tab)
        self._make("board", "project_board", name="Move to the new hall, with all that belongs to it")
        board = {"board_id": self.ids["board"]}
        self._make("board_column", "project_board_column", name="Waiting for the painters", **board)
        cards = [f"ticket:{self.nora.found('ticket', 'sort:id')[0]}", f"org:{self.ids['org']}"]
        self.nora.create("project_board_column", name="Done", cards=cards, **board).ok()
        self._make("snippet", "snippet", title="Thanks", content="Thanks for {{subject}}.", context="ticket", **owner)
        steps = {"steps": "2", "steps-0-kind": "take", "steps-1-kind": "answer", "steps-1-text": "About {{mask}}"}
        macro = {"name": "Take and reply", "owner": "svc.contexts.app:0", "do": "save", **steps}
        self.ids["macro"] = int(self.visitor.send("/macros/new", macro).headers["Location"].rpartition("/")[2])
        self._make("other_tag", "tag", name="vip")
        self._make("brand", "brand", name="Kite Pumps and all that belongs to them", languages="en, de")
        place = {"brand_id": self.ids["brand"], "group_id": self.ids["group"]}
        self._make("contact_form", "contact_form", name="Questions about pumps and all that belongs to them", **place)
        self._make("other_status", "ticket_status", name="Waiting for customer", status="waiting")
        self._make("status", "ticket_status", name="Waiting for supplier", status="waiting", color="orange")
        self._make("tag", "tag", name="late payer", color="red")
        first = self.nora.found("ticket", "sort:id")[0]
        self.nora.update("ticket", first, tags="vip, late payer, billing, refund").ok()
        self._make("fieldset", "custom_fieldset", name="Contract", context="ticket", **owner)
        for number, (key, name, kind, more) in enumerate((
            ("field", "Service level", "D", {"params": {"options": ["Gold", "Silver", "Bronze"]}}),
            ("", "Cost centre that pays for it, with the number of the department", "S", {}),
            ("", "Signed on", "E", {"custom_fieldset_id": self.ids["fieldset"]}),
        )):  # fmt: skip
            self._make(key, "custom_field", name=name, uri=f"lively_{number}", type=kind, context="ticket", **more)

    def _mail(self) -> None:
        """Creates a transport that accepts nothing, mail that waits for it, a mailbox that cannot be read, and a
        disabled one."""
        service = self._make("service", "connected_service", name="Parcels of the carrier abroad",
                             extension_id="svc.service.provider.token.bearer", params={})  # fmt: skip
        self._make("account", "connected_account", name="Parcels", service_id=service, owner__context="app",
                   owner_id=0, params={"token": "k"})  # fmt: skip
        with closing(Desk(self.server.data)) as desk:
            row = {"name": "company", "label": "Company account", "preset": "other", "issuer": "https://login.example",
                   "client_id": "desk", "scopes": "openid email", "group_ids": "[]", "mapping": "[]",
                   "trial": "{}"}  # fmt: skip
            self.ids["provider"] = desk.store.write(lambda tx: tx.insert(SIGN_IN_PROVIDER, row))
            ticket = desk.found("ticket", f"mask:{self.texts['mask']}")[0]
            call = dict.fromkeys(("sent_chars", "received_chars"), 2) | {
                "worker_id": self.ids["nora"],
                "ticket_id": ticket,
                "act": "summarize",
                "state": "done",
                "model": "larch-7b",
                "host": "model.example",
                "created_at": desk.context().now,
                "sent": '[{"role": "user", "content": "Hi"}]',
                "result": "She wants a parcel.",
            }
            self.ids["model_call"] = desk.store.write(lambda tx: tx.insert(MODEL_CALL, call))
            model = {"name": NAME, "base_url": "https://model.example/v1", "model": "larch-7b", "api_key": "k"}
            desk.store.write(lambda tx: tx.put(MODEL_PROVIDER, model))
        self.nora.update("group", self.nora.record("ticket", ticket).ok()["group_id"], writing_assistant="1").ok()
        self._make("transport", "mail_transport", name="Provider", extension_id="core.mail.transport.smtp",
                   params={"host": "127.0.0.1", "port": 9, "encryption": "None"})  # fmt: skip
        old = "Old mailbox of the partner programme, read until spring"
        for key, name, host, is_on in (("mailbox", "Support", "127.0.0.1", 1), ("", old, "mail.example", 0)):
            self._make(key, "mailbox", name=name, protocol="imap", host=host, port=9, username="support",
                       password="x", is_enabled=is_on)  # fmt: skip
        for number in range(3):
            to, subject = f"ana{number}@customer.example", f"Your order {4711 + number} is on its way"
            params = {"to": to, "subject": subject, "content": f"Dear Ana,\n\nparcel {number} left today.\n"}
            self._make("mail", "draft", type="mail.transactional", name=subject, to=to, params=params, is_queued=1)

        dead_letters.keep(
            settings.load({}, {}, data_folder=self.server.data), "mailbox-1-7",
            b"From: ana@customer.example\nSubject: Half a mail\n\nIts end is missing", "it is larger than 64 MiB",
        )  # fmt: skip
        self.texts["letter"] = dead_letters.list_dead_letters(settings.load({}, {}, data_folder=self.server.data))[
            0
        ].key

    def _package(self) -> None:
        form = {"package_json": QUESTION, "do": "import", "p0": "Between the years", "p1": str(self.ids["nora"])}
        self.texts["done"] = place(self.visitor.send("/admin/packages/import", form, page="/admin/packages"))

    def _table(self) -> None:
        path, lines = "/records/contact/import", b"First name,Email\nAda,ada@customer.example\n"
        sent = self.visitor.post(path, {"_xsrf": self.visitor.token(path)}, files={"file": ("people.csv", lines)})
        self.texts["table"] = place(sent)

    def _interaction(self) -> None:
        trigger = "svc.trigger.interaction.worker"
        self._make("interaction", "automation", name="orders.return", extension_id=trigger, script=RETURN)
        kata = "interaction/return:\n  label: Return goods\n  uri: svc:automation:orders.return\n"
        form = {"extension_id": "core.workspace.widget.form_interaction", "params": {"interactions_kata": kata}}
        self._make("form_widget", "workspace_widget", label="Forms", tab_id=self.ids["workspace_tab"], **form)
        self.nora.update("project_board_column", self.ids["board_column"], toolbar_kata=kata).ok()
        path = f"/pages/forms/{self.ids['form_widget']}"
        self.texts["run"] = place(self.visitor.send(path, {"form": "return"}, page=f"{path}?form=return"))
