"""A helpdesk in whose name accounts are connected, as the console does it."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from server.connections import connected_accounts, connecting, grants
from server.connections.connecting import ConnectionRequest, FinishedConnection
from server.connections.grants import ConnectedGrant
from server.context import Context
from tests.oauth_provider import OAuthProvider
from tests.records.desk import NOW, Desk

OAUTH2 = "svc.service.provider.oauth2"
SESSION = 7


class ConnectingDesk(Desk):
    """nora administers. now: the time, which tests move."""

    nora = 0
    now = NOW

    def context(self, worker_id: int = 0) -> Context:
        return replace(super().context(worker_id), now=self.now)

    def connected_service(self, at: OAuthProvider, **params: str) -> int:
        made = self.create("connected_service", name="Mail", extension_id=OAUTH2, params=at.params(**params))
        return int(made["id"])

    def begin(self, service: int, purpose: Any = "other", session: int = SESSION, by: int = 0, **more: Any) -> str:
        return connecting.begin(self.context(by or self.nora), session, ConnectionRequest(service, purpose, **more))

    def finish(self, url: str, session: int = SESSION, by: int = 0, **changes: str) -> FinishedConnection:
        """Returns the connection that the redirect of a provider leads to."""
        response = {**dict(parse_qsl(urlsplit(url).query)), **changes}
        return connecting.finish(self.context(by or self.nora), session, response)

    def connect(self, provider: OAuthProvider, service: int, user: str = "support@desk.example", **more: Any) -> int:
        return self.finish(provider.consent(self.begin(service, **more), user)).account_id

    def token(self, account: int) -> str:
        return connected_accounts.access_token(self.context(), str(account))

    def grant(self, account: int) -> ConnectedGrant:
        grant = self.read(lambda tx: grants.find_grant(tx, account))
        assert grant is not None
        return grant

    def service_with(self, **settings: Any) -> Any:
        return replace(self.service, settings=self.service.settings.replace(**settings))

    def notifications(self) -> list[dict[str, Any]]:
        """Every notification, as it is stored."""
        record_type = self.registry.type("notification")
        return [record_type.record(row) for row in self.read(lambda tx: tx.find(record_type.table))]

    def params(self, account: int) -> dict[str, Any]:
        return dict(self.row("connected_account", account)["params"])
