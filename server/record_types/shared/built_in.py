"""Built-in records, such as automation events: their fixed columns."""

from server.errors import Invalid
from server.record_types.parts import Change


def require_same(change: Change, *columns: str) -> None:
    """Raises Invalid if a change sets these columns of an existing record to other values.

    Called in `prepare`."""
    for column in columns:
        if not change.is_create and change.changes(column):
            kind = change.type.label_names[0].lower()
            raise Invalid(
                f"{column}: must stay '{change.was(column)}', because this {kind} comes with the service", field=column
            )
