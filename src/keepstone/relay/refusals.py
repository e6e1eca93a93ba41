"""What an upstream says instead of an answer, as its clients may see it."""

from keepstone.errors import UpstreamError
from keepstone.providers.upstream import UpstreamAnswer
from keepstone.relay.dialects.values import Json, as_object, dumped, loaded

KEY_REFUSED = frozenset({401, 403})
_KEY_MESSAGE = "The upstream refused the key of this server: its operator has to look at {}_API_KEY."


class UpstreamRefusal(UpstreamError):
    """The upstream's own words, with its status."""

    def __init__(self, status: int, error: Json) -> None:
        message = str(error.get("message") or f"The upstream answered {status}.")
        super().__init__(message, code=str(error["code"]) if error.get("code") else None)
        self.status = status
        self.error = {"message": message, **{name: error.get(name) for name in ("type", "param", "code")}}


def visible_body(answer: UpstreamAnswer, body: bytes, settings: str = "KEEPSTONE_LLM") -> bytes:
    """As it came; but a refused key is the operator's, and the message may quote it. `settings` is how the names of
    this upstream's settings begin.
    """
    if answer.status not in KEY_REFUSED:
        return body
    error = as_object((loaded(body) or {}).get("error"))
    kind = error.get("type") or "invalid_request_error"
    shown = {"message": _KEY_MESSAGE.format(settings), "type": kind, "param": None, "code": error.get("code")}
    return dumped({"error": shown})


async def refusal_of(answer: UpstreamAnswer) -> UpstreamError:
    """An answer that can't be part of a stream."""
    if answer.succeeded:
        return UpstreamError("The upstream was asked for a stream and answered without one.", code="upstream_no_stream")
    body = visible_body(answer, await answer.read())
    return UpstreamRefusal(answer.status, as_object((loaded(body) or {}).get("error")))
