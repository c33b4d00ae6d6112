"""Amounts of money: the decimals of a currency, and the format of its amounts.

Amounts are stored as whole numbers of the smallest unit. There are few currencies, so all are read at once, with the
definitions of custom fields (custom/definitions.py). record_types/currency.py declares their records."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from server.dataclass import dataclass
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.store.transaction import Transaction

_CURRENCY = table_named("currency")
_COLUMNS = [getattr(_CURRENCY.c, name) for name in ("id", "code", "symbol", "decimal_at", "is_default")]
DECIMALS = 2  # decimals of amounts without a currency


@dataclass(frozen=True, slots=True)
class CurrencyFormat:
    """The format of amounts of one currency."""

    id: int
    code: str
    symbol: str
    decimals: int

    def decimal(self, amount: int) -> str:
        """An amount in whole units, for programs.

        >>> CurrencyFormat(1, "USD", "$", 2).decimal(123450)
        '1234.50'
        """
        return f"{Decimal(amount).scaleb(-self.decimals):.{self.decimals}f}"

    def label(self, amount: int) -> str:
        """An amount as shown to people.

        >>> CurrencyFormat(1, "USD", "$", 2).label(123450)
        '$1,234.50 USD'
        """
        number = f"{Decimal(amount).scaleb(-self.decimals):,.{self.decimals}f}"
        return f"{self.symbol}{number} {self.code}".strip()


class Currencies:
    """All currencies. default: for id 0 and unknown ids."""

    def __init__(self, formats: Iterable[CurrencyFormat], default_id: int) -> None:
        self._by_id: Mapping[int, CurrencyFormat] = {each.id: each for each in formats}
        self.default = self._by_id.get(default_id) or CurrencyFormat(0, "", "", DECIMALS)

    def by_id(self, id: int) -> CurrencyFormat:
        """The currency with this id."""
        return self._by_id.get(id, self.default)


def read(tx: "Transaction") -> Currencies:
    """Reads the currencies in one statement."""
    rows = tx.rows(lambda: _CURRENCY.select(*_COLUMNS).order_by(_CURRENCY.c.id))
    default = next((row[0] for row in rows if row[4]), 0)
    return Currencies([CurrencyFormat(*row[:4]) for row in rows], default)
