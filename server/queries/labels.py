"""What the series of a chart are called."""

from collections.abc import Sequence

from server.queries.data_query import KeyValues


def labels(series: Sequence[KeyValues], *taken: str) -> list[str]:
    """The label of each series, or else its id. Raises BadDataQuery when one stands twice or is `taken`: charts know
    their series by label."""
    found: list[str] = []
    for each in series:
        label = each.text("label") or each.id
        if label in found or label in taken:
            raise each.bad("label", f"'{label[:80]}' is the name of another series; give each its own label")
        found.append(label)
    return found
