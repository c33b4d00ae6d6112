"""The types of mail: two tickets with an incoming and an outgoing message, and their related records."""

from tests.records.desk import Desk

TYPES = ("ticket", "message", "address", "contact", "org", "attachment", "comment", "draft", "tag", "ticket_status")
HEADERS = (
    "Message-Id: <Pump-1@kite.example>\nFrom: Ana Kite <ana@kite.example>\nTo: help@desk.example, bob@kite.example\n"
    "Cc: carol@kite.example\nDelivered-To: box@desk.example\nIn-Reply-To: <first@kite.example>\n"
    "Subject: =?utf-8?q?Caf=C3=A9?=\nReceived: from a\nReceived: from b"
)
HTML = "data:text/html;base64," + "PHA+SGkgPGltZyBzcmM9Ii9maWxlcy83Ij48c2NyaXB0PngoKTwvc2NyaXB0PjwvcD4="


def populate(desk: Desk) -> dict[str, int]:
    """Creates two tickets with an incoming and an outgoing message, and one related record of every other type."""
    ids = desk.people()
    made = dict(ids)
    transport = desk.create("mail_transport", name="T", extension_id="core.mail.transport.null")["id"]
    desk.create("address", email="help@desk.example", mail_transport_id=transport)
    made["org"] = desk.create("org", name="Kite Pumps", city="Larch", website="https://kite.example")["id"]
    made["contact"] = desk.create(
        "contact", first_name="Ana", last_name="Kite", email="Ana@Kite.example", org="kite pumps", gender="F"
    )["id"]
    made["address"] = desk.row("contact", made["contact"])["email_id"]
    app = {"owner__context": "app", "owner_id": 0}
    signature = desk.create("email_signature", name="S", signature="{{first_name}} of Support", **app)["id"]
    desk.update("group", ids["support"], reply_signature_id=signature)
    made["field"] = desk.create("custom_field", name="Serial number", uri="serial", type="S", context="ticket")["id"]
    desk.create("custom_field", name="Tier", uri="tier", type="S", context="org")
    desk.update("org", made["org"], tier="gold")
    made["ticket_status"] = desk.create("ticket_status", name="New", status="open", group_id=ids["support"])["id"]
    made["ticket"] = desk.create(
        "ticket", subject="Pump leak", group="support", org="Kite Pumps", owner_id=ids["milo"], serial="AB-12",
        participants="ana@kite.example, bob@kite.example, help@desk.example", tags="pump", status_name="New",
        links=[f"worker:{ids['olga']}", f"org:{made['org']}"],
    )["id"]  # fmt: skip
    made["tag"] = 1
    made["other"] = desk.create("ticket", subject="Nothing", group_id=ids["support"], status="c")["id"]
    html = desk.create("attachment", name="original_message.html", mime_type="text/html", content=HTML)["id"]
    made["message"] = desk.create(
        "message", ticket_id=made["ticket"], sender="ana@kite.example", content="The pump leaks", headers=HEADERS,
        html_attachment_id=html,
    )["id"]  # fmt: skip
    made["reply"] = desk.create(
        "message", ticket_id=made["ticket"], sender="help@desk.example", worker="Milo", is_outgoing=1, is_broadcast=1,
        content="On our way", headers="To: ana@kite.example\nCc: carol@kite.example", response_time=90,
    )["id"]  # fmt: skip
    made["attachment"] = desk.create(
        "attachment", name="pump.txt", content="x" * 2000,
        attach=[f"message:{made['message']}", f"ticket:{made['ticket']}"],
    )["id"]  # fmt: skip
    for target, id in (("ticket", made["ticket"]), ("org", made["org"]), ("contact", made["contact"]),
                       ("address", made["address"]), ("message", made["message"])):  # fmt: skip
        made["comment"] = desk.create(
            "comment", comment=f"The {target} is known", target__context=target, target_id=id, author_id=ids["milo"]
        )["id"]
    made["draft"] = desk.create(
        "draft", type="ticket.reply", name="Pump leak", worker_id=ids["milo"], ticket_id=made["ticket"], is_queued=1,
        to="ana@kite.example", params={"content": "On our way"},
    )["id"]  # fmt: skip
    return made
