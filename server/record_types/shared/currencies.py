"""Amounts of money: how many decimals a currency has, and how its amounts are written.

Amounts are kept as whole numbers of the smallest unit. Currencies are few, so all are read at once, with the
definitions of custom fields (custom/definitions.py). The records themselves are in records/currency.py."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from server.dataclass import dataclass
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.store.transaction import Transaction

_CURRENCY = table_named("currency")
_COLUMNS = [getattr(_CURRENCY.c, name) for name in ("id", "code", "symbol", "decimal_at", "is_default")]
DECIMALS = 2  # of amounts while there is no currency at all


@dataclass(frozen=True, slots=True)
class CurrencyFormat:
    """How amounts of one currency are written."""

    id: int
    code: str
    symbol: str
    decimals: int

    def decimal(self, amount: int) -> str:
        """An amount in whole units, as programs read it.

        >>> CurrencyFormat(1, "USD", "$", 2).decimal(123450)
        '1234.50'
        """
        return f"{Decimal(amount).scaleb(-self.decimals):.{self.decimals}f}"

    def label(self, amount: int) -> str:
        """An amount as people write it.

        >>> CurrencyFormat(1, "USD", "$", 2).label(123450)
        '$1,234.50 USD'
        """
        number = f"{Decimal(amount).scaleb(-self.decimals):,.{self.decimals}f}"
        return f"{self.symbol}{number} {self.code}".strip()


class Currencies:
    """All currencies. default: the one that 0, and the id of none, stands for."""

    def __init__(self, listed: Iterable[CurrencyFormat], default_id: int) -> None:
        self._by_id: Mapping[int, CurrencyFormat] = {each.id: each for each in listed}
        self.default = self._by_id.get(default_id) or CurrencyFormat(0, "", "", DECIMALS)

    def by_id(self, id: int) -> CurrencyFormat:
        """The currency of an id."""
        return self._by_id.get(id, self.default)


def read(tx: "Transaction") -> Currencies:
    """The currencies as this snapshot has them. One statement."""
    rows = tx.rows(lambda: _CURRENCY.select(*_COLUMNS).order_by(_CURRENCY.c.id))
    default = next((row[0] for row in rows if row[4]), 0)
    return Currencies([CurrencyFormat(*row[:4]) for row in rows], default)
