"""SCIM 2.0: the protocol by which an identity provider creates, changes and deactivates workers and fills groups.

Follows RFC 7643 (schema) and RFC 7644 (protocol). server/sign_in/provisioned_users.py and provisioned_groups.py map
resources to workers and groups; this package speaks HTTP and JSON."""
