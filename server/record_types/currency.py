"""Currencies, and how their amounts are written. Amounts are values of other records."""

from typing import Any

from server.errors import AdminOnly, Conflict
from server.fields import Bit, Name, Number, Text, UpdatedAt
from server.record_types.record_type import Access, Change, Record, RecordType, Subtotals, Writing
from server.record_types.shared import custom
from server.record_types.shared.dangling_references import redirect
from server.record_types.shared.relation_tables import CUSTOM_VALUE
from server.record_types.traits import Comments, CustomFields, Links, Search, Watchers
from server.store.statements import slot
from server.store.tables import table_named


class Currency(RecordType):
    """A currency. One is the default, used for amounts that name no currency."""

    uri = "currency"
    aliases = ("currencies",)
    label_names = ("Currency", "Currencies")
    tier = 3
    traits = (Comments(), CustomFields(), Links(), Watchers(), Search())
    access = Access(read="any worker", write=("admins",), create=("privilege",))
    is_administrative = True
    fields = {
        "code": Text("Three letters, such as USD.", 3, required=True),
        "decimal_at": Number(
            "Decimals of amounts. Cannot be changed while there are amounts in the currency.",
            min=0,
            max=16,
            filter="decimalPlaces",
        ),
        "is_default": Bit(
            "Amounts without a currency use this one. Setting it here clears it on the other currency.",
            filter="default",
            filter_note="The default currency.",
        ),
        "name": Name("Name of one unit, such as dollar; also the label.", filter_note="Name of one unit."),
        "name_plural": Text("Plural name.", filter=None),
        "symbol": Text("Symbol shown before amounts.", 4),
        "updated_at": UpdatedAt(),
    }
    bumps = {"fields": ("code", "symbol", "decimal_at", "is_default")}
    subtotals = Subtotals(search=("fieldset", "links", "watchers"))

    def privileged(self, change: Change, writing: Writing) -> None:
        """Only administrators may choose another default, since it changes the currency of amounts elsewhere."""
        if writing.actor.is_admin or not change.value("is_default"):
            return
        if writing.find("currency", is_default=1) is not None:
            raise AdminOnly("is_default: only administrators may choose another default currency")

    def prepare(self, change: Change, writing: Writing) -> None:
        default = writing.find("currency", is_default=1)
        if default is None:
            change.new["is_default"] = 1  # amounts without a currency need a default
        elif default["id"] == change.id and not change.value("is_default"):
            raise Conflict(
                "is_default: this is the default currency; make another currency the default instead",
                field="is_default",
            )
        elif default["id"] != change.id and change.value("is_default"):
            # Amounts in the former default currency keep it.
            redirect(writing, "opportunity", "amount_currency_id", 0, default["id"])
        if not change.is_create and change.changes("decimal_at"):
            user = self._with_amounts(change.id, bool(change.was("is_default")), writing)
            if user:
                raise Conflict(
                    f"decimal_at: {user} has amounts in this currency, which this would change; create another "
                    f"currency instead",
                    field="decimal_at",
                )

    def after_write(self, change: Change, writing: Writing) -> None:
        if change.value("is_default"):
            writing.touch(self.uri, is_default=1)
            table: Any = self.table.sql
            writing.tx.run(
                lambda: table.update({table.is_default: 0}).where(table.is_default == 1, table.id != slot(0)),
                (change.id,),
            )

    def check_delete(self, record: Record, writing: Writing) -> None:
        if record["is_default"]:
            raise Conflict("this is the default currency; make another currency the default first")
        fields = [field for field in custom.definitions(writing.tx).every() if _is_in(field, record["id"], False)]
        user = f"custom field {fields[0].id}" if fields else _opportunity_in(writing, record["id"])
        if user:
            raise Conflict(f"{user} is in this currency; choose another one there first")

    def after_delete(self, record: Record, writing: Writing) -> None:
        redirect(writing, "opportunity", "amount_currency_id", record["id"])  # opportunities without an amount

    def _with_amounts(self, id: int, is_default: bool, writing: Writing) -> str:
        """Names a record with amounts in a currency, "" if there is none."""
        for field in custom.definitions(writing.tx).every():
            if _is_in(field, id, is_default) and writing.tx.first(CUSTOM_VALUE, field_id=field.id):
                return f"custom field {field.id}"
        return _opportunity_in(writing, id) or (_opportunity_in(writing, 0) if is_default else "")


def _is_in(field: custom.FieldDefinition, id: int, is_default: bool) -> bool:
    """Whether a field's amounts are in a currency. is_default: also fields that name no currency."""
    currency = custom.currency_id(field.params)
    return field.kind == "Y" and (currency == id or (is_default and not currency))


def _opportunity_in(writing: Writing, currency_id: int) -> str:
    """Names an opportunity with an amount in a currency, "" if there is none."""
    opportunity: Any = table_named("opportunity")
    opportunity_id = writing.tx.value(
        lambda: (
            opportunity.select(opportunity.c.id)
            .where(opportunity.c.amount_currency_id == slot(0), opportunity.c.amount != 0)
            .limit(1)
        ),
        (currency_id,),
    )
    return f"opportunity {opportunity_id}" if opportunity_id else ""
