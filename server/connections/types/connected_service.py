"""Connected services: other programs that automations may call, and how one logs in to them. Not the accounts there."""

from server.connections import grants
from server.connections.grant_tables import CONNECTION_ATTEMPT, SECRET_NOTICE
from server.fields import Name, Structure, Text, UpdatedAt
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Event,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared.dangling_references import ids_pointing
from server.record_types.traits import Comments, CustomFields, Links, Search

PROVIDERS = {
    "svc.service.provider.api_key": "API key",
    "svc.service.provider.aws": "Amazon Web Services",
    "svc.service.provider.http.basic": "HTTP Basic",
    "svc.service.provider.ldap": "LDAP",
    "svc.service.provider.oauth1": "OAuth 1",
    "svc.service.provider.oauth2": "OAuth 2",
    "svc.service.provider.oidc": "OpenID Connect",
    "svc.service.provider.saml.idp": "SAML",
    "svc.service.provider.token.bearer": "Bearer token",
}


def _provider_name(record: Record, shown: DictionaryContext) -> str:
    return PROVIDERS.get(record["extension_id"], str(record["extension_id"]))


class ConnectedService(RecordType):
    """Another program, with its settings, which are secret: they are written and never shown."""

    uri = "connected_service"
    aliases = ("connected service", "connected services", "service", "services")
    tier = 3
    lookup = "uri"
    traits = (Comments(), CustomFields(), Links(), Search())
    access = Access(read="admins", write=("admins",))
    fields = {
        "extension_id": Text(
            "How to sign in to it.", required=True, allowed=tuple(PROVIDERS), form="extension", filter="type"
        ),
        "name": Name(),
        "params": Structure(
            "Settings of the sign-in method; replaces them all. Never returned. `base_url`: where its accounts may be "
            "used, all below it; anywhere when blank. API key: `location` (header, query), `name`. Amazon: `region`, "
            "`service`. OAuth 2: `provider` (google, microsoft, other), whose addresses need not be named; "
            "`client_id`, `client_secret`, `client_secret_expires` (date), `client_authentication` (basic, body), "
            "`scope`; `tenant`, of Microsoft; `issuer`, `authorization_url`, `token_url`, `userinfo_url`, "
            "`requires_iss` (1: the provider names itself in its responses). Bearer token: `token_type`.",
            16777215,
            default={},
            is_map=True,
            shown=False,
        ),
        "updated_at": UpdatedAt(),
        "uri": Text(
            "A unique short name: lower-case letters, digits and dashes.",
            64,
            unique=True,
            blank_ok=True,
            pattern="[A-Za-z0-9-]*",
        ),
    }
    tables = (SECRET_NOTICE,)
    events = (Event("connected_service.secret.expires", "its client secret expires soon"),)
    keys = (Key("extension_name", "text", "Name of the sign-in method.", _provider_name),)
    subtotals = Subtotals(search=("fieldset", "links", "type"))

    def prepare(self, change: Change, writing: Writing) -> None:
        if "uri" in change.new:
            change.new["uri"] = change.new["uri"].lower()

    def after_write(self, change: Change, writing: Writing) -> None:
        if not change.is_create and change.changes("params"):
            for account_id in ids_pointing(writing.tx, "connected_account", "service_id", change.id):
                grants.try_again(writing.tx, account_id)

    def after_delete(self, record: Record, writing: Writing) -> None:
        writing.tx.delete(CONNECTION_ATTEMPT, service_id=record["id"])
        writing.tx.delete(SECRET_NOTICE, service_id=record["id"])
        for account_id in ids_pointing(writing.tx, "connected_account", "service_id", record["id"]):
            writing.delete("connected_account", account_id)
