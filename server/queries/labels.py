"""The labels of the series of a chart."""

from collections.abc import Sequence

from server.queries.data_query import KeyValues


def labels(series: Sequence[KeyValues], *reserved: str) -> list[str]:
    """Returns the label of each series, else its id. Raises BadDataQuery for a duplicate or a reserved label, because
    charts identify series by label."""
    names: list[str] = []
    for each in series:
        label = each.text("label") or each.id
        if label in names or label in reserved:
            raise each.bad("label", f"'{label[:80]}' is the name of another series; give each its own label")
        names.append(label)
    return names
