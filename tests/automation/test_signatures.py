"""signature.verify: valid and invalid signatures, and that the secret stays hidden."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest

from server.automation import engine
from server.automation.automation_service import ServiceHost
from server.automation.host import Script
from tests.automation.cases.case import ALLOW
from tests.automation.commanding import done, refused
from tests.records.desk import NOW, Desk

SECRET, CONTENT = "s3cret: ü", '{"sku": "A-1"}'
PREFIX = "svc.service.provider."
WRONG = "the signature does not match"


def signed(content: str = CONTENT, algorithm: str = "sha256", secret: str = SECRET) -> bytes:
    return hmac.new(secret.encode(), content.encode(), getattr(hashlib, algorithm)).digest()


HEX = signed().hex()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    opened = Desk(tmp_path_factory.mktemp("signatures"))
    opened.people()
    for uri, kind, params in (
        ("key", "api_key", {"api_key": SECRET}), ("token", "token.bearer", {"token": SECRET}),
        ("login", "http.basic", {"username": "ana", "password": SECRET}),
        ("aws", "aws", {"access_key_id": "a", "secret_access_key": SECRET}), ("none", "http.basic", {"username": "a"}),
    ):  # fmt: skip
        service = opened.create("connected_service", name=uri, extension_id=PREFIX + kind)["id"]
        opened.create("connected_account", name=uri, uri=uri, owner__context="app", owner_id=0, service_id=service,
                      params=params)  # fmt: skip
    yield opened
    opened.close()


FITS: list[dict[str, Any]] = [
    {}, {"account": "svc:connected_account:token"}, {"account": "login"}, {"signature": HEX.upper()},
    {"signature": f"00,{HEX}"}, {"signature": ["zz", HEX]}, {"algorithm": "SHA256", "encoding": "HEX"},
    {"signature": base64.b64encode(signed()).decode(), "encoding": "base64"},
    *({"signature": signed(algorithm=each).hex(), "algorithm": each} for each in ("sha1", "sha384", "sha512")),
    {"content": "", "signature": signed("").hex()}, {"algorithm": "plain", "signature": SECRET},
    {"timestamp": NOW}, {"timestamp": str(NOW - 300)}, {"timestamp": NOW + 300},
    {"timestamp": NOW - 4000, "tolerance": 5000},
]  # fmt: skip


@pytest.mark.parametrize("inputs", FITS, ids=str)
def test_valid_signatures(desk: Desk, inputs: dict[str, Any]) -> None:
    known = {"account": "key", "content": CONTENT, "signature": HEX}
    assert done(desk, "signature.verify", **known | inputs) == {"is_valid": True}
    assert done(desk, "signature.verify", dry=True, **known | inputs) == {"is_valid": True}


@pytest.mark.parametrize(("inputs", "message"), [
    ({"content": CONTENT + " "}, WRONG), ({"signature": HEX[:-2]}, WRONG), ({"signature": "00"}, WRONG),
    ({"signature": "ü"}, WRONG), ({"signature": ","}, WRONG), ({"signature": HEX, "encoding": "base64"}, WRONG),
    ({"signature": signed(secret="x").hex()}, WRONG), ({"algorithm": "sha1"}, WRONG),
    ({"algorithm": "plain", "signature": SECRET[:-1]}, WRONG), ({"algorithm": "plain"}, WRONG),
    ({"timestamp": NOW - 301}, "more than 300 seconds ago or ahead"), ({"timestamp": NOW + 301}, "more than 300"),
    ({"timestamp": NOW - 10, "tolerance": 5}, "more than 5 seconds"), ({"timestamp": ""}, "not a number of seconds"),
    ({"timestamp": NOW - 90_000, "tolerance": 10**9}, "more than 86400"),
    ({"timestamp": "soon"}, "not a number of seconds"), ({"timestamp": "nan"}, "not a number of seconds"),
    ({"timestamp": NOW - 1, "tolerance": -5}, "more than 0"),
    ({"algorithm": "md5"}, "there is no algorithm 'md5'"), ({"encoding": "hexx"}, "did you mean 'hex'"),
    ({"account": "nobody"}, "there is no connected account 'nobody'"), ({"account": "aws"}, "has no secret"),
    ({"account": "none"}, "has no secret"), ({"signature": ""}, "must not be empty"),
    ({"signature": "0" * 9000}, "at most 8,192"),
])  # fmt: skip
def test_invalid_signatures(desk: Desk, inputs: dict[str, Any], message: str) -> None:
    told = refused(desk, "signature.verify", **{"account": "key", "content": CONTENT, "signature": HEX} | inputs)
    assert message in told and SECRET not in told


@pytest.mark.parametrize("dry", [False, True])
def test_no_part_of_a_run_contains_the_secret(desk: Desk, dry: bool) -> None:
    script = (
        "start:\n  signature.verify:\n    output: proof\n    inputs:\n      account: key\n      signature: 00\n"
        "    on_error:\n      log: {{proof|json_encode}}\n"
    )
    run = engine.run(Script(script, ALLOW), {}, ServiceHost(desk.context(), dry=dry))
    assert run.state == "exit" and run.variables["proof"]["is_valid"] is False
    assert "s3cret" not in repr(run) and "s3cret" not in str(run.variables) + str(run.log) + str(run.trace)
