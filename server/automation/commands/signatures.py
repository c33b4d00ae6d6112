"""The command that verifies the signature of a request: signature.verify."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

from server.automation.acting import service_of, words
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.connections import connected_accounts
from server.errors import Invalid, nearest
from server.template.shared.text_values import bytes_of
from server.template.values import is_numeric, printed, read_number

MAX_SIGNED_CHARS = 16_777_216
MAX_SIGNATURES_CHARS = 8192  # all signatures of a request together
MAX_TOLERANCE_SECONDS = 86_400
TOLERANCE_SECONDS = 300
PLAIN = "plain"
ALGORITHMS = ("sha256", "sha1", "sha384", "sha512", PLAIN)
ENCODINGS = ("hex", "base64")


@command(
    "signature.verify",
    "Verify that a text was signed with the secret of a connected account. A wrong signature is a failure.",
    Input("account", "text", "The account whose API key, token or password is the secret: "
          "svc:connected_account:<id or uri>.", required=True),
    Input("content", "text", "The signed text, such as {{request_body}}.", max=MAX_SIGNED_CHARS, default=""),
    Input("signature", "text or list",
          "The signature that was sent; of several, as a list or separated by commas, one must "
                                       "match.", required=True, max=MAX_SIGNATURES_CHARS),
    Input("algorithm", "text", f"Of the HMAC: one of {', '.join(ALGORITHMS[:-1])}; sha256 when blank. {PLAIN}: the "
                               f"secret itself was sent, and nothing is signed.", default="sha256"),
    Input("encoding", "text", "Encoding of the signature: hex or base64; hex when blank.", default="hex"),
    Input("timestamp", "text", "Unix seconds at which the text was signed; leave blank if the text has no time.",
          default=None),
    Input("tolerance", "number", f"Seconds that the timestamp may be off; {TOLERANCE_SECONDS} when blank, at most "
          f"{MAX_TOLERANCE_SECONDS:,}.", default=TOLERANCE_SECONDS),
    needs_output=True,
)  # fmt: skip
def verify(call: CommandCall) -> Any:
    """Returns {is_valid: true}. The secret is read here and never enters a dictionary; signatures are compared in
    constant time."""
    ctx, inputs = service_of(call, ("content", "signature", "timestamp")), call.inputs
    algorithm = _choice("algorithm", inputs["algorithm"] or "sha256", ALGORITHMS)
    encoding = _choice("encoding", inputs["encoding"] or "hex", ENCODINGS)
    secret = connected_accounts.signing_secret(ctx, inputs["account"])
    if algorithm == PLAIN:
        expected, candidates = secret.encode(), [bytes_of(printed(inputs["signature"]))]
    else:
        expected = hmac.new(secret.encode(), bytes_of(inputs["content"]), getattr(hashlib, algorithm)).digest()
        candidates = list(_signatures(inputs["signature"], encoding))
    if not any(hmac.compare_digest(each, expected) for each in candidates):
        raise CommandFailed("signature.verify: the signature does not match the content", {"is_valid": False})
    if "timestamp" in call.given:
        _require_fresh(inputs["timestamp"], inputs["tolerance"], ctx.now)
    return {"is_valid": True}


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value.lower() not in choices:
        raise Invalid(f"signature.verify: there is no {name} '{value[:50]}'{nearest(value, choices)}", field=name)
    return value.lower()


def _signatures(value: Any, encoding: str) -> Iterator[bytes]:
    """Returns the bytes of each signature; b"", which matches nothing, for one that cannot be decoded."""
    for text in words(value):
        try:
            if encoding == "hex":
                yield bytes.fromhex(text)
            else:
                yield base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error):
            yield b""


def _require_fresh(timestamp: Any, tolerance: Any, now: int) -> None:
    text = printed(timestamp).strip()
    if not is_numeric(text):
        raise CommandFailed("signature.verify: the timestamp is not a number of seconds", {"is_valid": False})
    allowed = min(max(float(tolerance or 0), 0), MAX_TOLERANCE_SECONDS)
    if abs(now - float(read_number(text))) > allowed:
        raise CommandFailed(
            f"signature.verify: the request was signed more than {allowed:g} seconds ago or ahead; it may be a replay, "
            "or a clock is wrong",
            {"is_valid": False},
        )
