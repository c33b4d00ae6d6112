"""A desk with some of everything that data queries count: tickets on days of clock changes, tasks, messages, comments,
contacts, custom fields of most kinds, links, and people who may read different parts of it."""

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from server.queries import query_run
from server.records.records import SearchRequest, search
from tests.records.desk import NOW, Desk

KINDS = {
    "Tier": ("D", {"options": "Gold\nGold Plus\nSilver"}), "Colors": ("X", {"options": "Red\nred wine\nBlue"}),
    "Words": ("M", {}), "Rank": ("N", {}), "Price": ("O", {"decimal_at": "2"}), "Paid": ("C", {}), "Seen": ("E", {}),
    "Line": ("S", {}), "Helper": ("W", {}), "Supplier": ("L", {"context": "org"}),
}  # fmt: skip
SUBJECTS = ["Pump", "pump", "Pumpe", "\u00c4rger", "\u00e4rger", 'the "big" one', "50% *off*", "null", "x" * 255]
SPOTS = [
    datetime(2026, 10, 25, hour, minute, second, tzinfo=UTC).timestamp()
    for hour in (0, 1, 2)
    for minute in (0, 29, 59)
    for second in (0, 59)
]  # clocks in Berlin and London go back


class Office:
    """The desk, and a way to run data queries on it."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.chance = random.Random(7)
        self.people = self.desk.people()
        self.sales = int(self.desk.create("group", name="Sales", is_private=1)["id"])
        self.twin = int(self.desk.create("group", name="Support")["id"])
        self.orgs = [
            int(self.desk.create("org", name=name, country=country)["id"])
            for name, country in (("Acme", "France"), ("Larch Foods", "france"), ("Nothing", ""))
        ]
        self.fields = {name: self._field(name, *how) for name, how in KINDS.items()}
        self.tickets = [self._ticket(number) for number in range(70)]
        self._others()

    def close(self) -> None:
        self.desk.close()

    def ask(self, q: str, by: str = "nora") -> dict[str, Any]:
        return query_run.evaluate(self.desk.context(self.people[by]), q)

    def total(self, uri: str, q: str, by: str = "nora") -> int:
        found = search(self.desk.context(self.people[by]), uri, SearchRequest(q, show_results=True, limit=1))
        return int(found["total"])

    def _field(self, name: str, kind: str, params: dict[str, Any]) -> str:
        made = self.desk.create(
            "custom_field", name=name, type=kind, context="ticket", params=params, uri=f"ticket_{name.lower()}"
        )
        return f"custom_{made['id']}"

    def _ticket(self, number: int) -> int:
        pick = self.chance.choice
        at = pick(SPOTS) if number % 3 == 0 else NOW - self.chance.randrange(0, 500 * 86400)
        fields: dict[str, Any] = {
            "subject": pick(SUBJECTS), "group_id": pick([self.people["support"], self.sales, self.twin]),
            "org_id": pick([*self.orgs, 0]), "status_id": pick([0, 0, 1, 2]), "created": int(at),
            "participants": pick(["a@x.example", "b@x.example", "a@x.example,b@x.example", ""]),
            "importance": pick([10, 50, 90]), "spam_score": pick([0.0001, 0.5, 0.25]),
            "spam_training": pick(["", "S", "N"]),
        }  # fmt: skip
        fields |= self._custom_values()
        made = self.desk.create("ticket", **{name: value for name, value in fields.items() if value != ""})
        return int(made["id"])

    def _custom_values(self) -> dict[str, Any]:
        pick = self.chance.choice
        values = {
            "Tier": pick(["Gold", "Gold Plus", "Silver", ""]), "Colors": pick([["Red"], ["red wine", "Blue"], []]),
            "Words": pick([["a", "A"], ["\u00c4", "\u00e4"], ['say "x"'], []]), "Rank": pick(["-3", "0", "7", ""]),
            "Price": pick(["0.29", "1.15", "12", ""]), "Paid": pick(["1", "0", ""]),
            "Seen": pick([str(int(SPOTS[8])), "2026-01-01", ""]), "Line": pick(["one", "One", "two", ""]),
            "Helper": pick([str(self.people["milo"]), ""]), "Supplier": pick([str(self.orgs[0]), ""]),
        }  # fmt: skip
        return {self.fields[name]: value for name, value in values.items() if value not in ("", [])}

    def _others(self) -> None:
        desk, milo, nora = self.desk, self.people["milo"], self.people["nora"]
        for number in range(12):
            desk.create(
                "task",
                title=f"Count {number % 3}",
                importance=number % 4 * 10,
                owner_id=(milo, 0)[number % 2],
                due=(0, NOW, NOW + 86400)[number % 3],
                status_id=(0, 1, 2)[number % 3],
                links=[f"org:{self.orgs[number % 3]}", f"ticket:{self.tickets[number]}"],
            )
            desk.create(
                "comment",
                author_id=(milo, nora)[number % 2],
                comment="Hello",
                target__context="ticket",
                target_id=self.tickets[number % 5],
            )
            desk.create(
                "contact",
                first_name="Pat",
                gender=("", "F", "M")[number % 3],
                language="de_DE",
                org_id=self.orgs[number % 3],
                timezone=("", "Europe/Paris")[number % 2],
            )
            desk.create(
                "email_signature",
                name=f"S{number}",
                signature="Bye",
                owner_id=(0, self.sales)[number % 2],
                owner__context=("app", "group")[number % 2],
            )
            desk.create(
                "message",
                ticket_id=self.tickets[number],
                content="Hello there",
                is_outgoing=number % 2,
                sender="a@x.example",
                headers="From: a@x.example",
                created=NOW - number * 3600,
            )
