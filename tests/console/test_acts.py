"""Every form of the console, found by the route table: its effect is in the activity log with its sender, or the
form is in a short list with a reason. A new form that logs nothing fails here."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

from console.http import routes
from server import clock, settings
from server.access import known_devices, password_links, push_devices, second_factor, sessions, totp
from server.access.tokens import TOKEN
from server.jobs.job_queue import JobQueue
from server.mailroom.mailboxes import dead_letters
from server.outbound.web_push import Subscription
from server.sign_in import provisioning_tokens
from tests.console import table
from tests.console.lively import BACKUP, Lively
from tests.console.visitor import Visitor, place
from tests.mail_servers import ImapServer
from tests.push_service import FakeBrowser
from tests.records.desk import Desk
from tests.service import PASSWORD
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.sqlite("a desk with backups of its file")

FAR = 4_000_000_000  # Unix seconds; no job of these tests is due before
# Forms without an entry, and the reason.
EXCEPTIONS = {
    "it writes nothing": (
        "/-/time", "/-/check/script", "/-/check/policy", "/-/check/binding", "/-/check/toolbar",
        "/-/check/scopes", "/-/check/callbacks",
        "/api/{name}", "/admin/packages/look", "/-/snippets/{id}", "/-/snippets/preview", "/-/article-preview",
        "/admin/mail/connect",
    ),
    "the consent at a provider is told when the browser comes back with it": (
        "/admin/connections/{id}/connect", "/admin/connections/accounts/{id}/connect",
    ),
    "it keeps or drops what one typed, or how the console looks to oneself": (
        "/-/hint", "/-/draft", "/-/draft/drop", "/account/appearance", "/account/tickets", "/account/notifications",
        "/account/notified/{id}", "/account/quiet-hours",
        "/account/absence",
        "/account/absence/begin", "/account/absence/end", "/start/away", "/reports/{name}/email",
        "/start/back", "/setup/skip",
        "/automations/{id}/examples", "/notifications/read", "/-/columns", "/tickets/{mask}/draft", "/compose/draft",
        "/tickets/{mask}/writing-assistant/{id}/use", "/tickets/{mask}/writing-assistant/{id}/undo",
        "/records/{type}/import",
    ),
    "each record has its own entry, by the operation that is done to it": (
        "/-/bulk", "/-/bulk/undo", "/-/saved-searches", "/-/saved-searches/forget",
        "/records/{type}/set", "/records/{type}/set/undo",
        "/workspaces/new", "/workspaces/{id}", "/workspaces/{id}/delete", "/workspaces/{id}/tabs", "/workspaces/add",
        "/workspaces/tabs/{id}", "/workspaces/tabs/{id}/move", "/workspaces/tabs/{id}/delete",
        "/workspaces/widgets/{id}", "/workspaces/widgets/{id}/move", "/workspaces/widgets/{id}/delete",
        "/workspaces/lists/{id}", "/workspaces/lists/{id}/move", "/workspaces/lists/{id}/delete",
        "/boards/new", "/boards/{id}/edit", "/boards/{id}/edit/delete", "/boards/{id}/columns",
        "/boards/columns/{id}/edit", "/boards/columns/{id}/rename", "/boards/columns/{id}/move",
        "/boards/columns/{id}/delete",
        "/pages/boards/{id}/move", "/pages/boards/{id}/add",
        "/snippets/new", "/snippets/{id}", "/snippets/{id}/delete", "/snippets/{id}/restore",
        "/articles/new", "/articles/{id}", "/articles/{id}/delete", "/articles/{id}/restore", "/articles/{id}/detach",
        "/articles/{id}/history/restore", "/articles/in/{name}/{id}/move", "/articles/categories/new",
        "/articles/categories/{id}", "/articles/categories/{id}/move", "/articles/categories/{id}/delete",
        "/records/{type}/new", "/records/{type}/{id}/edit", "/records/{type}/{id}/delete",
        "/records/{type}/{id}/comment", "/records/task/{id}/done",
        "/records/calendar/{id}/holidays", "/records/calendar/{id}/holidays/remove",
        "/records/contact/{id}/merge", "/records/org/{id}/merge", "/records/{type}/{id}/link",
        "/records/{type}/{id}/unlink", "/records/{type}/{id}/remind", "/reminders/{id}/drop",
        "/automations/events/{id}", "/automations/events/{id}/move", "/automations/events/{id}/add",
        "/automations/events/{id}/remove", "/automations/recipes/{name}",
        "/tickets/{mask}/customer", "/tickets/{mask}/customer/new", "/tickets/{mask}/customer/note",
        "/tickets/{mask}/customer/tags", "/records/{type}/{id}/tags",
    ),
    "signing in and out have entries of their own, which are no administrative acts": (
        "/login", "/login/code", "/sign-out", "/confirm", "/login/passkey", "/login/code/passkey", "/confirm/passkey",
    ),
    "it only asks the browser for a passkey": (
        "/login/passkey/options", "/login/code/passkey/options", "/confirm/passkey/options",
        "/account/passkeys/new/options",
    ),
    "it asks for a mail to oneself; the password that is set by it is told": ("/forgotten",),
    "it sends a mail once more that is about what was told already": (
        "/account/address/again", "/admin/people/{id}/address/again",
    ),
    "it shows a notification on a device of one's own": ("/account/notified/{id}/test",),
    "it stops a run of one's own": ("/automations/stop", "/tickets/{mask}/writing-assistant/{id}/cancel"),
    "tickets tell of their mail": (
        "/start/ticket", "/tickets/{mask}/answer", "/tickets/{mask}/take-back", "/compose", "/compose/take-back",
        "/inbox/reply", "/inbox/reply/take-back",
    ),
    "the ticket tells it in its own activity: it is the day's work": (
        "/tickets/{mask}/set", "/tickets/{mask}/restore", "/tickets/{mask}/requester",
        "/tickets/{mask}/requester/remove", "/tickets/{mask}/tags", "/tickets/{mask}/watch",
        "/tickets/{mask}/note", "/tickets/{mask}/spam", "/tickets/{mask}/writing-assistant",
        "/tickets/{mask}/requester/original", "/tickets/{mask}/requester/original/undo",
        "/tickets/{mask}/merge", "/tickets/{mask}/unmerge", "/tickets/{mask}/split", "/tickets/{mask}/macros",
        "/inbox/macro", "/inbox/note", "/inbox/merge",
    ),
    "it goes on with what was told when it was started": ("/pages/forms/runs/{code}",),
    "it says nothing about tomorrow": ("/tickets/{mask}/presence",),
    "a file is told with the message that it goes along with": ("/-/files",),
    "the request that it sends is told by what it does": ("/api/{name}/write",),
}  # fmt: skip


@dataclass(frozen=True)
class Act:
    """A form to submit. points: of the entries that it writes. fields: values to type over the present ones. page:
    the page that contains it, "" for the first page of the table. path: the target if it is sent without opening
    a page. All of them may contain names of the desk's ids."""

    kind: str
    points: tuple[str, ...]
    fields: dict[str, str] = field(default_factory=dict)
    page: str = ""
    path: str = ""


