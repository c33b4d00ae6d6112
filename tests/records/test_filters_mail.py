"""Every filter, order, key and expand of the types of mail runs on a real database."""

import pytest

from server.desk import records
from server.errors import BadQuery
from server.records.registry import load
from tests.records.desk import Desk

TYPES = ("ticket", "message", "address", "contact", "org", "attachment", "comment", "draft")
REGISTRY = load()
FILTERS = [(uri, name) for uri in TYPES for name in REGISTRY.type(uri).filter_by_name]
VALUES = {
    "fulltext": "pump", "text": "pump*", "number": "[1,2]", "chooser": ">0", "bool": "yes", "date": '"-1 week"',
    "worker": "me", "watchers": "any", "links": "ticket", "deep": "(id:>0)", "decimal": ">1", "virtual": "current",
    "duration": '">1 hour"', "bytes": ">1kb",
}  # fmt: skip
OTHER_VALUES = {
    "chooser": ("5", "[1,2]", "1...3", "null"), "number": (">0", "0", "0...5", "!=3", "null"), "decimal": ("0.5",),
    "text": ("null", '"Pump leak"', "é"), "worker": ("any", "none", "milo", "2"),
    "links": ("any", "none", "[org,task]"), "duration": ("60",), "bytes": ("1kb...2MiB",), "virtual": ("milo", "2"),
    "watchers": ("me", "(firstName:olga)"),
}  # fmt: skip
HEADERS = (
    "Message-Id: <Pump-1@kite.example>\nFrom: Ana Kite <ana@kite.example>\nTo: help@desk.example, bob@kite.example\n"
    "Cc: carol@kite.example\nDelivered-To: box@desk.example\nIn-Reply-To: <first@kite.example>\n"
    "Subject: =?utf-8?q?Caf=C3=A9?=\nReceived: from a\nReceived: from b"
)
HTML = 'data:text/html;base64,' + "PHA+SGkgPGltZyBzcmM9Ii9maWxlcy83Ij48c2NyaXB0PngoKTwvc2NyaXB0PjwvcD4="


def populate(desk: Desk) -> dict[str, int]:
    """Two tickets with an incoming and an outgoing message, and one of every other type that hangs on them."""
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
    made["ticket"] = desk.create(
        "ticket", subject="Pump leak", group="support", org="Kite Pumps", owner_id=ids["milo"], serial="AB-12",
        participants="ana@kite.example, bob@kite.example, help@desk.example",
        links=[f"worker:{ids['olga']}", f"org:{made['org']}"],
    )["id"]  # fmt: skip
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


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("filled"), REGISTRY)
    yield desk, populate(desk)
    desk.close()


def values_for(uri: str, name: str) -> list[str]:
    found = REGISTRY.type(uri).filter_by_name[name]
    if found.type == "enum":
        return [f"!{found.describe()['values'][0]}", *(f'"{each}"' for each in found.describe()["values"])]
    return [VALUES[found.type], *OTHER_VALUES.get(found.type, ())]


@pytest.mark.parametrize(("uri", "name"), FILTERS)
def test_every_filter_runs(filled, uri, name):
    desk, _ = filled
    if REGISTRY.type(uri).filter_by_name[name].type == "hidden":
        with pytest.raises(BadQuery, match="counting by only"):
            desk.read(lambda tx: desk.search(tx, uri, f"{name}:x"))
        return

    def run(tx):
        for value in values_for(uri, name):
            term = value if name == "text" else f"{name}:{value}"
            negated = f"{name}:{value[1:] if value.startswith('!') else '!' + value}"
            for q in (term, negated, f"({term} OR id:1)"):
                search = desk.search(tx, uri, q)
                assert len(search.rows(500)) == search.total() == len(search.ids(500)), q
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_sort_and_every_date_form_runs(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)

    def run(tx):
        for name in record_type.sort_names():
            assert made[uri] in desk.search(tx, uri, f"sort:-{name}").ids(500)
        for name, each in record_type.filter_by_name.items():
            if each.type == "date":
                desk.search(tx, uri, f"{name}:(since:today until:tomorrow days:weekdays)").ids(5)
                desk.search(tx, uri, f"{name}:never").ids(5)
        return True

    assert desk.read(run)


@pytest.mark.parametrize("uri", TYPES)
def test_every_key_and_expand_is_there(filled, uri):
    desk, made = filled
    record_type = REGISTRY.type(uri)
    described = record_type.describe()
    names = [each["key"] for each in described["expand"]]
    # The service itself has no names to put into a signature; a worker has.
    shown = desk.record(uri, made[uri], by=made["nora"], expand=",".join([*names, "_label"]))
    wanted = {each["key"] for each in described["keys"] if each["returned"] == "default"}
    assert wanted - shown.keys() == set()
    records = {each["key"] for each in described["expand"] if each["type"] == "record"}
    answers = {f"{name}_id" if name in records else name for name in names if not name.endswith("_")}
    assert answers - shown.keys() == set()
    assert shown["_label"]


