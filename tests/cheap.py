"""Password hashes that cost nothing, and proofs of forms that cost little: hundreds of sign-ins would take minutes of
CPU time otherwise.

test_passwords.py checks the real cost of the service in a separate process, desk/test_sent_forms.py that of a proof."""

import argon2

from server import passwords
from server.help_center import form_tokens

PROOF_BITS = 14  # an eighth of the attempts; a wrong proof is still right by chance only once in 16,384 times


def cheap_hashes() -> None:
    """Sets the password hash of this process to the minimum cost of the algorithm."""
    passwords._hasher = argon2.PasswordHasher(1, 8, 1, passwords.HASH_BYTES, passwords.SALT_BYTES, type=argon2.Type.ID)


def cheap_proofs() -> None:
    """Sets the number of attempts that a browser needs to prove a form of this process."""
    form_tokens.PROOF_BITS = PROOF_BITS
