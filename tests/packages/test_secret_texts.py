"""Recognition of secrets in a text, and of ids that refer to records."""

import pytest

from server.packages.secret_texts import is_secret_name, secrets_in_prose, secrets_in_script
from server.packages.text_references import references_in

PEM = "-----BEGIN PRIVATE KEY-----\n    MIIEvQ\n    -----END PRIVATE KEY-----"
SCRIPTS = [
    ("inputs:\n  api_key: sk1\n  shop: Larch", ["sk1"]),
    ("automation/a:\n  uri: svc:automation:x\n  inputs:\n    token@text:\n      abc\n      def", ["abc", "def"]),
    ("headers:\n  Authorization: Bearer abc\n  Accept: text/html", ["abc"]),
    ("headers@text:\n  X-Api-Key: abc\n  X-Trace: 1", ["abc"]),
    ("credentials:\n  user: ann\n  pin@key: 12", ["ann", "12"]),
    ("Authorization: Bearer {{inputs.token}}", []),
    ("X-Hub-Signature: {{body|hash_hmac('s3cret')}}", ["s3cret"]),
    ("x: {{body|hash_hmac(\"s3cret\", 'sha256')}}", ["s3cret"]),
    ("Authorization: Basic {{'ann:hunter2'|base64_encode}}", ["ann:hunter2"]),
    ("url: https://ann:hunter2@shop.example/x", ["hunter2"]),
    ("url: https://shop.example/x?page=2&access_token=abc", ["abc"]),
    ("url: https://hooks.slack.com/services/T0/B0/xyz123", ["T0/B0/xyz123"]),
    ("url: https://desk.example/webhooks/0123456789abcdefghij", ["0123456789abcdefghij"]),
    ("body: {\"user\": \"ann\", \"password\": \"abc\"}", ["abc"]),
    ("{% set api_key = 'abc' %}", ["abc"]),
    ("set:\n  key: api_key\n  value: abc", ["abc"]),
    ("set:\n  key: orders.seen\n  value: abc", []),
    ("inputs:\n  text/api_key:\n    required@bool: yes\n    default: abc", ["abc"]),
    ("note: whsec_abcdefgh12345", ["whsec_abcdefgh12345"]),
    ("other: 9f86d081884c7d659a2feaa0c55ad015", ["9f86d081884c7d659a2feaa0c55ad015"]),
    ("key@text:\n    " + PEM, [PEM]),
    ("authentication: svc:connected_account:shop\nauthor: Ann\nsignature_id: 5\ntoken: {{x}}\nsecret: ", []),
    ("http.request/get_token:\n  inputs:\n    method: POST\n    url: https://shop.example", []),
    ("automation/secret_sync:\n  uri: svc:automation:a\n  disabled@bool: yes", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "secrets"), SCRIPTS)
def test_the_secrets_of_a_script(text, secrets):
    assert [text[start:end] for start, end, _ in secrets_in_script(text)] == secrets


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("Your password: write it down", []),
        ("Call with Bearer abcdefgh1234.", ["abcdefgh1234."]),
        ("ghp_0123456789abcdefghij stays", ["ghp_0123456789abcdefghij"]),
    ],
)
def test_the_secrets_of_a_text_for_people(text, secrets):
    assert [text[start:end] for start, end, _ in secrets_in_prose(text)] == secrets


def test_names_of_secrets():
    secret = ("api_key", "client_secret", "Authorization", "X-Signature", "password", "pin", "session_token")
    public = ("author", "author_id", "key", "signature", "is_password_disabled", "shop", "monkey", "token_type")
    assert all(map(is_secret_name, secret)) and not any(map(is_secret_name, public))


@pytest.mark.parametrize("text", ["a" * 200_000, "a: " * 50_000, "token=" * 40_000, "{{" * 90_000, " " * 200_000 + "x"])
def test_long_texts_take_linear_time(text):
    secrets_in_script(text)
    references_in(text, {"group_id": "group"})


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("group_id: 3\nbucket_id@int: 14", [("group", 3), ("bucket", 14)]),
        ("group.id:3 owner.id:[1, 2]", [("group", 3), ("worker", 1), ("worker", 2)]),
        ("group:(id:3) owner:(id:[1,2] isAdmin:no)", [("group", 3), ("worker", 1), ("worker", 2)]),
        ("svc:calendar:7 and custom_12", [("calendar", 7), ("custom_field", 12)]),
        ("svc.contexts.custom_record.5", [("custom_record", 5)]),
        ("owner__context: group\nowner_id: 4", []),
        ("group_id: {{x}}\nother_id: 3\nsubgroup_id: 3\ngroup_id: 0\ngroup_id: 1.5", []),
    ],
)
def test_the_records_that_a_text_references(text, ids):
    named = {"group_id": "group", "bucket_id": "bucket", "owner_id": "worker"}
    assert [(uri, id) for _, _, uri, id in references_in(text, named)] == ids
