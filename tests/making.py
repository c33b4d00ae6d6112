"""An automation that makes a record, for tests of what several processes do once."""

from tests.automation.test_http import ALLOW

LOOKS = 200_000  # of a loop that waits for others; each is a request
POLICY = f"{ALLOW}  record.create:\n    allow@bool: yes\n"


def script_that_makes(record_type: str, field: str) -> str:
    """Makes one of this type, with the id of what it reacts to in this field."""
    return f"""
start:
  record.create:
    output: made
    inputs:
      record_type: {record_type}
      fields:
        {field}: made for {{{{record_id}}}}
"""
