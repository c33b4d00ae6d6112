"""A small desk whose numbers can be checked by hand: five tickets in two groups, one of them private, and shops."""

from pathlib import Path
from typing import Any

import pytest

from server.errors import HelpdeskError
from server.queries import query_run
from tests.records.desk import Desk

# id, subject, group, created, importance, status (0 open, 1 waiting, 2 closed), price, with the org Acme
TICKETS = (
    ("Pump", "support", "2026-11-16 08:00", 10, 0, "1.50", True),
    ("Valve", "support", "2026-11-16 20:00", 20, 2, "2.25", False),
    ("Motor", "sales", "2026-11-18 09:00", 30, 0, "", True),
    ("Belt", "sales", "2026-11-18 10:00", 60, 1, "", False),
    ("Chain", "support", "2026-11-14 12:00", 45, 0, "", False),
)
# name, country, location, size
SHOPS = (
    ("Larch Foods", "Germany", "52.5, 13.39", "3"),
    ("Acme", "France", "48.85, 2.35", ""),
    ("Nowhere", "France", "", "7"),
)


class Depot:
    """nora sees everything; milo, a member of Support, does not see Sales."""

    def __init__(self, folder: Path) -> None:
        self.desk = desk = Desk(folder)
        self.people = people = desk.people()
        groups = {"support": people["support"], "sales": desk.create("group", name="Sales", is_private=1)["id"]}
        price = {"name": "Price", "uri": "price_paid", "type": "O", "params": {"decimal_at": "2"}}
        desk.create("custom_field", context="ticket", **price)
        desk.create("custom_field", context="org", name="Where", uri="where_it_is", type="svc.custom_field.geo.point")
        desk.create("custom_field", context="org", name="Floors", uri="floors", type="N")
        self.shops = [self._shop(*shop) for shop in SHOPS]
        for subject, group, created, importance, status, price, at_acme in TICKETS:
            desk.create(
                "ticket", subject=subject, group_id=groups[group], created=created, importance=importance,
                status_id=status, org_id=self.shops[1] if at_acme else 0, price_paid=price,
            )  # fmt: skip

    def _shop(self, name: str, country: str, location: str, floors: str) -> int:
        made = self.desk.create("org", name=name, country=country, where_it_is=location, floors=floors)
        return int(made["id"])

    def ask(self, q: str, by: str = "nora") -> dict[str, Any]:
        return query_run.evaluate(self.desk.context(self.people[by]), q)

    def data(self, q: str, by: str = "nora") -> Any:
        return self.ask(q, by)["data"]

    def refused(self, q: str, by: str = "nora") -> HelpdeskError:
        with pytest.raises(HelpdeskError) as caught:
            self.ask(q, by)
        return caught.value

    def statements(self, q: str) -> int:
        """The number of statements that a query runs."""
        self.desk.store.take_queries()
        self.ask(q)
        return self.desk.store.take_queries()