@pytest.mark.parametrize("uri", TYPES)
def test_expanding_costs_the_same_for_many_records(filled, uri):
    desk, _ = filled
    record_type = REGISTRY.type(uri)
    names = [each["key"] for each in record_type.describe()["expand"]]

    def statements(tx, count):
        rows = desk.search(tx, uri, "").rows(count)
        records = [record_type.record(row) for row in rows]
        desk.shown(tx).show(record_type, records, names)  # reads what is kept between records
        before = tx.statements
        desk.shown(tx).show(record_type, records, names)
        return len(records), tx.statements - before

    one, alone = desk.read(lambda tx: statements(tx, 1))
    several, together = desk.read(lambda tx: statements(tx, 50))
    assert one == 1
    assert together <= alone + 2 * len(names) * (several > 1)


@pytest.mark.parametrize("uri", TYPES)
def test_what_can_be_counted_is_counted(filled, uri):
    desk, _ = filled
    names = REGISTRY.type(uri).subtotals.search
    asked = records.SearchRequest("", subtotals=tuple(names))
    answer = records.search(desk.context(), uri, asked)
    assert set(answer["subtotals"]) == set(names)


@pytest.mark.parametrize(
    ("uri", "q", "finds"),
    [
        ("ticket", "leaks", True),
        ("ticket", "closed", False),
        ("ticket", "text:!leaks", False),
        ("ticket", "status:[o,w]", True),
        ("ticket", "status:open,waiting", True),
        ("ticket", "status:!open", False),
        ("ticket", "group:(name:Support) bucket:(name:Inbox)", True),
        ("ticket", "inGroupsOf:milo", True),
        ("ticket", "inGroupsOfWorker:olga", False),
        ("ticket", "participant:(email:bob@*)", True),
        ("ticket", "participant:(email:help@*)", False),
        ("ticket", "participant.id:>0", True),
        ("ticket", "participant.id:null", False),
        ("ticket", "messages:(isOutgoing:yes)", True),
        ("ticket", "messages.first:(isOutgoing:yes)", False),
        ("ticket", "messages.firstOutgoing:(worker:(firstName:milo))", True),
        ("ticket", "messages.last:(isBroadcast:yes)", True),
        ("ticket", "messages.count:2 messages.count.in:1 messages.count.out:1", True),
        ("ticket", "comments:(author.worker:(firstName:milo))", True),
        ("ticket", "comments.last:(known)", True),
        ("ticket", "worker.commented:milo worker.replied:milo", True),
        ("ticket", "worker.replied:olga", False),
        ("ticket", "worker.replied:none", False),
        ("ticket", "watchers.count:1", True),
        ("ticket", "watchers.count:0", False),
        ("ticket", "watchers.count:<2", True),
        ("ticket", "watchers.count:2...5", False),
        ("ticket", "spam.score:<50", True),
        ("ticket", "spam.training:u", True),
        ("ticket", "owner.id:milo org.id:>0", True),
        ("ticket", "org.tier:gold serialNumber:AB*", True),
        ("ticket", "links.org:(name:kite*)", True),
        ("message", "leaks", True),
        ("message", "content:(\"pump leaks\")", True),
        ("message", "header.cc:carol@kite.example", True),
        ("message", "header.to:carol", False),
        ("message", "header.deliveredTo:box header.from:ana", True),
        ("message", 'header.messageId:"<Pump-1@kite.example>"', True),
        ("message", 'header.messageId:"<other@kite.example>"', False),
        ("message", 'header.messageId:"<Pump*"', True),
        ("message", "notes:(known)", True),
        ("message", "from:(ana)", True),
        ("message", "attachments:(name:pump.txt)", True),
        ("message", "ticket.bucket.id:>0 ticket.group.id:[1,2,3]", True),
        ("message", "ticket.group.id:null", False),
        ("message", "size:14", True),
        ("address", "kite pumps", True),
        ("address", "ana@kite.example", True),
        ("address", "comments:known", True),
        ("address", "ticket:(subject:pump*)", True),
        ("address", "ticket.id:[1,2]", True),
        ("address", "org.tier:gold", True),
        ("address", "contact:(gender:f)", True),
        ("contact", "ana@kite.example", True),
        ("contact", 'alias:"ana kite"', True),
        ("contact", "alias:ana", False),
        ("contact", "gender:female", True),
        ("contact", "created:today", True),
        ("org", "larch", True),
        ("org", 'alias:"kite pumps"', True),
        ("org", "contacts:(firstName:ana)", True),
        ("org", "ticket:(status:open)", True),
        ("org", "ticket.id:1", True),
        ("org", "comments:(known)", True),
        ("attachment", "on:message", True),
        ("attachment", "on:none", False),
        ("attachment", "on:org", False),
        ("attachment", "on.ticket:(subject:pump*)", True),
        ("attachment", "bundle:(name:x)", False),
        ("attachment", "size:>1kb mimetype:application/octet-stream", True),
        ("comment", "known", True),
        ("comment", "on:message author:worker", True),
        ("comment", "on.message:(leaks)", True),
        ("comment", "on.ticket:(status:open)", False),
        ("comment", "author.worker:(firstName:milo)", True),
        ("draft", "leak", True),
        ("draft", "is.queued:yes worker:(firstName:milo) type:reply", True),
        ("draft", "token:null", False),
    ],
)
def test_filters_find_what_they_say(filled, uri, q, finds):
    desk, made = filled
    assert (made[uri] in desk.found(uri, q)) is finds