def act(kind: str, *points: str, page: str = "", path: str = "", **fields: str) -> Act:
    return Act(kind, points, fields, page, path)


PHONE = FakeBrowser("https://push.example/acts")
NO_FIELDS = {"bucket_id": "", "field_0": "", "field_1": "", "field_2": ""}  # of a contact form
ACTS = [
    act("/account/notified", "worker.push.on", path="/account/notified", **PHONE.fields),
    act("/account/notified/{id}/remove", "worker.push.off", path="/account/notified/{push_device}/remove"),
    act("/account/devices/{id}/forget", "worker.device.forgotten", path="/account/devices/{device}/forget"),
    act("/account/sessions/{id}/end", "worker.sessions.ended", path="/account/sessions/{session}/end"),
    act("/account/sessions/end", "worker.sessions.ended"),
    act("/account/profile", "worker.changed", first_name="Leonora"),
    act("/account/address", "worker.login_address.asked", email="leonora@desk.example", current=PASSWORD),
    act("/account/address/drop", "worker.login_address.dropped", path="/account/address/drop"),
    act("/account/password", "worker.password.set", current=PASSWORD, password=PASSWORD, password_again=PASSWORD),
    act("/admin/people/new", "worker.created", "worker.admin.given", first_name="Ada", email="ada@desk.example",
        is_superuser="1", invite=""),
    act("/admin/people/{id}", "worker.changed", "worker.admin.given", title="Head", is_superuser="1"),
    act("/admin/people/{id}", "worker.login_address.asked", email="mara@desk.example"),
    act("/admin/people/{id}/address/drop", "worker.login_address.dropped", path="/admin/people/{worker0}/address/drop"),
    act("/admin/people/{id}/invite", "worker.invited", by="mail"),
    act("/admin/people/{id}/invite", "worker.password.link", by="link"),
    act("/admin/people/invite", "worker.invited", emails="guest@desk.example", by="mail"),
    act("/admin/people/invitations/{id}/again", "worker.invited.again",
        path="/admin/people/invitations/{invitation}/again"),
    act("/admin/people/invitations/{id}/withdraw", "worker.invitation.withdrawn",
        path="/admin/people/invitations/{invitation}/withdraw"),
    act("/admin/people/provisioning", "provisioning.token.created", name="Entra ID"),
    act("/admin/people/provisioning/{id}/revoke", "provisioning.token.revoked",
        path="/admin/people/provisioning/{provisioning}/revoke"),
    act("/admin/people/{id}/sign-out", "worker.sessions.ended", path="/admin/people/{worker0}/sign-out"),
    act("/admin/people/{id}/second-factor/off", "worker.second_factor.off",
        path="/admin/people/{worker0}/second-factor/off"),
    act("/admin/people/{id}/disable", "worker.disabled", page="/admin/people/{worker1}/disable"),
    act("/admin/people/{id}/enable", "worker.enabled", path="/admin/people/{worker1}/enable"),
    act("/admin/people/absences/{id}", "worker.changed", away_until="+1 day"),
    act("/admin/people/absences/{id}/begin", "worker.changed", path="/admin/people/absences/{worker1}/begin"),
    act("/admin/people/absences/{id}/end", "worker.changed", path="/admin/people/absences/{worker0}/end"),
    act("/admin/people/groups/new", "group.created", name="Night shift"),
    act("/admin/people/groups/{id}", "group.changed", reply_personal="Shop"),
    act("/admin/people/groups/{id}/assign", "group.tickets.queued", path="/admin/people/groups/{group0}/assign"),
    act("/admin/people/groups/{id}/buckets", "bucket.created", bucket="Parcels"),
    act("/admin/people/buckets/{id}", "bucket.changed", name="Letters"),
    act("/admin/people/buckets/{id}/delete", "bucket.deleted"),
    act("/admin/people/rosters", "group.roster.changed", **{"part[g{group1}][w{nora}]": "manager"}),
    act("/admin/people/groups/{id}/delete", "group.deleted"),
    act("/admin/people/roles/new", "role.created", name="Readers"),
    act("/admin/people/roles/{id}", "role.changed", privs_mode="all"),
    act("/admin/people/roles/{id}/delete", "role.deleted"),
    act("/admin/apps/new", "oauth_app.created", name="Till", callback_url="https://till.example/back"),
    act("/admin/apps/{id}", "oauth_app.changed", callback_url="https://other.example/back"),
    act("/admin/apps/{id}/rotate", "oauth_app.changed"),
    act("/admin/apps/{id}/end-secret", "oauth_app.changed", path="/admin/apps/{app}/end-secret"),
    act("/admin/tokens/new", "token.created"),
    act("/oauth/authorize", "consent.given", answer="allow"),
    act("/account/apps/{id}/revoke", "consent.taken_back", path="/account/apps/{plain}/revoke"),
    act("/admin/assistants", "setting.changed", mcp="1"),
    act("/admin/writing-assistant", "writing_assistant.provider.set",
        base_url="https://model.example/v2", api_key="k2"),
    act("/admin/writing-assistant/groups", "group.changed", path="/admin/writing-assistant/groups",
        **{"notes[]": "{group0}"}),
    act("/admin/writing-assistant/remove", "writing_assistant.provider.removed",
        path="/admin/writing-assistant/remove"),
    act("/account/tokens/{id}/revoke", "token.ended"),
    act("/admin/tokens/{id}/revoke", "token.ended", path="/admin/tokens/{token}/revoke"),
    act("/admin/tokens/revoke", "token.ended", path="/admin/tokens/revoke", app="{app1}", worker="{worker2}"),
    act("/admin/assistants/{id}/revoke", "token.ended", path="/admin/assistants/{plain}/revoke"),
    act("/admin/apps/{id}/delete", "oauth_app.deleted"),
    act("/admin/fields/new", "custom_field.created", name="Weight", options="heavy\nlight"),
    act("/admin/fields/{id}", "custom_field.changed", name="Level"),
    act("/admin/fields/{id}/move", "custom_field.changed"),
    act("/admin/fields/{id}/rename", "custom_field.option.renamed", new_name="Diamond"),
    act("/admin/fields/{id}/delete", "custom_field.deleted"),
    act("/admin/fields/deleted/{id}/restore", "custom_field.restored", path="/admin/fields/deleted/{field}/restore"),
    act("/admin/fields/{id}/delete", "custom_field.deleted"),
    act("/admin/fields/deleted/{id}/remove", "custom_field.removed", path="/admin/fields/deleted/{field}/remove"),
    act("/admin/fields/sets/new", "custom_fieldset.created", name="Terms"),
    act("/admin/fields/sets/{id}", "custom_fieldset.changed", name="Agreement"),
    act("/admin/fields/sets/{id}/delete", "custom_fieldset.deleted"),
    act("/admin/mail/transports/new", "mail_transport.created", name="Relay", host="127.0.0.1", connected_account=""),
    act("/admin/mail/transports/{id}", "mail_transport.changed", encryption="none",
        port="{smtp_port}", connected_account=""),
    act("/admin/mail/transports/{id}/test", "mail.tested"),
    act("/admin/mail/default", "setting.changed"),
    act("/admin/mail/senders", "sender.changed", email="shop@desk.example", transport="{transport}"),
    act("/admin/mail/signing", "dkim.key.created", page="/admin/mail/signing", domain="desk.example"),
    act("/admin/mail/signing/{id}/delete", "dkim.key.deleted", path="/admin/mail/signing/1/delete"),
    act("/admin/mail/senders/{id}/remove", "sender.changed", path="/admin/mail/senders/{sender}/remove"),
    act("/admin/mail/transports/{id}/delete", "mail_transport.deleted"),
    act("/admin/mail/mailboxes/new", "mailbox.created", name="Sales", host="127.0.0.1", username="s", password="x",
        is_enabled="", connected_account_id=""),
    act("/admin/mail/mailboxes/{id}", "mailbox.changed", name="Support desk", host="127.0.0.1",
        port="{imap_port}", username="support", password='pass "word\\', connected_account_id=""),
    act("/admin/mail/mailboxes/{id}/check", "mailbox.checked"),
    act("/admin/mail/mailboxes/{id}/delete", "mailbox.deleted"),
    act("/admin/mail/listener", "setting.changed", lmtp_port="0", lmtp_domains="desk.example"),
    act("/admin/mail/failed/{name}/take", "mail.taken"),
    act("/admin/mail/failed/{name}/discard", "mail.discarded"),
    act("/admin/mail/outbox/{id}/drop", "mail.dropped", path="/admin/mail/outbox/{later0}/drop"),
    act("/admin/mail/outbox/{id}/send", "mail.retried", path="/admin/mail/outbox/{later1}/send"),
    act("/setup/address", "setting.changed", mail_mask_pattern="LLLL-NNNNN"),
    act("/setup/mail", "mail_transport.created", "setting.changed", host="127.0.0.1", encryption="none",
        port="{smtp_port}"),
    act("/setup/receive", "mailbox.created", protocol="imap", host="127.0.0.1", port="{imap_port}", username="support",
        password='pass "word\\'),
    act("/setup/demo", "demo.added"),
    act("/setup/demo/remove", "demo.removed", path="/setup/demo/remove"),
    act("/admin/system/settings/{name}", "setting.changed", mail_mask_pattern="LLL-NNNNNN"),
    act("/admin/system/database", "job.run"),
    act("/admin/jobs/scans", "scan.run"),
    act("/admin/jobs/scans/switch", "scan.switched"),
    act("/admin/jobs/timers/{id}/switch", "automation_timer.changed"),
    act("/admin/jobs/timers/{id}/switch", "automation_timer.changed"),
    act("/admin/jobs/timers/{id}/run", "automation_timer.changed"),
    act("/admin/jobs/timers/new", "automation_timer.created", name="Every morning", automation="morning.report"),
    act("/admin/jobs/timers/{id}", "automation_timer.changed", name="Every evening"),
    act("/admin/jobs/timers/{id}/delete", "automation_timer.deleted"),
    act("/admin/targets/new", "service_target.created", name="Answer within a day", response_minutes="1440"),
    act("/admin/targets/{id}", "service_target.changed", name="Answer within two days", response_minutes="2880"),
    act("/admin/targets/{id}/delete", "service_target.deleted"),
    act("/admin/tags/new", "tag.created", name="valves"),
    act("/admin/tags/{id}", "tag.changed", "tag.renamed", name="pump parts", color="red"),
    act("/admin/tags/{id}/merge", "tag.merged", path="/admin/tags/{other_tag}/merge", into="pump parts"),
    act("/admin/tags/{id}/unmerge", "tag.created", path="/admin/tags/{tag}/unmerge"),
    act("/admin/tags/{id}/delete", "tag.deleted"),
    act("/admin/statuses/new", "ticket_status.created", name="On hold"),
    act("/admin/statuses/{id}", "ticket_status.changed", "ticket_status.renamed", name="On order", color="red"),
    act("/admin/statuses/{id}/move", "ticket_status.changed"),
    act("/admin/statuses/{id}/delete", "ticket_status.deleted"),
    act("/admin/statuses/{id}/restore", "ticket_status.created", path="/admin/statuses/{status}/restore"),
    act("/admin/help-center/new", "brand.created", name="Larch", host="help.larch.example"),
    act("/admin/help-center/{id}", "brand.changed", name="Other pumps"),
    act("/admin/help-center/{id}/public", "brand.changed", on="1"),
    act("/admin/help-center/contact-forms/new", "contact_form.created", name="Larch", slug="larch", brand_id="{brand}",
        group_id="{group}", **NO_FIELDS),
    act("/admin/help-center/contact-forms/{id}", "contact_form.changed", name="Other questions", **NO_FIELDS),
    act("/admin/help-center/contact-forms/{id}/switch", "contact_form.changed", on="1"),
    act("/admin/help-center/contact-forms/{id}/delete", "contact_form.deleted"),
    act("/admin/help-center/{id}/delete", "brand.deleted"),
    act("/admin/rules/new", "automation.created", page="/admin/rules/new?start=close", do="save"),
    act("/admin/rules/{id}", "automation.changed", title="VIP customers first", do="save"),
    act("/admin/rules/{id}/move", "automation_event.changed", path="/admin/rules/{rule}/move", to="down"),
    act("/admin/rules/{id}/switch", "automation_event.changed", path="/admin/rules/{rule}/switch", on="0"),
    act("/admin/rules/{id}/delete", "automation.deleted", page="/admin/rules/{other_rule}"),
    act("/admin/rules/{id}/restore", "automation.created", path="/admin/rules/{other_rule}/restore"),
    act("/admin/jobs/{id}/run", "job.run", path="/admin/jobs/{job}/run"),
    act("/admin/jobs/{id}/drop", "job.dropped", path="/admin/jobs/{idle}/drop"),
    act("/admin/packages/export", "data.exported", do="export", **{"records[]": "automation:{automation}"}),
    act("/admin/packages/import", "package.imported", "automation.created", do="import"),
    act("/automations/new", "automation.created", name="new.one", do="save"),
    act("/automations/{id}", "automation.changed", do="save", description="Other words"),
    act("/automations/{id}", "automation.run", page="/automations/{wordless}", do="run", sure="1"),
    act("/automations/{id}/restore", "automation.changed", path="/automations/{automation}/restore", version="1"),
    act("/automations/webhooks/new", "webhook_listener.created", name="Bell"),
    act("/automations/webhooks/{id}", "webhook_listener.changed", kept_days="15"),
    act("/automations/webhooks/{id}/switch", "webhook_listener.changed"),
    act("/automations/webhooks/{id}/switch", "webhook_listener.changed"),
    act("/automations/webhooks/{id}/rotate", "webhook_listener.address.renewed"),
    act("/automations/webhooks/{id}/end-address", "webhook_listener.address.ended",
        path="/automations/webhooks/{webhook}/end-address", former="1"),
    act("/automations/webhooks/{id}/try", "webhook_listener.called", do="call"),
    act("/automations/webhooks/deliveries/{id}/replay", "webhook_listener.called"),
    act("/automations/webhooks/{id}/delete", "webhook_listener.deleted"),
    act("/automations/outgoing/new", "outgoing_webhook.created", name="Shop", url="http://127.0.0.1:9/x",
        events="ticket.created"),
    act("/automations/outgoing/{id}", "outgoing_webhook.changed", name="Other shop"),
    act("/automations/outgoing/{id}/test", "outgoing_webhook.tried"),
    act("/automations/outgoing/sent/{id}/replay", "outgoing_webhook.sent_again",
        path="/automations/outgoing/sent/{sent}/replay"),
    act("/automations/outgoing/{id}/rotate", "outgoing_webhook.changed"),
    act("/automations/outgoing/chats/new", "outgoing_webhook.created",
        path="/automations/outgoing/chats/new?program=ntfy", page="/automations/outgoing/chats/new?program=ntfy",
        name="Phones", url="https://ntfy.sh/kite", **{"chosen[]": "ticket.created"}),
    act("/automations/outgoing/chats/{id}", "outgoing_webhook.changed", name="Phones of pumps"),
    act("/automations/outgoing/{id}/delete", "outgoing_webhook.deleted"),
    act("/automations/{id}/delete", "automation.deleted"),
    act("/macros/new", "automation.created", name="Solved", **{"steps-0-text": "It works again."}),
    act("/macros/{id}", "automation.changed", name="Take it"),
    act("/macros/{id}/delete", "automation.deleted", path="/macros/{macro}/delete"),
    act("/macros/{id}/restore", "automation.created", path="/macros/{macro}/restore"),
    act("/admin/backups", "backup.made"),
    act("/admin/backups/{name}/verify", "backup.verified"),
]  # fmt: skip
# Tested where more than an administrator's form is needed: the tests below, test_backups.py,
# access/test_invitations.py, access/test_login_address.py, access/test_passkeys.py,
# access/test_second_factor_policy.py, test_first_start.py, records/test_dkim.py, sign_in/, imports/test_importing.py.
ELSEWHERE = (
    "/account/sign-in/{id}/unlink",
    "/account/sign-in/{name}/link",
    "/admin/people/{id}/unlink",
    "/admin/people/sign-in/new",
    "/admin/people/sign-in/only",
    "/admin/people/sign-in/{id}",
    "/admin/people/sign-in/{id}/delete",
    "/admin/people/sign-in/{id}/disable",
    "/admin/people/sign-in/{id}/enable",
    "/admin/people/sign-in/{id}/order",
    "/admin/people/sign-in/{id}/try",
    "/sign-in/backchannel/{name}",
    "/sign-in/link/{code}",
    "/admin/ratings",  # in test_rating_settings.py
    "/admin/connections/new",  # these in test_connections.py
    "/admin/connections/{id}",
    "/admin/connections/{id}/delete",
    "/admin/connections/accounts/new",
    "/admin/connections/accounts/{id}",
    "/admin/connections/accounts/{id}/delete",
    "/admin/mail/connect/servers",
    "/confirm-address/{code}",
    "/join/{code}",
    "/reset/{code}",
    "/setup/{code}",
    "/account/second-factor",
    "/oauth/device",
    "/account/second-factor/codes",
    "/account/second-factor/off",
    "/account/passkeys/new",
    "/account/passkeys/{id}",
    "/account/passkeys/{id}/remove",
    "/admin/people/second-factor",
    "/records/{type}/import/{code}",
    "/pages/forms/{id}",  # in test_interactions.py
    "/pages/forms/columns/{id}",  # the same for a column of a board
    "/admin/backups/send",
    "/admin/backups/set-up",
    "/admin/backups/{name}/remove",
    "/admin/backups/{name}/restore",
    "/admin/mail/signing/{id}/use",
    "/admin/mail/signing/{id}/stop",
)


