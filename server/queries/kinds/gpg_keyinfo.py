"""`gpg.keyinfo`: requires a key ring, which this program does not have."""

from server.queries.query_type import QueryKey
from server.queries.unsupported import UnsupportedQuery


class GpgKeyinfo(UnsupportedQuery):
    """Always raises BadDataQuery."""

    name = "gpg.keyinfo"
    description = "Details of a PGP key."
    keys = (
        QueryKey("fingerprint", "text", "The fingerprint of the key.", required=True),
        QueryKey("filter", "text", "Only one part of the details.", choices=("uids", "subkeys")),
    )
