"""What other parts do after a record was deleted, such as finding what names it.

They register here, since a record type does not know who names its records."""

from collections.abc import Callable

from server.record_types.parts import Writing

AfterDeletion = Callable[[Writing, str, int], None]
_functions: dict[str, list[AfterDeletion]] = {}


def after_deletion(*uris: str) -> Callable[[AfterDeletion], AfterDeletion]:
    """Registers a function that runs in the transaction that deletes a record of these types: function(writing, uri,
    id)."""

    def register(function: AfterDeletion) -> AfterDeletion:
        for uri in uris:
            _functions.setdefault(uri, []).append(function)
        return function

    return register


def run_functions(writing: Writing, uri: str, id: int) -> None:
    """Runs what is registered for the deletion of a record."""
    for function in _functions.get(uri, ()):
        function(writing, uri, id)
