"""Currencies, and amounts in them: of opportunities and of custom fields."""

import pytest

from server.errors import AdminOnly, Conflict, Invalid, Required
from server.first_start import builtin_records, setup
from server.record_types.shared import entries
from tests.records.desk import NOW


@pytest.fixture
def money(desk):
    """Dollar is the default; yen have no decimals, dinars three."""
    rows = [("dollar", "USD", "$", 2), ("yen", "JPY", "\N{YEN SIGN}", 0), ("dinar", "KWD", "", 3)]
    return {
        name: desk.create("currency", name=name, code=code, symbol=symbol, decimal_at=decimals)["id"]
        for name, code, symbol, decimals in rows
    }


def defaults(desk):
    return desk.found("currency", "default:yes")


def test_an_old_database_gets_one_currency_and_others_get_none(desk):
    setup.prepare(desk.context())
    desk.store.write(lambda tx: tx.delete(desk.registry.type("currency").table))
    for _ in range(2):
        builtin_records.add_missing(desk.context())
        assert len(desk.found("currency", "")) == len(defaults(desk)) == 1
    desk.update("currency", defaults(desk)[0], name="Mine", code="MIN")
    builtin_records.add_missing(desk.context())
    assert [desk.row("currency", id)["name"] for id in desk.found("currency", "")] == ["Mine"]


def test_the_first_is_the_default_and_there_is_always_one(desk, money):
    assert defaults(desk) == [money["dollar"]]
    desk.update("currency", money["yen"], is_default=1)
    assert defaults(desk) == [money["yen"]]
    with pytest.raises(Conflict, match="is_default"):
        desk.update("currency", money["yen"], is_default=0)
    with pytest.raises(Conflict, match="default"):
        desk.delete("currency", money["yen"])
    desk.create("currency", name="euro", code="EUR", is_default=1)
    assert len(defaults(desk)) == 1
    desk.delete("currency", money["yen"])


@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"name": ""}, Required, "name"),
        ({"code": ""}, Required, "code"),
        ({"code": "EURO"}, Invalid, "code"),
        ({"symbol": "euros"}, Invalid, "symbol"),
        ({"decimal_at": 17}, Invalid, "decimal_at"),
        ({"decimal_at": -1}, Invalid, "decimal_at"),
    ],
)
def test_invalid_currencies_are_refused_by_name(desk, fields, error, field):
    with pytest.raises(error, match=field):
        desk.create("currency", **{"name": "euro", "code": "EUR"} | fields)


def test_a_worker_who_may_create_currencies_cannot_choose_the_default(desk, ids, money):
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    with pytest.raises(AdminOnly, match="is_default"):
        desk.create("currency", by=ids["milo"], name="euro", code="EUR", is_default=1)
    euro = desk.create("currency", by=ids["milo"], name="euro", code="EUR")["id"]
    with pytest.raises(AdminOnly):
        desk.update("currency", euro, by=ids["milo"], name="Euro")


@pytest.mark.parametrize(
    ("currency", "amount", "label"),
    [
        ("dollar", 123450, "$1,234.50 USD"),
        ("", 5, "$0.05 USD"),
        ("yen", 123450, "\N{YEN SIGN}123,450 JPY"),
        ("dinar", 1, "0.001 KWD"),
    ],
)
def test_amounts_are_labelled_with_the_decimals_of_their_currency(desk, money, currency, amount, label):
    shown = desk.create(
        "opportunity", title="Pumps", amount=amount, amount_currency_id=money.get(currency, 0),
        expand="amount_currency_code",
    )  # fmt: skip
    assert (shown["amount"], shown["amount__label"]) == (amount, label)
    assert shown["amount_currency_id"] == money.get(currency, 0)
    assert ("amount_currency_code" in shown) is bool(currency)


def test_labels_follow_the_currency_at_once(desk, money):
    id = desk.create("opportunity", title="Pumps", amount=150, amount_currency_id=money["dollar"])["id"]
    desk.update("currency", money["dollar"], symbol="US$")
    assert desk.record("opportunity", id)["amount__label"] == "US$1.50 USD"


def test_amounts_preserve_their_value(desk, money):
    named = desk.create("opportunity", title="Named", amount=150, amount_currency_id=money["yen"])["id"]
    unnamed = desk.create("opportunity", title="Unnamed", amount=150)["id"]
    for currency in ("yen", "dollar"):
        with pytest.raises(Conflict, match="decimal_at"):
            desk.update("currency", money[currency], decimal_at=1)
    desk.update("currency", money["dinar"], decimal_at=4)
    with pytest.raises(Conflict, match=f"opportunity {named}"):
        desk.delete("currency", money["yen"])
    desk.update("currency", money["yen"], is_default=1)
    assert desk.record("opportunity", unnamed)["amount__label"] == "$1.50 USD"
    desk.update("opportunity", named, amount=0)
    desk.update("currency", money["dollar"], is_default=1)
    desk.delete("currency", money["yen"])
    assert desk.record("opportunity", named)["amount_currency_id"] == 0


# -- custom fields ----------------------------------------------------------------------------------------------------