class Office:
    """A desk with an administrator at the console, and the log entries that she causes."""

    def __init__(self, lively: Lively) -> None:
        self.lively = lively
        self.visitor = lively.visitor

    @cached_property
    def pages(self) -> dict[str, str]:
        """The page that contains each kind of form. Opens every page."""
        pages: dict[str, str] = {}
        for path in table.addresses(self.lively):
            response = self.visitor.get(path)
            if response.headers["Content-Type"].startswith("text/html") and path != "/-/ui":
                for form in table.forms(response.text, path):
                    pages.setdefault(table.kind(form), path)
        return pages

    def send(self, each: Act) -> int:
        """Submits a form; returns the status."""
        ids = self.lively.ids
        typed = {name.format(**ids): text.format(**ids) for name, text in each.fields.items()}
        if each.path:
            return self.visitor.send(each.path.format(**ids), typed, page="/account").status_code
        page = each.page.format(**ids) or self.pages[each.kind]
        form = next(form for form in table.forms(self.visitor.get(page).text, page) if table.kind(form) == each.kind)
        fields = [(name, text) for name, text in form.fields if name not in typed]
        sure = [("_sure", "1")] if any(name == "_sure" for name, _ in fields) else []
        kept = [(name, text) for name, text in fields if name != "_sure"]
        return self.visitor.post(form.action, kept + sure + list(typed.items())).status_code

    def newest(self) -> int:
        return int(self.lively.nora.search("activity_log", "sort:-id", limit=1).ok()["results"][0]["id"])

    def entries(self, since: int) -> list[dict[str, Any]]:
        """Returns the entries of administrative actions after one."""
        found = self.lively.nora.search("activity_log", f"id:>{since} administrative:yes sort:id", limit=100)
        return list(found.ok()["results"])


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    made = Lively(tmp_path_factory.mktemp("acts"), tickets=3, messages=0)
    with SmtpServer() as smtp, ImapServer() as imap:
        made.ids |= {"smtp_port": smtp.port, "imap_port": imap.port}
        _prepare(made)
        yield Office(made)
        assert made.server.stop() == 0


