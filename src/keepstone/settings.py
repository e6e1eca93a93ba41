"""One frozen `Settings`, read once from the environment by a composition root.

Nothing else in Keepstone looks at environment variables. Each field is named as its variable and carries a line of
help; `docs/settings.md` is checked against them.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from keepstone.errors import Misconfigured

_HUB = re.compile(r"hub:[\w-][\w.-]{0,95}/[\w-][\w.-]{0,95}@[0-9a-f]{40}", re.ASCII)

LogFormat = Literal["auto", "json", "text"]
EmbeddingsProvider = Literal["builtin", "openai", "none"]
LlmProvider = Literal["openai", "anthropic"]
SharedEditing = Literal["makers", "members"]
PassThrough = Literal["stateless", "all", "off"]


def _setting(default: Any, meaning: str, parse: Callable[[str], Any] = str) -> Any:
    return field(default=default, metadata={"help": meaning, "parse": parse})


def variable(name: str) -> str:
    """The environment variable that a setting is read from."""
    return f"KEEPSTONE_{name.upper()}"


def _flag(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("is neither true nor false")


def _number(fits: Callable[[float], bool], problem: str, kind: type[int | float] = int) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError("is not a number") from None
        if not fits(number):
            raise ValueError(problem)
        return number

    return parse


def _at_least(least: int) -> Callable[[str], float]:
    return _number(lambda number: number >= least, f"must be at least {least}")


_share = _number(lambda number: 0 <= number <= 1, "must be from 0 to 1", float)
_port = _number(lambda number: 0 <= number <= 65535, "is not a port (0 to 65535)")


def _text(fits: Callable[[str], bool], problem: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not fits(text):
            raise ValueError(problem)
        return text

    return parse


_database_url = _text(lambda text: text.startswith(("postgres://", "postgresql://")), "must begin with postgresql://")
_redis_url = _text(
    lambda text: text.startswith(("redis://", "rediss://", "unix://")), "must begin with redis://, rediss:// or unix://"
)
_secret = _text(lambda text: len(text) >= 32, "must have at least 32 characters")
_passphrase = _text(lambda text: len(text) >= 12, "must have at least 12 characters")
smtp_address = _text(lambda text: _has_host(text, "smtp", "smtps"), "must be smtp:// or smtps:// with a host")


def _has_host(text: str, *schemes: str) -> bool:
    parts = urlsplit(text)
    return parts.scheme in schemes and bool(parts.hostname)


def _encoder(text: str) -> str:
    if not text.startswith("hub:"):
        return str(Path(text).expanduser().absolute())
    if not _HUB.fullmatch(text):
        raise ValueError(
            "must be a folder, or hub:owner/name@ and the 40 digits of a commit, so that it can't change underfoot"
        )
    return text


def _one_of(*values: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in values:
            raise ValueError(f"must be {', '.join(values[:-1])} or {values[-1]}")
        return text.lower()

    return parse


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _origins(text: str) -> tuple[str, ...]:
    return tuple(http_address(part) for part in _names(text))


def http_address(text: str) -> str:
    if not _has_host(text, "http", "https"):
        raise ValueError("is not an http(s) address")
    return text.rstrip("/")


def _default_home() -> Path:
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/keepstone")
    try:
        return Path.home() / ".keepstone"
    except RuntimeError:
        raise Misconfigured(
            "This user has no home folder: set KEEPSTONE_HOME to a folder Keepstone may write to."
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    home: Path = _setting(None, "Data folder. Default `~/.keepstone`; as root `/var/lib/keepstone`.", Path)
    host: str = _setting("127.0.0.1", "Address the server listens on.")
    port: int = _setting(8420, "Port the server listens on; 0 takes a free one.", _port)
    public_url: str | None = _setting(
        None,
        "Address people use when it is not `http://host:port`, such as `https://keepstone.example.org` behind a "
        "reverse proxy. Its host is then accepted, and with https cookies are Secure.",
        http_address,
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "Further host names to answer to, comma-separated. IP addresses, `localhost` and the host of "
        "`KEEPSTONE_PUBLIC_URL` always are.",
        _names,
    )
    cors_origins: tuple[str, ...] = _setting(
        (), "Web origins that may call the API from a browser, comma-separated.", _origins
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "Addresses of reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, comma-separated. "
        "Nobody's, unless they are named.",
        _names,
    )
    database_url: str | None = _setting(
        None, "A Postgres (15 or newer, pgvector 0.7 or newer) to use instead of the embedded one.", _database_url
    )
    app_database_url: str | None = _setting(
        None,
        "How the server logs in to that Postgres, as `keepstone_app`, where its way is another than the owner's: "
        "through a pooler, or as a role that was made by hand.",
        _database_url,
    )
    database_pool: int = _setting(
        10,
        "Database connections the server keeps at most; 2 or more for each of its processes. One account uses half of "
        "them.",
        _at_least(2),
    )
    database_statement_seconds: int = _setting(
        30, "How long the database works on one statement of a request; then it is stopped.", _at_least(1)
    )
    disk_reserve_mb: int | None = _setting(
        None,
        "Megabytes of the data folder's disk that are kept back: with less, nothing more is stored. Default: 2 % of "
        "the disk, at least 200 and at most 5120; 0: nothing is kept back.",
        _at_least(0),
    )
    resident_mb: int | None = _setting(
        None,
        "Megabytes for the numbers of the spaces that are being asked, which stand in memory so that a search takes "
        "milliseconds; about 1.5 KB a passage. Default: an eighth of the machine's memory; 0: every search goes "
        "through the database.",
        _at_least(0),
    )
    redis_url: str | None = _setting(
        None,
        "A Redis for the working memory of rooms and for rate limits that several servers share; without it Postgres "
        "holds the former, and each server counts for itself.",
        _redis_url,
    )
    embeddings_provider: EmbeddingsProvider = _setting(
        "builtin",
        "`builtin`: an encoder for chats and a multilingual model on this machine. `openai`: an endpoint that speaks "
        "OpenAI's protocol. `none`: search by terms alone.",
        _one_of("builtin", "openai", "none"),
    )
    judge: Literal["builtin", "none"] = _setting(
        "builtin",
        "`builtin`: a small model on this machine judges what replaces what, what answers and what is worth keeping. "
        "`none`: rules alone do. See [trust](trust.md).",
        _one_of("builtin", "none"),
    )
    embeddings_base_url: str | None = _setting(None, "Address of that endpoint, with its `/v1`.", http_address)
    embeddings_api_key: str | None = _setting(None, "Its key, if it wants one.")
    embeddings_model: str | None = _setting(None, "The model to ask it for.")
    encoder: str | None = _setting(
        None,
        "A late-interaction encoder in place of the built-in one: a folder, or `hub:owner/name@commit`. See "
        "[encoders](encoders.md).",
        _encoder,
    )
    hub_url: str = _setting("https://huggingface.co", "Where the latter is fetched from.", http_address)
    hub_token: str | None = _setting(None, "A token to read it with, if it is not open to everybody.")
    models_from: Path | None = _setting(
        None, "A folder to take the weights of the multilingual model from, instead of packages.", Path
    )
    llm_provider: LlmProvider | None = _setting(
        None,
        "A language model: `openai` (or anything that speaks its protocol) or `anthropic`.",
        _one_of("openai", "anthropic"),
    )
    llm_base_url: str | None = _setting(None, "Its address, if it is not the provider's own.", http_address)
    llm_api_key: str | None = _setting(None, "Its key.")
    llm_model: str | None = _setting(None, "Which model. Default: the provider's small one.")
    llm_models: tuple[str, ...] = _setting(
        (),
        "Models that clients of the proxy may name, comma-separated, `*` for any letters: `gpt-4o*,o3-mini`. "
        "`KEEPSTONE_LLM_MODEL` and `KEEPSTONE_EMBEDDINGS_MODEL` always may. Unset: whichever the key opens.",
        _names,
    )
    llm_pass_through: PassThrough = _setting(
        "stateless",
        "What the proxy passes on besides chats: `stateless`, what the provider does and does not keep (completions, "
        "images, audio …), and what it keeps (files, batches …) for admins alone; `all`, that for everybody, who then "
        "share it; `off`, nothing.",
        _one_of("stateless", "all", "off"),
    )
    inject_relevance: float = _setting(
        0.12,
        "How relevant a memory has to be, from 0 to 1, to be put before the model at the start of a turn; in a "
        "workspace of more than 60 memories at least 0.25.",
        _share,
    )
    inject_tokens: int = _setting(1000, "How many tokens of a prompt such memories may take at most.", _at_least(1))
    llm_context: int = _setting(
        32_000,
        "Tokens that the model reads at once. A chat of the dashboard that takes 70 % of it is compacted.",
        _at_least(1),
    )
    processes: int | None = _setting(
        None,
        "Processes that answer requests, behind one port. Default: one for each processor that may be used, as far as "
        "memory allows, and at most 8.",
        _at_least(1),
    )
    worker: bool = _setting(
        True, "Run background jobs inside the server. Off: start `keepstone worker` beside it.", _flag
    )
    worker_concurrency: int = _setting(
        4, "Background jobs that run at the same time, shared between lanes.", _at_least(1)
    )
    drain_seconds: int = _setting(
        0,
        "On SIGTERM, how long `/readyz` answers 503 while everything is still served, before the port is closed: as "
        "long as a load balancer takes to notice. 0: the port is closed at once.",
        _at_least(0),
    )
    shutdown_seconds: int = _setting(
        20, "How long open requests and running jobs may take to finish on stop.", _at_least(1)
    )
    smtp_url: str | None = _setting(
        None,
        "Mail server for the weekly digest: `smtp://user:password@host:587` (STARTTLS where offered) or `smtps://…`. "
        "Unset: no mail is sent.",
        smtp_address,
    )
    smtp_from: str = _setting("keepstone@localhost", "Sender of such mail.")
    default_plan: str = _setting("unlimited", "Plan of a new account.")
    billing_secret: str | None = _setting(
        None,
        "Secret that a payment system signs `POST /v1/billing/webhook` with. Unset: there is no such route.",
        _secret,
    )
    upgrade_url: str | None = _setting(
        None,
        "Where whoever has reached a limit of their plan is sent. Default: `/pricing` of this server.",
        http_address,
    )
    max_body_bytes: int = _setting(32 * 1024 * 1024, "Largest request body that is taken, in bytes.", _at_least(1))
    max_bodies_bytes: int = _setting(
        256 * 1024 * 1024,
        "Bytes that the bodies of all requests together may hold, counting what is made of them; then others get 503. "
        "One account gets at most half.",
        _at_least(1),
    )
    max_import_bytes: int = _setting(
        512 * 1024 * 1024,
        "Largest file that is taken for an import, in bytes. It lies in the database until the import is over.",
        _at_least(1),
    )
    max_connections: int = _setting(
        500,
        "Connections that may be open at once. Then those that wait for a client's request are closed.",
        _at_least(1),
    )
    request_seconds: int = _setting(
        20,
        "How long a client may take to send the headers of a request, and to go on with its body; then 408.",
        _at_least(1),
    )
    shared_editing: SharedEditing = _setting(
        "makers",
        "Who changes and deletes what an account shares (graphs and what is in them, agents, global facts): `makers`, "
        "each their own, and owners everything; or `members`, everybody everything.",
        _one_of("makers", "members"),
    )
    audit_days: int = _setting(730, "How long a line of the audit trail is kept.", _at_least(1))
    trace_days: int = _setting(
        14,
        "How long a trace is kept: what was asked, found and handed out. 0: none are kept.",
        _at_least(0),
    )
    session_days: int = _setting(30, "How long a browser stays signed in at most.", _at_least(1))
    session_idle_days: int = _setting(14, "How long a browser stays signed in that is not used.", _at_least(1))
    require_totp: bool = _setting(
        False,
        "Owners and admins have to set up a second factor: until then, what they sign in to opens nothing else.",
        _flag,
    )
    jwt_secret: str | None = _setting(
        None,
        "Secret that signs the server's own JWTs and opens what it has sealed. Default: made once, kept in "
        "`KEEPSTONE_HOME`. Several servers and workers on one database need the same.",
        _secret,
    )
    jwt_minutes: int = _setting(60, "How long a JWT from `/auth/token` is good.", _at_least(1))
    oidc_issuer: str | None = _setting(
        None, "Issuer (`iss`) of foreign JWTs to accept; needs the two settings below.", http_address
    )
    oidc_jwks_url: str | None = _setting(None, "Where that issuer's signing keys are.", http_address)
    oidc_audience: str | None = _setting(None, "Audience (`aud`) that such a JWT must be for.")
    url: str | None = _setting(
        None, "For `keepstone mcp`: the server to speak to. Default: the one on this machine.", http_address
    )
    api_key: str | None = _setting(
        None, "For `keepstone mcp`: the key to speak for. Default: the first owner's, if the server is on this machine."
    )
    backup_passphrase: str | None = _setting(
        None,
        "For `keepstone backup` and `keepstone restore`: what a backup is encrypted with. Unset: it is not encrypted.",
        _passphrase,
    )
    log_level: str = _setting("info", "debug, info, warning or error.", _one_of("debug", "info", "warning", "error"))
    log_format: LogFormat = _setting(
        "auto", "json, text, or auto: text on a terminal, json elsewhere.", _one_of("auto", "json", "text")
    )
    otlp_endpoint: str | None = _setting(
        None,
        "OpenTelemetry collector (OTLP over HTTP) that traces go to. Unset: nothing leaves the machine.",
        http_address,
    )

    given: frozenset[str] = frozenset()  # which of these the environment had, by their names

    @property
    def base_url(self) -> str:
        """The address to print and to put in links."""
        if self.public_url:
            return self.public_url
        host = "127.0.0.1" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def pricing_url(self) -> str:
        """Where there is more to be had."""
        return self.upgrade_url or f"{self.base_url}/pricing"


def settable() -> list[Field[Any]]:
    """Those that have a variable."""
    return [item for item in fields(Settings) if item.metadata]


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this environment; a value that can't be used names its variable."""
    values: dict[str, Any] = {}
    for item in settable():
        env = variable(item.name)
        text = environ.get(env, "").strip()
        if not text:
            continue
        try:
            values[item.name] = item.metadata["parse"](text)
        except ValueError as fault:
            raise Misconfigured(f"{env} {fault}.") from None
    home: Path = values.pop("home", None) or _default_home()
    settings = Settings(home=home.expanduser().absolute(), **values, given=frozenset(values))
    oidc = (settings.oidc_issuer, settings.oidc_jwks_url, settings.oidc_audience)
    if any(oidc) and not all(oidc):
        raise Misconfigured(
            "KEEPSTONE_OIDC_ISSUER, KEEPSTONE_OIDC_JWKS_URL and KEEPSTONE_OIDC_AUDIENCE go together: set all three or "
            "none."
        )
    if settings.embeddings_provider == "openai" and not (settings.embeddings_base_url and settings.embeddings_model):
        raise Misconfigured(
            "KEEPSTONE_EMBEDDINGS_PROVIDER is openai: set KEEPSTONE_EMBEDDINGS_BASE_URL and KEEPSTONE_EMBEDDINGS_MODEL "
            "too."
        )
    if settings.encoder and settings.embeddings_provider != "builtin":
        raise Misconfigured(
            f"KEEPSTONE_ENCODER is set, and KEEPSTONE_EMBEDDINGS_PROVIDER is {settings.embeddings_provider}: unset one."
        )
    return settings
