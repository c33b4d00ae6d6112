"""The commands for PGP. Scripts and policies may name them, but they fail because this program stores no PGP keys."""

from typing import Any, NoReturn

from server.automation.command import CommandCall, CommandFailed, Input, command

MAX_MESSAGE_CHARS = 16_777_216
MESSAGE = Input("message", "text", "The text.", required=True, max=MAX_MESSAGE_CHARS)


@command(
    "encrypt.pgp",
    "Not available: this program has no PGP keys.",
    MESSAGE,
    Input("public_keys", "map", "The recipients.", required=True),
    needs_output=True,
)
def encrypt(call: CommandCall) -> Any:
    """Always fails."""
    _refuse(call)


@command("decrypt.pgp", "Not available: this program has no PGP keys.", MESSAGE, needs_output=True)
def decrypt(call: CommandCall) -> Any:
    """Always fails."""
    _refuse(call)


def _refuse(call: CommandCall) -> NoReturn:
    raise CommandFailed(f"{call.node.type} is not available on this installation: it has no PGP keys")
