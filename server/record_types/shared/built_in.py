"""Records that come with the service, such as automation events: what of them stays as it is."""

from server.errors import Invalid
from server.record_types.parts import Change


def require_same(change: Change, *columns: str) -> None:
    """In `prepare`: these columns of a record that is there are not changed; sending what they hold is fine.

    Raises Invalid."""
    for column in columns:
        if not change.is_create and change.changes(column):
            kind = change.type.label_names[0].lower()
            raise Invalid(f"{column}: stays '{change.was(column)}'; this {kind} comes with the service", field=column)
