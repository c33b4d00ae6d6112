"""Sample requests for trying a webhook, in the form in which other programs send them, and scripts that check their
signatures.

Samples are signed on request, with secrets that are constants here: an automation with one of the scripts and its
secret as the input accepts the sample."""

import base64
import hmac
import json
from collections.abc import Callable

from server.dataclass import dataclass
from server.translation import N_

SECRET = "known to both"
STANDARD_SECRET = "whsec_" + base64.b64encode(b"known to both sides").decode()
TOLERANCE_SECONDS = 300  # seconds that a signed time may differ in the scripts
JSON_TYPE = "Content-Type: application/json"

PUSH = {
    "ref": "refs/heads/main",
    "before": "0" * 40,
    "after": "5f2c" * 10,
    "repository": {"id": 7, "name": "kite", "full_name": "sky/kite", "html_url": "https://code.example/sky/kite"},
    "pusher": {"name": "ana", "email": "ana@sky.example"},
    "commits": [{"id": "5f2c" * 10, "message": "Mend the tail", "author": {"name": "Ana"}, "modified": ["tail.txt"]}],
}
PAYMENT = {
    "id": "evt_1",
    "type": "payment_intent.succeeded",
    "data": {"object": {"id": "pi_1", "amount": 4900, "currency": "eur", "receipt_email": "ana@sky.example"}},
}
STANDARD = {"type": "order.shipped", "timestamp": "2026-11-22T09:00:00Z", "data": {"order": 7, "carrier": "kite"}}


@dataclass(frozen=True)
class SampleRequest:
    """A request as it is typed. headers: lines."""

    headers: str
    body: str


@dataclass(frozen=True)
class HookSample:
    """A request. make: signs it at an instant."""

    label: str
    make: Callable[[int], SampleRequest]


@dataclass(frozen=True)
class Check:
    """A script that responds with 403 to a wrong signature. secret: the key that the sample is signed with."""

    label: str
    sample: str
    secret: str
    script: str


def _json(now: int) -> SampleRequest:
    return SampleRequest(JSON_TYPE, '{"hello": "world"}')


def _form(now: int) -> SampleRequest:
    return SampleRequest("Content-Type: application/x-www-form-urlencoded", "name=Ana&order=7&note=Please+wrap+it")


def _push(now: int) -> SampleRequest:
    body = json.dumps(PUSH)
    headers = (
        JSON_TYPE,
        "X-GitHub-Event: push",
        "X-GitHub-Delivery: 00000000-0000-4000-8000-000000000007",
        f"X-Hub-Signature-256: sha256={_signed(SECRET.encode(), body).hex()}",
    )
    return SampleRequest("\n".join(headers), body)


def _payment(now: int) -> SampleRequest:
    body = json.dumps(PAYMENT)
    signature = _signed(SECRET.encode(), f"{now}.{body}").hex()
    return SampleRequest(f"{JSON_TYPE}\nStripe-Signature: t={now},v1={signature}", body)


def _standard(now: int) -> SampleRequest:
    id, body = "msg_7", json.dumps(STANDARD)
    key = base64.b64decode(STANDARD_SECRET.removeprefix("whsec_"))
    signature = base64.b64encode(_signed(key, f"{id}.{now}.{body}")).decode()
    headers = (JSON_TYPE, f"webhook-id: {id}", f"webhook-timestamp: {now}", f"webhook-signature: v1,{signature}")
    return SampleRequest("\n".join(headers), body)


def _signed(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


SAMPLES: dict[str, HookSample] = {
    "json": HookSample(N_("JSON"), _json),
    "form": HookSample(N_("A form"), _form),
    "push": HookSample(N_("A push, as GitHub sends it"), _push),
    "payment": HookSample(N_("A payment, as Stripe sends it"), _payment),
    "standard": HookSample(N_("A Standard Webhooks event"), _standard),
}

_SCRIPT = """\
inputs:
  text/secret:
    required@bool: yes
start:
  set:
{set}
  outcome/forged:
    if@bool: {{{{{wrong}}}}}
    then:
      return:
        status_code@int: 403
        body: wrong signature
  return:
    body: genuine
"""

CHECKS: tuple[Check, ...] = (
    Check(N_("A hash of the body (X-Hub-Signature-256)"), "push", SECRET, _SCRIPT.format(
        set="    wanted: sha256={{request_body|hash_hmac(inputs.secret, 'sha256')}}",
        wrong="request_body is empty or request_headers.x_hub_signature_256 != wanted",
    )),
    Check(N_("A hash of time and body (Stripe-Signature)"), "payment", SECRET, _SCRIPT.format(
        set="    signed_at: {{request_headers.stripe_signature|split('t=')|last|split(',')|first}}\n"
            "    given: {{request_headers.stripe_signature|split('v1=')|last|split(',')|first}}\n"
            "    wanted: {{(signed_at ~ '.' ~ request_body)|hash_hmac(inputs.secret, 'sha256')}}\n"
            "    age: {{'now'|date('U') - signed_at}}",
        wrong=f"given != wanted or age > {TOLERANCE_SECONDS} or age < -{TOLERANCE_SECONDS}",
    )),
    Check(N_("Standard Webhooks"), "standard", STANDARD_SECRET, _SCRIPT.format(
        set="    signed: {{request_headers.webhook_id}}.{{request_headers.webhook_timestamp}}.{{request_body}}\n"
            "    wanted: v1,{{signed|hash_hmac(inputs.secret|replace({'whsec_': ''})|base64_decode, 'sha256', true)"
            "|base64_encode}}\n"
            "    age: {{'now'|date('U') - request_headers.webhook_timestamp}}",
        wrong="wanted not in request_headers.webhook_signature|split(' ') or "
              f"age > {TOLERANCE_SECONDS} or age < -{TOLERANCE_SECONDS}",
    )),
)  # fmt: skip
