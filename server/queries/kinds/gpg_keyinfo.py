"""`gpg.keyinfo`: needs a key ring, which this program does not have. Source: Data queries, Others."""

from server.queries.declared import Key
from server.queries.refused import Refused


class GpgKeyinfo(Refused):
    """Always refused."""

    name = "gpg.keyinfo"
    description = "What is known of a PGP key."
    keys = (
        Key("fingerprint", "text", "The fingerprint of the key.", required=True),
        Key("filter", "text", "Only one part of it.", choices=("uids", "subkeys")),
    )