def _prepare(lively: Lively) -> None:
    """Creates records for forms that no page of a lively desk shows yet."""
    ids, nora = lively.ids, lively.nora
    ids["sender"] = nora.create("address", email="shop@desk.example").ok()["id"]
    nora.create(
        "automation", name="morning.report", extension_id="svc.trigger.automation.timer",
        script="start:\n  return:\n    a: b\n",
    ).ok()  # fmt: skip
    for number in range(2):  # which no transport of these tests accepts
        params = {"to": "ana@customer.example", "subject": "For later", "content": "Dear Ana"}
        ids[f"later{number}"] = nora.create(
            "draft", type="mail.transactional", name="For later", to=params["to"], params=params, is_queued=1,
            queue_delivery_date=FAR,
        ).ok()["id"]  # fmt: skip
    invited = nora.post("/rest/invitations/create.json", emails="visitor@desk.example", link=1).ok()["results"]
    ids["invitation"] = invited[0]["id"]
    of_app = {"worker_id": ids["worker2"], "app_id": ids["plain"], "expires": "1 hour"}
    nora.post("/rest/oauth/tokens/create.json", **of_app).ok()
    ids["app1"] = nora.found("oauth_app", 'name:"Token generator"')[0]
    kept = settings.load({}, {}, data_folder=lively.server.data)
    dead_letters.keep(kept, "mailbox-1-8", b"From: ana@customer.example\nSubject: Broken\n\nIt fails", "it was cut")
    with closing(Desk(lively.server.data)) as desk:
        span = sessions.Lifetime(3600, 3600)
        for worker in (ids["nora"], ids["nora"], ids["worker0"]):
            desk.store.write(lambda tx, worker=worker: sessions.create(tx, worker, clock.now(), span, "Phone", "::1"))
        desk.store.write(lambda tx: known_devices.keep(tx, ids["nora"], "", clock.now(), "Phone", "::1"))
        ids["device"] = desk.read(lambda tx: tx.find(known_devices.KNOWN_DEVICE, worker_id=ids["nora"])[-1][0])
        ids["session"] = desk.read(lambda tx: tx.find(sessions.SESSION, worker_id=ids["nora"])[-1][0])
        to = Subscription("https://push.example/other", b"", b"")
        ids["push_device"] = desk.store.write(
            lambda tx: push_devices.add(tx, ids["session"], ids["nora"], to, (), "Phone", clock.now())
        )
        secret, step = totp.new_secret(), clock.now() // totp.STEP_SECONDS
        desk.store.write(
            lambda tx: second_factor.turn_on(tx, ids["worker0"], secret, totp.code(secret, step), clock.now())
        )
        provisioning_tokens.create(desk.context(ids["nora"]), "Okta")
        ids["provisioning"] = desk.read(lambda tx: tx.find(provisioning_tokens.PROVISIONING_TOKEN)[-1][0])
        for name in ("job", "idle"):  # the job may be running already
            ids[name] = desk.store.write(lambda tx: JobQueue.add(tx, "nobody.does.this", FAR, {}))
        ids["token"] = desk.read(lambda tx: tx.find(TOKEN, worker_id=ids["worker0"], revoked_at=0)[0][0])


