"""Hashes of passwords that cost nothing: hundreds of sign-ins would take minutes of a processor otherwise.

What the service takes instead is asserted by test_passwords.py, in a process of its own."""

import argon2

from server import passwords


def cheap_hashes() -> None:
    """Let passwords be hashed in this process with the least that the algorithm takes."""
    passwords._hasher = argon2.PasswordHasher(1, 8, 1, passwords.HASH_BYTES, passwords.SALT_BYTES, type=argon2.Type.ID)