def field(desk, currency_id=None, uri="price"):
    params = {} if currency_id is None else {"currency_id": currency_id}
    made = desk.create("custom_field", name=uri, uri=uri, type="Y", context="task", params=params)
    return int(made["id"])


@pytest.mark.parametrize(
    ("currency", "sent", "stored", "label", "decimal"),
    [
        ("dollar", "1234.5", 123450, "$1,234.50 USD", "1234.50"),
        ("yen", "1235", 1235, "\N{YEN SIGN}1,235 JPY", "1235"),
        ("dinar", "1.15", 1150, "1.150 KWD", "1.150"),
    ],
)
def test_custom_amounts_have_the_decimals_of_their_currency(desk, money, currency, sent, stored, label, decimal):
    name = f"custom_{field(desk, str(money[currency]))}"
    task = desk.create("task", title="Sell", expand="custom_", **{name: sent})
    assert (task[name], task[f"{name}_label"], task[f"{name}_decimal"]) == (str(stored), label, decimal)
    assert task[f"{name}_currency_id"] == money[currency]
    assert task[f"{name}_currency__context"] == "svc.contexts.currency"
    assert desk.found("task", f"price:{decimal}") == [task["id"]]
    assert desk.found("task", f"price:<{decimal}") == []


def test_a_field_without_a_currency_uses_the_default_and_stays_with_it(desk, money):
    name = f"custom_{field(desk)}"
    task = desk.create("task", title="Sell", price="1.5")["id"]
    desk.update("currency", money["yen"], is_default=1)
    assert desk.record("task", task, expand="custom_")[f"{name}_label"] == "$1.50 USD"


@pytest.mark.parametrize("sent", [99, "dollar", "-1"])
def test_a_field_names_an_existing_currency(desk, money, sent):
    with pytest.raises(Invalid, match="params: there is no currency"):
        field(desk, sent)


def test_a_currency_used_by_a_field_cannot_change(desk, money):
    id = field(desk, money["yen"])
    desk.update("currency", money["yen"], decimal_at=1)
    desk.create("task", title="Sell", price="12.5")
    with pytest.raises(Conflict, match=f"decimal_at: custom field {id}"):
        desk.update("currency", money["yen"], decimal_at=0)
    with pytest.raises(Conflict, match=f"custom field {id}"):
        desk.delete("currency", money["yen"])
    with pytest.raises(Conflict, match="currency_id"):
        desk.update("custom_field", id, params={"currency_id": money["dinar"]})
    desk.update("custom_field", id, params={"currency_id": money["yen"]})
    desk.update("custom_field", id, params={})
    assert desk.row("custom_field", id)["params"] == {"currency_id": money["yen"]}


def test_amounts_without_any_currency_have_two_decimals(desk):
    name = f"custom_{field(desk)}"
    task = desk.create("task", title="Sell", expand="custom_", price="1.5")
    assert (task[f"{name}_label"], task[f"{name}_currency_id"]) == ("1.50", 0)


# -- opportunities ----------------------------------------------------------------------------------------------------


def test_the_status_is_a_word_or_a_number_and_sets_the_end_date(desk):
    shown = desk.create("opportunity", title="Pumps")
    assert (shown["status"], shown["status_id"], shown["closed_at"]) == ("open", 0, 0)
    assert (shown["is_closed"], shown["is_won"], shown["created"]) == (False, False, NOW)
    shown = desk.update("opportunity", shown["id"], status="closed_won")
    assert (shown["status_id"], shown["closed_at"], shown["is_closed"], shown["is_won"]) == (1, NOW, True, True)
    desk.update("opportunity", shown["id"], closed_at=5)
    shown = desk.update("opportunity", shown["id"], status_id=2)
    assert (shown["status"], shown["closed_at"], shown["is_won"]) == ("closed_lost", 5, False)
    assert desk.update("opportunity", shown["id"], status="open")["closed_at"] == 0
    assert desk.update("opportunity", shown["id"], status="closed_lost", closed_at=7)["closed_at"] == 7


def test_a_changed_status_is_logged(desk, ids):
    id = desk.create("opportunity", title="Pumps", status="closed_won")["id"]
    assert not desk.log("opp.status.closed_won")
    for status in ("closed_lost", "closed_lost", "open", "closed_won"):
        desk.update("opportunity", id, by=ids["nora"], status=status)
    points = [each["activity_point"] for each in desk.log() if each["activity_point"].startswith("opp.")]
    assert points == ["opp.status.closed_lost", "opp.status.open", "opp.status.closed_won"]
    (won,) = desk.log("opp.status.closed_won")
    assert entries.plain_text(won["params"]) == "Nora Berg marked opportunity Pumps as won"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"status": "won"}, "status"),
        ({"status_id": 3}, "status_id"),
        ({"amount": -1}, "amount"),
        ({"amount": "12.34"}, "amount"),
        ({"amount_currency_id": 9}, "amount_currency_id"),
        ({"title": ""}, "title"),
    ],
)
def test_invalid_opportunities_are_refused_by_name(desk, fields, field):
    with pytest.raises(Invalid, match=field):
        desk.create("opportunity", **{"title": "Pumps"} | fields)