def test_every_form_is_logged_or_excused() -> None:
    declared = {table.pattern(each) for each in routes.PAGES if each.method == "POST"}
    excused = [kind for kinds in EXCEPTIONS.values() for kind in kinds]
    told = {each.kind for each in ACTS} | set(ELSEWHERE)
    assert declared - told - set(excused) == set(), "these forms tell nothing: add an entry, or a reason"
    assert told | set(excused) == declared and told & set(excused) == set() and len(set(excused)) == len(excused)


@pytest.mark.exhaustive("every form of the console")
def test_actions_at_the_console_are_in_the_activity_log(office: Office) -> None:
    """In one test, since each form changes what the next one finds."""
    wrong = []
    for each in ACTS:
        before = office.newest()
        status, told = office.send(each), office.entries(before)
        names = {(entry["actor__context"], entry["actor_id"]) for entry in told}
        found = [entry["activity_point"] for entry in told]
        if not set(each.points) <= set(found) or names != {("svc.contexts.worker", office.lively.ids["nora"])}:
            wrong.append(f"{each.kind} ({status}): {found} by {names}, not {each.points}")
    assert not wrong, "\n".join(wrong)


def points(office: Office, since: int) -> list[str]:
    return [each["activity_point"] for each in office.entries(since)]


def test_the_second_factor_is_logged(office: Office) -> None:
    visitor, before = office.visitor, office.newest()
    secret, step = totp.new_secret(), clock.now() // totp.STEP_SECONDS
    visitor.send("/account/second-factor", {"shared_key": secret, "code": totp.code(secret, step)})
    visitor.send("/account/second-factor/codes", page="/account/second-factor")
    visitor.send("/account/second-factor/off", page="/account/second-factor")
    visitor.send("/account/second-factor/off", page="/account/second-factor")  # it is off already, so nothing is logged
    expected = ["on", "codes", "off"]
    assert points(office, before) == [f"worker.second_factor.{each}" for each in expected]
    assert secret not in str(office.entries(before))


