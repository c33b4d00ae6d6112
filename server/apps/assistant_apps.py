"""The apps that use the tools for assistants, and how an administrator ends that."""

from server.access import consents
from server.apps import app_usage, token_lists
from server.apps.app_usage import AppUsage
from server.context import Context
from server.dataclass import dataclass
from server.record_types.shared import assistant_scopes
from server.records.reading import RecordReader
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class AssistantApp:
    """An app with valid tokens that have scopes of assistants. scopes: their ids. usage: by whom, and when last."""

    id: int
    name: str
    url: str
    scopes: tuple[str, ...]
    usage: AppUsage


def in_use(ctx: Context) -> list[AssistantApp]:
    """Returns the apps by name. Tokens with a scope for everything are not listed: they need not be of an assistant.
    Raises AdminOnly."""
    known = assistant_scopes.all_scopes()
    uses = [each for each in token_lists.in_use(ctx) if not known.keys().isdisjoint(each.scopes)]
    ids = {each.app_id for each in uses}

    def read(tx: Transaction) -> dict[int, tuple[str, str]]:
        table = RecordReader(ctx, tx).registry.type("oauth_app").table
        place = table.position
        return {row[0]: (row[place["name"]], row[place["url"]]) for row in tx.get_many(table, ids)}

    names = ctx.service.store.read(read)
    apps = []
    for id, (name, url) in names.items():
        own = [each for each in uses if each.app_id == id]
        scopes = {scope for each in own for scope in each.scopes}
        ordered = (*(each for each in known if each in scopes), *sorted(scopes - known.keys()))
        apps.append(AssistantApp(id, name, url, ordered, app_usage.summarize(own)))
    return sorted(apps, key=lambda each: (each.name.lower(), each.id))


def revoke(ctx: Context, app_id: int) -> int:
    """Ends all tokens of an app, and the consents to it; returns the number of tokens. Raises AdminOnly."""

    def write(tx: Transaction) -> int:
        count = token_lists.revoke_all(ctx, app_id)
        consents.forget_of_app(tx, app_id)
        return count

    return ctx.service.store.write(write)
