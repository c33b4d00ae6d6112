"""An automation that creates a record, for tests of work that several processes must do only once."""

from tests.automation.test_http import ALLOW

LOOKS = 200_000  # iterations of a polling loop; each is a request
POLICY = f"{ALLOW}  record.create:\n    allow@bool: yes\n"


def script_that_makes(record_type: str, field: str) -> str:
    """A script that creates a record of this type, with the id of the event's record in this field."""
    return f"""
start:
  record.create:
    output: made
    inputs:
      record_type: {record_type}
      fields:
        {field}: made for {{{{record_id}}}}
"""
