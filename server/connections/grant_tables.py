"""Tables of grants, to which a person consented at a provider, and of consents that are under way."""

from server.store.tables import Column, Index, Table

CONNECTED_GRANT = Table(
    "connected_grant",
    [
        Column("account_id"),
        Column("email", "TEXT"),
        Column("purpose", "TEXT"),
        Column("connected_at"),
        Column("renewed_at"),
        Column("ended_at"),
        Column("error", "TEXT"),
    ],
    key=("account_id",),
)  # email: of the person who consented, "" if the provider does not say it; ended_at: since when the provider refuses
# to renew the token for good, 0 if it does not; error: its words

CONNECTION_ATTEMPT = Table(
    "connection_attempt",
    [
        Column("hash", "TEXT"),
        Column("session_id"),
        Column("worker_id"),
        Column("service_id"),
        Column("account_id"),
        Column("purpose", "TEXT"),
        Column("client", "TEXT"),
        Column("redirect_uri", "TEXT"),
        Column("verifier", "TEXT"),
        Column("nonce", "TEXT"),
        Column("expires_at"),
        Column("next_page", "TEXT"),
    ],
    [
        Index(("hash",), "the attempt that a response belongs to", unique=True),
        Index(("expires_at",), "those that are over"),
    ],
)  # hash: of `state`; client: digest of the endpoints and the client that the attempt began with; account_id: 0 for a
# new account; next_page: the page that follows

SECRET_NOTICE = Table(
    "client_secret_notice",
    [Column("service_id"), Column("expires", "TEXT"), Column("days")],
    key=("service_id",),
)  # the last notice about a client secret: for which date, and how many days before
