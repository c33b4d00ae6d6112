"""The view of outsiders does not change in any way when something happens in a private group.

Every search, count, order and expansion of every type is run as an outsider, then records of all kinds are
created in a private group and linked to public ones, and everything is run again: the results must be identical."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from server.errors import HelpdeskError
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry, load
from server.records import records
from tests import databases
from tests.composed_anew import uncompared
from tests.records.desk import Desk

pytestmark = pytest.mark.exhaustive("every search of every type, before and after")

CANARY = "zxcanary"
TEXTS = {
    "number": ("<999999", "!null"),
    "chooser": ("0", ">0"),
    "decimal": (">0",),
    "bytes": (">0",),
    "duration": (">=0",),
    "text": ("*", f"*{CANARY}*"),
    "fulltext": (CANARY, f"!{CANARY}", "public"),
    "date": ('"big bang to now"', "never"),
    "bool": ("y", "n"),
    "enum": (),
    "worker": ("any", "none", "me", "nora"),
    "watchers": ("none", "(id:>0)"),
    "deep": ("(id:>0)", "!(id:>0)", CANARY),
    "links": ("any", "none", "ticket", "message", "![ticket,comment]", "attachment"),
    "virtual": ("me",),
    "hidden": (),
    "by custom field": (),
}
PATTERNS = ("links", "on", "owner", "author", "target", "actor")
FURTHER = ("links.ticket", "links~25", "links:_label", "links.ticket:subject", "comments~25", "comments:_label",
           "attachments:_label", "on:_label", "on.ticket", "_label", "custom_")  # fmt: skip


# The workers who search, and the types: a member of another group sees more than a worker in none, by the same rules.
ASKED = {"olga": load().uris(), "milo": ["org", "ticket", "message"]}


class Question(NamedTuple):
    """A search."""

    uri: str
    query: str
    expand: str = ""
    subtotals: tuple[str, ...] = ()


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("privacy"), registry)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ids(desk: Desk) -> dict[str, int]:
    """Public records of all kinds, and people."""
    found = desk.people()
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:n")
    found["private"] = desk.create("group", name="Management", is_private=1)["id"]
    desk.update("group", found["private"], members={"manager": str(found["nora"])})
    found["org"] = desk.create("org", name="Public org")["id"]
    found["address"] = desk.create("address", email="ana@kite.example", org_id=found["org"])["id"]
    found["contact"] = desk.create("contact", first_name="Ana", email_id=found["address"], org_id=found["org"])["id"]
    found["task"] = desk.create("task", title="Public task")["id"]
    found["field"] = desk.create(
        "custom_field", context="org", name="Ticket", type="L", uri="its_ticket", params={"context": "ticket"}
    )["id"]
    found["ticket"] = _ticket(desk, found, "Public", found["support"])
    desk.create("comment", by=found["nora"], target__context="task", target_id=found["task"], comment="Public comment")
    return found


def _ticket(desk: Desk, ids: dict[str, int], word: str, group: int) -> int:
    """Creates a ticket with every kind of related record, with this word in each text."""
    nora = ids["nora"]
    ticket = desk.create(
        "ticket", by=nora, subject=f"{word} ticket", group_id=group, org_id=ids["org"], participants="ana@kite.example",
        links=[f"org:{ids['org']}", f"task:{ids['task']}", f"address:{ids['address']}", f"contact:{ids['contact']}"],
    )["id"]  # fmt: skip
    message = desk.create(
        "message", by=nora, ticket_id=ticket, sender_id=ids["address"], content=f"{word} content",
        headers=f"Subject: {word}\r\nFrom: ana@kite.example\r\n",
    )["id"]  # fmt: skip
    desk.create(
        "message", by=nora, ticket_id=ticket, sender_id=ids["address"], content=f"{word} answer", headers="X: y\r\n",
        is_outgoing=1, worker_id=nora,
    )  # fmt: skip
    comment = desk.create("comment", by=nora, target__context="ticket", target_id=ticket, comment=f"{word} @olga")["id"]
    for on in (f"ticket:{ticket}", f"message:{message}", f"comment:{comment}"):
        desk.create("attachment", by=nora, name=f"{word}.txt", content=word, attach=[on])
    desk.update("message", message, by=nora, links=[f"org:{ids['org']}"])
    desk.update("ticket", ticket, by=nora, status="closed", owner_id=0)
    return int(ticket)


def _secrets(desk: Desk, ids: dict[str, int]) -> dict[str, int]:
    """Creates records that an outsider may not read; returns their ids by type."""
    nora, private = ids["nora"], ids["private"]
    ticket = _ticket(desk, ids, CANARY, private)
    owner = {"owner__context": "group", "owner_id": private}
    made = {"ticket": ticket, "message": desk.row("ticket", ticket)["latest_message_id"]}
    made["comment"] = desk.found("comment", CANARY)[0]
    made["attachment"] = desk.found("attachment", f"name:{CANARY}.txt")[0]
    made["draft"] = desk.create("draft", type="mail.compose", name=CANARY, worker_id=nora, ticket_id=ticket)["id"]
    made["notification"] = desk.create(
        "notification", activity_point="custom.other", params={"message": CANARY}, worker_id=nora
    )["id"]
    made["oauth_app"] = desk.create("oauth_app", name=CANARY, callback_url="http://localhost/")["id"]
    made["mail_transport"] = desk.create("mail_transport", name=CANARY, extension_id="core.mail.transport.null")["id"]
    made["email_signature"] = desk.create("email_signature", name=CANARY, signature=CANARY, **owner)["id"]
    made["html_template"] = desk.create("html_template", name=CANARY, content=CANARY, **owner)["id"]
    made["custom_fieldset"] = desk.create("custom_fieldset", name=CANARY, context="org", **owner)["id"]
    made["asset"] = desk.create("asset", name=CANARY, links=[f"org:{ids['org']}"], **owner)["id"]
    made["activity_log"] = desk.found("activity_log", f"target.ticket:(id:{ticket})")[0]
    for uri, id in made.items():  # links them to every public record that allows it
        if "links" in desk.registry.type(uri).features:
            desk.update(uri, id, links=[f"org:{ids['org']}", f"contact:{ids['contact']}"])
        if "comments" in desk.registry.type(uri).features:
            desk.create("comment", by=nora, target__context=uri, target_id=id, comment=f"{CANARY} on {uri}")
    desk.update("org", ids["org"], updated=desk.row("org", ids["org"])["updated"], its_ticket=ticket)
    return made


@pytest.fixture(scope="module")
def watched(desk: Desk, ids: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results that outsiders saw before and after, by question; and the ids of the secrets.

    A copy of the database stays as it was before. Each question is run on both in turn, since most of the time is
    spent on compiling its statements, which are the same."""
    desk.update("org", ids["org"], its_ticket=ids["ticket"])
    folder = tmp_path_factory.mktemp("before")
    databases.copy(desk.store, folder)
    secrets = _secrets(desk, ids)
    desk.update("org", ids["org"], updated=desk.row("org", ids["org"])["updated"], its_ticket=ids["ticket"])
    former = Desk(folder)
    former.store.statements = desk.store.statements
    before, after = ({name: {} for name in ASKED} for _ in range(2))
    for name, uris in ASKED.items():
        for asked, question in _everything(desk.registry, uris):
            before[name][asked] = _ask(former, ids[name], question)
            with uncompared():  # the same question was compiled just now
                after[name][asked] = _ask(desk, ids[name], question)
    former.close()
    return {"before": before, "after": after, "secrets": secrets}