def test_a_password_set_by_a_link_is_logged_as_the_workers_own_action(office: Office) -> None:
    worker, before = office.lively.ids["worker3"], office.newest()
    with closing(Desk(office.lively.server.data)) as desk:
        code = desk.store.write(lambda tx: password_links.create(tx, worker, clock.now()))
    sent = {"password": PASSWORD, "password_again": PASSWORD}
    assert Visitor(office.visitor.url).send(f"/reset/{code}", sent).status_code == 303
    [entry] = office.entries(before)
    assert (entry["activity_point"], entry["actor_id"], entry["target_id"]) == ("worker.password.set", worker, worker)


def test_downloads_are_logged(office: Office) -> None:
    before = office.newest()
    assert office.visitor.get(f"/admin/backups/{BACKUP}/download").status_code == 200
    assert office.visitor.get("/automations/log/export?format=csv").status_code == 200
    assert points(office, before) == ["backup.downloaded", "data.exported"]


def test_uploading_and_removing_backups_is_logged(office: Office) -> None:
    visitor, before = office.visitor, office.newest()
    content = visitor.get(f"/admin/backups/{BACKUP}/download").content
    form = {"_xsrf": visitor.token("/admin/backups")}
    sent = visitor.post("/admin/backups/send", form, files={"file": ("copy.db", content)})
    name = place(sent).rpartition("/")[2]
    assert visitor.send(f"/admin/backups/{name}/remove", {"_sure": "1"}, page="/account").status_code == 303
    assert points(office, before) == ["backup.downloaded", "backup.sent", "backup.removed"]
