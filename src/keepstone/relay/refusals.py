"""What an upstream says instead of an answer, as its clients may see it."""

from dataclasses import replace

from keepstone.errors import UpstreamError
from keepstone.providers.upstream import UpstreamAnswer, where_set
from keepstone.relay.dialects.values import Json, as_object, dumped, loaded

_KEY_REFUSED = frozenset({401, 403})
_KEY_CODE = "upstream_key_refused"


class UpstreamRefusal(UpstreamError):
    """The upstream's own words, with its status."""

    def __init__(self, status: int, error: Json) -> None:
        message = str(error.get("message") or f"The upstream answered {status}.")
        super().__init__(message, code=str(error["code"]) if error.get("code") else None)
        self.status = status
        self.error = {"message": message, **{name: error.get(name) for name in ("type", "param", "code")}}


def visible(answer: UpstreamAnswer, body: bytes, settings: str) -> tuple[UpstreamAnswer, bytes]:
    """As it came; but a refused key is the operator's and not the client's, who would take it for their own: it is the
    upstream's fault, and the upstream's words may quote the key. `settings` is where the upstream was set.
    """
    if answer.status not in _KEY_REFUSED:
        return answer, body
    message = (
        f"The upstream answered {answer.status}: it refused the key of this server, not yours. Its operator has to "
        f"look at {where_set(settings, 'API_KEY')}."
    )
    shown = {"message": message, "type": "server_error", "param": None, "code": _KEY_CODE}
    kept = {name: value for name, value in answer.headers.items() if not name.startswith(("content-", "retry-"))}
    headers = {**kept, "content-type": "application/json", "x-should-retry": "false"}
    return replace(answer, status=502, headers=headers), dumped({"error": shown})


async def refusal_of(answer: UpstreamAnswer, settings: str) -> UpstreamError:
    """An answer that can't be part of a stream."""
    if answer.succeeded:
        return UpstreamError("The upstream was asked for a stream and answered without one.", code="upstream_no_stream")
    answer, body = visible(answer, await answer.read(), settings)
    return UpstreamRefusal(answer.status, as_object((loaded(body) or {}).get("error")))
