"""The protocol of OpenAI-compatible servers, and what goes wrong with them: each error is a sentence, and none has the
key in it."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from server.errors import HelpdeskError, TimedOut, TooLarge, TooMany, Unavailable
from server.outbound import Cancellation, RequestLimits
from server.outbound.allowlist import allowed
from server.writing_assistant import model_client
from server.writing_assistant.model_client import ModelProvider
from tests.model_server import KEY, MODEL, ModelServer, completion

MESSAGES = [{"role": "user", "content": "Hi"}]
LIMITS = RequestLimits(30, 100_000, allowed(("127.0.0.1",)))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model_client._TOKEN_PARAMETERS.clear()
    model_client._ENDPOINTS.clear()
    started = ModelServer()
    yield started
    started.stop()


def provider(server: ModelServer, base_url: str = "", key: str = KEY) -> ModelProvider:
    return ModelProvider(base_url or server.base_url, MODEL, key)


def failed(server: ModelServer, answer: Any, limits: RequestLimits = LIMITS) -> HelpdeskError:
    """Returns the error after a response."""
    server.answer = answer
    with pytest.raises(HelpdeskError) as raised:
        model_client.complete(provider(server), MESSAGES, limits, 100)
    assert KEY not in raised.value.message
    return raised.value


@pytest.mark.parametrize(
    ("prefix", "entered"),
    [("/v1", ""), ("/v1", "/v1"), ("", ""), ("/api/openai", "/api/openai"), ("/proxy/v1", "/proxy")],
)
def test_the_base_address_may_lack_or_have_its_version(server: ModelServer, prefix: str, entered: str) -> None:
    server.prefix = prefix
    for _ in range(2):
        assert model_client.complete(provider(server, server.url + entered), MESSAGES, LIMITS, 100).text == "Hello"
    paths = [path for path, _headers, _body in server.requests]
    assert paths[-2:] == [f"POST {prefix}/chat/completions"] * 2 and len(paths) <= 3, "the second time it is known"


def test_the_key_is_sent_as_a_bearer_token_and_may_be_missing(server: ModelServer) -> None:
    model_client.complete(provider(server), MESSAGES, LIMITS, 100)
    model_client.complete(provider(server, key=""), MESSAGES, LIMITS, 100)
    assert [headers.get("authorization") for _p, headers, _b in server.requests] == [f"Bearer {KEY}", None]


def test_a_model_that_wants_max_completion_tokens_gets_it_at_once_the_next_time(server: ModelServer) -> None:
    def answer(body: Any) -> Any:
        if "max_tokens" in body:
            return 400, {
                "error": {
                    "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                    "Use 'max_completion_tokens' instead.",
                    "param": "max_tokens",
                }
            }
        return 200, completion("Yes")

    server.answer = answer
    for _ in range(2):
        assert model_client.complete(provider(server), MESSAGES, LIMITS, 77).text == "Yes"
    assert [body.get("max_completion_tokens") for body in server.completions] == [None, 77, 77]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, "refused the key (401)"),
        (403, {"message": "no access", "object": "error"}, "refused the key (403). An administrator"),
        (404, {"error": {"message": "model 'larch-7b' not found", "type": "api_error"}}, "does not know the model"),
        (404, {"detail": "Not Found"}, "does not know the model larch-7b or the address (404). Not Found"),
        (400, {"error": "context too long"}, "refused the request (400). context too long"),
        (400, {"detail": [{"msg": "field required"}]}, "refused the request (400). field required"),
        (413, b"<html>", "too long for the provider (413)"),
        (422, [{"error": {"message": "wrong"}}], "refused the request (422). wrong"),
        (500, {"errors": [{"message": "out of memory"}]}, "has a problem (500). Try again in a moment. out of memory"),
        (503, b"", "has a problem (503)"),
        (302, b"http://127.0.0.1:1/", "redirects to another address (302)"),
    ],
)
def test_a_refusal_is_a_sentence_with_the_words_of_the_server(
    server: ModelServer, status: int, body: Any, words: str
) -> None:
    error = failed(server, (status, body))
    assert words in error.message and isinstance(error, Unavailable)


def test_a_busy_provider_says_when_to_try_again(server: ModelServer) -> None:
    error = failed(server, (429, {"error": {"message": "Rate limit reached"}}, {"Retry-After": "20"}))
    assert isinstance(error, TooMany) and error.details["retry_after"] == 20
    assert "(429). Try again in 20 s. Rate limit reached" in error.message
    assert "Try again later" in failed(server, (429, b"")).message
    assert "(503). Try again in 7 s" in failed(server, (503, b"", {"Retry-After": "7"})).message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>hello", "returned no JSON object"),
        (b"", "returned no JSON object"),
        (b"[1]", "returned no JSON object"),
        (b'{"a":' * 50_000, "too large"),
        (b"[" * 90_000, "returned no JSON object"),
        ({}, "returned no text"),
        ({"choices": []}, "returned no text"),
        ({"choices": [None]}, "returned no text"),
        ({"choices": "x"}, "returned no text"),
        ({"choices": [{"message": None}]}, "returned no text"),
        (completion(None), "returned no text"),
        (completion("  \n"), "returned no text"),
        (completion(None, finish_reason="content_filter"), "filter held the reply back"),
        (completion("", finish_reason="length"), "used all its tokens"),
        ({"error": {"message": "overloaded"}}, "refused the request (200). overloaded"),
    ],
)
def test_a_response_without_a_text_is_a_sentence(server: ModelServer, body: Any, words: str) -> None:
    assert words in failed(server, (200, body)).message


def test_a_response_above_the_limit_is_not_read(server: ModelServer) -> None:
    assert isinstance(failed(server, (200, completion("x" * 200_000))), TooLarge)


@pytest.mark.parametrize(
    "usage", [{}, {"usage": None}, {"usage": {"total_tokens": "x"}}, {"usage": {"total_tokens": -1}}]
)
def test_missing_usage_counts_nothing(server: ModelServer, usage: dict[str, Any]) -> None:
    server.answer = 200, completion("Hi") | usage
    assert model_client.complete(provider(server), MESSAGES, LIMITS, 100).tokens == 0
    server.answer = 200, completion("Hi", finish_reason="length") | {"usage": {"total_tokens": 31}}
    reply = model_client.complete(provider(server), MESSAGES, LIMITS, 100)
    assert (reply.tokens, reply.is_cut) == (31, True)


def test_a_slow_provider_ends_at_the_deadline(server: ModelServer) -> None:
    with server.held(), pytest.raises(TimedOut, match=r"did not finish within 1 seconds.*writing_assistant_seconds"):
        model_client.complete(provider(server), MESSAGES, RequestLimits(1, 1000, LIMITS.permitted), 100)


def test_a_provider_that_is_down_is_named(server: ModelServer) -> None:
    server.stop()
    with pytest.raises(Unavailable, match=r"cannot be reached: 127.0.0.1:\d+ cannot be reached: Connection refused"):
        model_client.complete(provider(server), MESSAGES, LIMITS, 100)


def test_a_private_host_must_be_allowed(server: ModelServer) -> None:
    with pytest.raises(HelpdeskError, match="outbound_allow"):
        model_client.complete(provider(server), MESSAGES, RequestLimits(5, 1000, allowed(())), 100)
    assert server.requests == []


def test_a_cancelled_request_hangs_up_whenever_it_is_cancelled(server: ModelServer) -> None:
    cancellation = Cancellation()
    errors: list[Exception] = []

    def run() -> None:
        try:
            model_client.complete(provider(server), MESSAGES, LIMITS, 100, cancellation)
        except HelpdeskError as error:
            errors.append(error)

    with server.held():
        thread = threading.Thread(target=run)
        begin = time.monotonic()
        thread.start()
        assert server.arrived.wait(30)
        cancellation.cancel()
        cancellation.cancel()
        thread.join(30)
        assert server.left.wait(30)
    assert len(errors) == 1 and "cancelled" in str(errors[0]) and time.monotonic() - begin < 29
    with pytest.raises(Unavailable, match="cancelled"):
        model_client.complete(provider(server), MESSAGES, LIMITS, 100, cancellation)


# -- the test of a provider --------------------------------------------------------------------------------------------


def steps_of(server: ModelServer, **more: str) -> list[tuple[str, bool]]:
    return list(model_client.test(provider(server, **more), LIMITS).steps)


def test_a_good_provider_passes_each_step_and_is_timed(server: ModelServer) -> None:
    server.key, server.reply = KEY, "OK"
    outcome = model_client.test(provider(server), LIMITS, iter([10.0, 10.25]).__next__)
    assert outcome.is_good and outcome.milliseconds == 250
    sentences = [text for text, _ok in outcome.steps]
    assert sentences[1:] == ["The key is accepted.", f"The model {MODEL} is offered.", "The model replied: OK"]
    [body] = server.completions
    assert [each["content"] for each in body["messages"]] == [model_client.TEST_WORDS]


@pytest.mark.parametrize("models", [None, [], [f"{MODEL}:latest"], ["other"]])
def test_a_list_of_models_is_a_help_and_no_condition(server: ModelServer, models: list[str] | None) -> None:
    server.models = models
    assert all(ok for _text, ok in steps_of(server))


def test_an_unknown_model_is_answered_with_the_known_ones(server: ModelServer) -> None:
    server.models = ["larch-1b", "larch-70b"]
    server.answer = 404, {"error": {"message": "The model `larch-7b` does not exist"}}
    steps = steps_of(server)
    assert ("The provider does not list this model. It offers: larch-1b, larch-70b", False) in steps
    assert not steps[-1][1] and "does not know the model" in steps[-1][0]


def test_a_refused_key_ends_the_test(server: ModelServer) -> None:
    server.key = "another"
    [(text, ok)] = steps_of(server)
    assert not ok and "refused the key (401)" in text and KEY not in text
