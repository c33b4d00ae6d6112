"""DOC"""

from server.fields.text import Text, Url
from server.fields.time import Timestamp
from server.records.base import Access, RecordType, Subtotals
from server.search.filters.date import DateFilter
from server.search.filters.number import NumberFilter
from server.search.filters.text import AllWords, TextFilter


class OAuthApp(RecordType):
    """DOC"""

    uri, context = "oauth_app", "svc.contexts.oauth.app"
    aliases = ("oauth app", "oauth apps")
    label_names = ("Oauth App", "Oauth Apps")
    features = frozenset(("comments", "custom_fields", "links", "search",))
    access = Access(
        read="admin",
        create="admin",
        update="admin",
        delete="admin",
    )
    fields = {
        "callback_url": Url("Where the app takes the login answer; http or https.", required=True),
        "client_id": Text("Public identifier; 32 random lower-case characters when generated.", unique=True, auto="generated"),
        "client_secret": Text("Secret; 64 random lower-case characters when generated. Never returned by the records API.", auto="generated", shown=False),
        "name": Text("Name of the integration; also the label.", required=True),
        "scopes": Text("YAML map of scope key to label and endpoints.", 16777216, auto="built_in", form="yaml"),
        "updated_at": Timestamp("Last change; set to now on every write unless the caller sends it.", auto="now", auto_update="now"),
        "url": Url("Home page of the app."),
    }
    filters = (
        AllWords("Bare words match `name`.", "name", "partial"),
        TextFilter("callbackUrl", "Where the app takes the login answer.", "callback_url", "partial"),
        TextFilter("clientId", "Public identifier.", "client_id", "prefix"),
        NumberFilter("id", "Record id.", "id"),
        TextFilter("name", "Name of the integration.", "name", "partial"),
        DateFilter("updated", "Last change.", "updated_at"),
        TextFilter("url", "Home page of the app; blank when none.", "url", "partial"),
    )
    subtotals = Subtotals(
        search=("fieldset", "links"),
    )
