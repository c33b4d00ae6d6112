"""DMARC results in Authentication-Results of trusted hosts, even where the sender chose a part of their text."""

import pytest

from server.mail.authentication import dmarc_result

TRUSTED = {"mx.desk.example"}
MANY_SIGNATURES = "; dkim=pass header.d=rook.example header.s=one" * 500


@pytest.mark.parametrize(
    ("results", "host"),
    [
        (["mx.desk.example; dmarc=pass"], ""),
        (["mx.desk.example; dmarc=fail (p=reject dis=none) header.from=desk.example"], "mx.desk.example"),
        (['"MX.desk.example" 1; (policy) dmarc/1 = (none) FAIL'], "mx.desk.example"),
        (["mx.rook.example; dmarc=fail"], ""),
        (["mx.rook.example; dmarc=pass", "mx.desk.example; dmarc=fail"], "mx.desk.example"),
        # The topmost result is ours, the second may be forged.
        (["mx.desk.example; dmarc=fail", "mx.desk.example; dmarc=pass"], "mx.desk.example"),
        (["mx.desk.example; dmarc=pass", "mx.desk.example; dmarc=fail"], ""),
        # One program checked signatures, another one DMARC.
        (["mx.desk.example; dkim=none", "mx.desk.example; dmarc=fail"], "mx.desk.example"),
        # Parts chosen by the sender: the envelope mailbox, parentheses in it, the number of signatures.
        (['mx.desk.example; spf=pass smtp.mailfrom="a; dmarc=pass"@rook.example; dmarc=fail'], "mx.desk.example"),
        (["mx.desk.example; spf=pass (of (a) ; dmarc=pass); dmarc=fail"], "mx.desk.example"),
        (['mx.desk.example; spf=pass smtp.mailfrom="("@x; dmarc=fail; dkim=none header.i=")"@x'], "mx.desk.example"),
        ([f"mx.desk.example{MANY_SIGNATURES}; dmarc=fail"], "mx.desk.example"),
        (["mx.desk.example; spf=pass smtp.mailfrom=xdmarc=fail@rook.example"], ""),
        (["", ";", "; dmarc=fail"], ""),
    ],
)
def test_the_topmost_dmarc_result_of_a_trusted_host_counts(results, host):
    found = dmarc_result([("Authentication-Results", value) for value in results], TRUSTED)
    assert (found.host if found.result == "fail" else "") == host


def test_other_headers_are_no_results():
    assert dmarc_result([("X-Authentication-Results", "mx.desk.example; dmarc=fail")], TRUSTED) == ("", "")