@pytest.mark.parametrize(
    ("q", "by", "found"),
    [
        ("responsibility:100", "milo", True),
        ("responsibility:>50", "milo", True),
        ("responsibility:0", "milo", False),
        ("responsibility:!0", "milo", True),
        ("responsibility:[0,100]", "milo", True),
        ("responsibility:100", "olga", False),
        ("responsibility:0", "olga", False),
        ("inGroupsOf:me", "milo", True),
        ("inGroupsOf:current", "olga", False),
    ],
)
def test_filters_on_the_caller_know_the_caller(filled, q, by, found):
    desk, made = filled
    assert bool(desk.found("ticket", q, by=made[by])) is found


def test_an_order_by_the_caller_is_the_callers_own(filled):
    desk, made = filled
    for name in ("milo", "olga", "milo"):
        assert len(desk.found("ticket", "sort:-responsibility,subject", by=made[name])) == 2


def test_what_a_message_shows_on_request(filled):
    desk, made = filled
    shown = desk.record("message", made["message"], expand="_label,content,content_html,headers,reply_to,reply_cc")
    assert shown["content"] == "The pump leaks"
    assert shown["content_html"] == '<p>Hi <img src="https://desk.example/files/7"></p>'
    assert shown["headers"]["subject"] == "Café"
    assert shown["headers"]["received"] == "from a\nfrom b"
    assert shown["reply_to"] == "ana@kite.example, bob@kite.example"
    assert shown["reply_cc"] == "carol@kite.example"
    assert shown["_label"].startswith("ana@kite.example wrote on [#")
    plain = desk.record("message", made["message"])
    assert not {"content", "headers", "_label", "content_html"} & plain.keys()


def test_what_a_ticket_shows_on_request(filled):
    desk, made = filled
    names = "requester_emails,participants,signature,signature_html,_messages,latest_incoming_activity"
    shown = desk.record("ticket", made["ticket"], by=made["nora"], expand=names)
    assert shown["requester_emails"] == "ana@kite.example, bob@kite.example"
    assert shown["requesters"][str(made["address"])]["name"] == "Ana Kite"
    assert [each["contact_first_name"] for each in shown["participants"] if each["contact_id"]] == ["Ana"]
    assert shown["signature"] == "Nora of Support"
    assert "Nora of Support" in shown["signature_html"]
    assert list(shown["_messages"]) == [str(made["message"]), str(made["reply"])]
    assert shown["latest_incoming_activity"] == shown["_messages"][str(made["message"])]["created"]
    assert shown["url"] == shown["record_url"] == f"https://desk.example/profiles/ticket/{shown['mask']}"


@pytest.mark.parametrize("uri", ["address", "contact", "org"])
def test_the_newest_messages_of_people_are_found(filled, uri):
    desk, made = filled
    shown = desk.record(uri, made[uri], expand="last_sender_message,last_recipient_message")
    assert shown["last_sender_message_id"] == made["message"]
    assert shown["last_recipient_message_id"] == made["reply"]
    assert shown["last_sender_message__context"] == "svc.contexts.message"


def test_a_file_tells_what_it_hangs_on(filled):
    desk, made = filled
    both = [
        {"_context": "svc.contexts.message", "id": made["message"]},
        {"_context": "svc.contexts.ticket", "id": made["ticket"]},
    ]
    assert desk.record("attachment", made["attachment"], expand="on")["on"] == both
    one = desk.record("attachment", made["attachment"], expand="on.ticket")["on"]
    assert [(each["id"], each["subject"]) for each in one] == [(made["ticket"], "Pump leak")]
