"""The signed links in requests for ratings. A link carries a random name and its signature, no id.

The code of a link is put in when the email is sent, so that no draft and no backup of one contains it."""

from server.context import Service
from server.errors import Invalid
from server.record_types.parts import Reading, Record
from server.record_types.shared import brands
from server.records.signed_names import is_signed, signed, stored_key
from server.records.writing import RecordWriter
from server.sign_in import late_links
from server.sign_in.late_links import CODE, LateLink
from server.store.transaction import Transaction
from server.tickets.types.rating import SCORES

KEY = "rating_key"  # name of the signing key in signed_names
KIND = "rating"
PATH = "/rate/"  # below the address of a help center
DAY_SECONDS = 86400
RATE_SECONDS = 30 * DAY_SECONDS  # time to rate, from the request on
CHANGE_SECONDS = 7 * DAY_SECONDS  # time to change a rating, from the first one on


def address(service: Service, tx: Transaction, group_id: int) -> str:
    """Returns the address of the help center of a group, without a slash at its end. Links respond there even if no
    brand is public or exists."""
    brand = brands.brand_of_group(brands.all_brands(tx), group_id)
    if brand is not None:
        return brands.address(service, brand)
    return str(service.settings.portal_base_url) or service.base_url + brands.TRIAL_PATH


def late_addresses(base: str) -> dict[str, str]:
    """Returns the address of each score as it stands in a draft. base: of the help center."""
    return {score: f"{base}{PATH}{CODE}/{score}" for score in SCORES}


def rating_of(reading: Reading, code: str) -> Record | None:
    """Returns the rating that a code opens, None for a code that was not signed here or whose rating is gone."""
    nonce = code.partition("-")[0]
    if not nonce or not is_signed(stored_key(reading.tx, KEY), nonce, code):
        return None
    return reading.find("rating", nonce=nonce)


def _code(writing: RecordWriter, link: LateLink, to: str) -> str:
    rating, key = writing.record("rating", link.record_id), stored_key(writing.tx, KEY)
    if rating is None or key is None:
        raise Invalid("the ticket or its rating was deleted; drop the email")
    return signed(key, rating["nonce"])


late_links.declare(KIND, PATH, _code)
