"""The labels of the series of a chart."""

from collections.abc import Sequence

from server.queries.data_query import KeyValues


def labels(series: Sequence[KeyValues], *taken: str) -> list[str]:
    """Returns the label of each series, else its id. Raises BadDataQuery for a duplicate or a reserved label, because
    charts identify series by label."""
    found: list[str] = []
    for each in series:
        label = each.text("label") or each.id
        if label in found or label in taken:
            raise each.bad("label", f"'{label[:80]}' is the name of another series; give each its own label")
        found.append(label)
    return found
