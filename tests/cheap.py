"""Password hashes that cost nothing: hundreds of sign-ins would take minutes of CPU time otherwise.

test_passwords.py checks the real cost of the service in a separate process."""

import argon2

from server import passwords


def cheap_hashes() -> None:
    """Sets the password hash of this process to the minimum cost of the algorithm."""
    passwords._hasher = argon2.PasswordHasher(1, 8, 1, passwords.HASH_BYTES, passwords.SALT_BYTES, type=argon2.Type.ID)