def _everything(registry: Registry, uris: list[str]) -> Iterator[tuple[str, Question]]:
    for record_type in map(registry.type, uris):
        uri = record_type.uri
        expands = [*record_type.expand_by_name, *(f"{each.prefix}_" for each in record_type.nested), *FURTHER]
        yield f"{uri} expanded", Question(uri, "", expand=",".join(expands))
        for name in record_type.subtotals.search:
            yield f"{uri} by {name}", Question(uri, "", subtotals=(name,))
        for query in _queries(record_type):
            yield f"{uri} {query}", Question(uri, query)
        for start in range(0, len(record_type.sort_names()), 8):
            names = record_type.sort_names()[start : start + 8]
            yield f"{uri} by {names}", Question(uri, f"sort:-{',-'.join(names)}")


def _queries(record_type: RecordType) -> Iterator[str]:
    yield ""
    for name, each in record_type.filter_by_name.items():
        # Comparisons with a column of the record itself reveal nothing about others; one of each kind is enough.
        for value in TEXTS[each.type] if not each.column_name or record_type.uri == "ticket" else ():
            yield f"{name}:{value}"
        if name in PATTERNS and each.type == "links":
            for target in ("ticket", "message", "org"):
                yield f"{name}.{target}:(id:>0)"
                yield f"{name}.{target}:!(id:>0)"
    if "org.id" in record_type.filter_by_name or record_type.uri == "org":
        yield "ticket:(id:>0)" if record_type.uri == "org" else "org:(ticket:(id:>0))"
        yield f"org:(links.ticket:(subject:{CANARY}*))" if record_type.uri != "org" else "links.ticket:(id:>0)"
    if record_type.uri == "org":
        yield f"ticket:(messages:(attachments:(name:{CANARY}.txt)))"
        yield f"its_ticket:(subject:{CANARY}*)"


def _ask(desk: Desk, worker: int, question: Question) -> str:
    expand, subtotals = question.expand, question.subtotals
    asked = records.SearchRequest(question.query, limit=500, expand=expand, subtotals=subtotals)
    try:
        response = records.search(desk.context(worker), question.uri, asked)
    except HelpdeskError as error:
        return f"{type(error).__name__}: {error.message}"
    return json.dumps(response if expand or subtotals else _brief(response), sort_keys=True)


def _brief(answer: dict[str, Any]) -> dict[str, Any]:
    return {"ids": [each["id"] for each in answer["results"]], "total": answer["total"]}


@pytest.mark.parametrize("name", ["olga", "milo"])
def test_no_result_for_an_outsider_changes(name: str, watched: dict[str, Any]) -> None:
    before, after = watched["before"][name], watched["after"][name]
    assert len(before) > (700 if name == "olga" else 100)
    changed = {asked: (before[asked], after[asked]) for asked in before if before[asked] != after[asked]}
    assert changed == {}


@pytest.mark.parametrize("name", ["olga", "milo"])
def test_no_result_for_an_outsider_contains_the_canary(name: str, watched: dict[str, Any]) -> None:
    assert [
        asked for asked, response in watched["after"][name].items() if CANARY in response and CANARY not in asked
    ] == []


def test_permitted_readers_see_the_canary(desk: Desk, ids: dict[str, int], watched: dict[str, Any]) -> None:
    for uri, id in watched["secrets"].items():
        assert desk.record(uri, id, by=ids["nora"])["id"] == id
        if uri not in ("comment", "activity_log", "message"):
            assert id in desk.found(uri, CANARY, by=ids["nora"]) or uri in ("ticket", "notification"), uri


def test_an_outsider_cannot_read_change_delete_or_link_a_secret(
    desk: Desk, ids: dict[str, int], watched: dict[str, Any]
) -> None:
    olga = ids["olga"]
    for uri, id in watched["secrets"].items():
        for attempt in (
            lambda uri=uri, id=id: desk.record(uri, id, by=olga),
            lambda uri=uri, id=id: desk.update(uri, id, by=olga),
            lambda uri=uri, id=id: desk.delete(uri, id, by=olga),
            lambda uri=uri, id=id: desk.update("org", ids["org"], by=olga, links=[f"{uri}:{id}"]),
            lambda uri=uri, id=id: desk.create("attachment", by=olga, name="x", attach=[f"{uri}:{id}"]),
            lambda uri=uri, id=id: desk.create(
                "comment", by=olga, comment="x", target__context=uri, target_id=id
            ),
            lambda uri=uri, id=id: desk.create(
                "notification", by=olga, activity_point="custom.other", params={"message": "x"}, worker_id=olga,
                target__context=uri, target_id=id,
            ),
        ):  # fmt: skip
            with pytest.raises(HelpdeskError) as raised:
                attempt()
            assert CANARY not in raised.value.message
        desk.update("org", ids["org"], by=olga, links=[f"-{uri}:{id}"])  # as if the link did not exist
    links = desk.record("org", ids["org"], expand="links~25")["links"]
    assert {(each["_context"], each["id"]) for each in links} >= {
        (desk.registry.type(uri).context, id)
        for uri, id in watched["secrets"].items()
        if "links" in desk.registry.type(uri).features
    }
