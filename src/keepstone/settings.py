"""One frozen `Settings`, read once from the environment by a composition root.

Nothing else in Keepstone looks at environment variables. Each field carries the name of its variable and a line of
help; `docs/settings.md` is checked against them.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from keepstone.errors import Misconfigured

LogFormat = Literal["auto", "json", "text"]
EmbeddingsProvider = Literal["builtin", "openai", "none"]
LlmProvider = Literal["openai", "anthropic"]


def _setting(default: Any, env: str, meaning: str, parse: Callable[[str], Any] = str) -> Any:
    return field(default=default, metadata={"env": env, "help": meaning, "parse": parse})


def _flag(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("is neither true nor false")


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("is not a number") from None


def _positive(text: str) -> int:
    number = _number(text)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("is not a number") from None
    if not 0 <= number <= 1:
        raise ValueError("must be from 0 to 1")
    return number


def _pool(text: str) -> int:
    number = _number(text)
    if number < 2:
        raise ValueError("must be at least 2")
    return number


def _port(text: str) -> int:
    number = _number(text)
    if not 0 <= number <= 65535:
        raise ValueError("is not a port (0 to 65535)")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _origins(text: str) -> tuple[str, ...]:
    return tuple(_url(part) for part in _names(text))


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an http(s) address")
    return text.rstrip("/")


def _database_url(text: str) -> str:
    if not text.startswith(("postgres://", "postgresql://")):
        raise ValueError("must begin with postgresql://")
    return text


def _smtp_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("must be smtp:// or smtps:// with a host")
    return text


def _secret(text: str) -> str:
    if len(text) < 32:
        raise ValueError("must have at least 32 characters")
    return text


def _embeddings_provider(text: str) -> EmbeddingsProvider:
    if text not in {"builtin", "openai", "none"}:
        raise ValueError("must be builtin, openai or none")
    return cast("EmbeddingsProvider", text)


def _llm_provider(text: str) -> LlmProvider:
    if text not in {"openai", "anthropic"}:
        raise ValueError("must be openai or anthropic")
    return cast("LlmProvider", text)


def _log_format(text: str) -> LogFormat:
    if text not in {"auto", "json", "text"}:
        raise ValueError("must be auto, json or text")
    return cast("LogFormat", text)


def _log_level(text: str) -> str:
    if text.lower() not in {"debug", "info", "warning", "error"}:
        raise ValueError("must be debug, info, warning or error")
    return text.lower()


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
    home: Path = _setting(
        None, "KEEPSTONE_HOME", "Data folder. Default `~/.keepstone`; as root `/var/lib/keepstone`.", Path
    )
    host: str = _setting("127.0.0.1", "KEEPSTONE_HOST", "Address the server listens on.")
    port: int = _setting(8420, "KEEPSTONE_PORT", "Port the server listens on; 0 takes a free one.", _port)
    public_url: str | None = _setting(
        None,
        "KEEPSTONE_PUBLIC_URL",
        "Address people use when it is not `http://host:port`, such as `https://keepstone.example.org` behind a "
        "reverse proxy. Its host is then accepted, and with https cookies are Secure.",
        _url,
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "KEEPSTONE_ALLOWED_HOSTS",
        "Further host names to answer to, comma-separated. IP addresses, `localhost` and the host of "
        "`KEEPSTONE_PUBLIC_URL` always are.",
        _names,
    )
    cors_origins: tuple[str, ...] = _setting(
        (),
        "KEEPSTONE_CORS_ORIGINS",
        "Web origins that may call the API from a browser, comma-separated.",
        _origins,
    )
    trusted_proxies: tuple[str, ...] = _setting(
        ("127.0.0.1", "::1"),
        "KEEPSTONE_TRUSTED_PROXIES",
        "Addresses whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed, comma-separated.",
        _names,
    )
    database_url: str | None = _setting(
        None,
        "KEEPSTONE_DATABASE_URL",
        "A Postgres (15 or newer, pgvector 0.7 or newer) to use instead of the embedded one.",
        _database_url,
    )
    app_database_url: str | None = _setting(
        None,
        "KEEPSTONE_APP_DATABASE_URL",
        "How the server logs in to that Postgres, as `keepstone_app`, where its way is another than the owner's: "
        "through a pooler, or as a role that was made by hand.",
        _database_url,
    )
    database_pool: int = _setting(
        10, "KEEPSTONE_DATABASE_POOL", "Database connections the server keeps at most; 2 or more.", _pool
    )
    redis_url: str | None = _setting(
        None,
        "KEEPSTONE_REDIS_URL",
        "A Redis for the working memory of rooms and for rate limits that several servers share; without it Postgres "
        "holds the former, and each server counts for itself.",
    )
    embeddings_provider: EmbeddingsProvider = _setting(
        "builtin",
        "KEEPSTONE_EMBEDDINGS_PROVIDER",
        "`builtin`: MiniLM and a multilingual model on this machine. `openai`: an endpoint that speaks OpenAI's "
        "protocol. `none`: search by terms alone.",
        _embeddings_provider,
    )
    embeddings_base_url: str | None = _setting(
        None, "KEEPSTONE_EMBEDDINGS_BASE_URL", "Address of that endpoint, with its `/v1`.", _url
    )
    embeddings_api_key: str | None = _setting(None, "KEEPSTONE_EMBEDDINGS_API_KEY", "Its key, if it wants one.")
    embeddings_model: str | None = _setting(None, "KEEPSTONE_EMBEDDINGS_MODEL", "The model to ask it for.")
    models_from: Path | None = _setting(
        None,
        "KEEPSTONE_MODELS_FROM",
        "A folder to take the weights of the built-in models from, instead of packages.",
        Path,
    )
    llm_provider: LlmProvider | None = _setting(
        None, "KEEPSTONE_LLM_PROVIDER",
        "A language model: `openai` (or anything that speaks its protocol) or `anthropic`.", _llm_provider,
    )  # fmt: skip
    llm_base_url: str | None = _setting(
        None, "KEEPSTONE_LLM_BASE_URL", "Its address, if it is not the provider's own.", _url
    )
    llm_api_key: str | None = _setting(None, "KEEPSTONE_LLM_API_KEY", "Its key.")
    llm_model: str | None = _setting(None, "KEEPSTONE_LLM_MODEL", "Which model. Default: the provider's small one.")
    inject_relevance: float = _setting(
        0.25,
        "KEEPSTONE_INJECT_RELEVANCE",
        "How relevant a memory has to be, from 0 to 1, to be put before the model at the start of a turn.",
        _share,
    )
    inject_tokens: int = _setting(
        1000, "KEEPSTONE_INJECT_TOKENS", "How many tokens of a prompt such memories may take at most.", _positive
    )
    llm_context: int = _setting(
        32_000,
        "KEEPSTONE_LLM_CONTEXT",
        "Tokens that the model reads at once. A chat of the dashboard that takes 70 % of it is compacted.",
        _positive,
    )
    worker: bool = _setting(
        True,
        "KEEPSTONE_WORKER",
        "Run background jobs inside the server. Off: start `keepstone worker` beside it.",
        _flag,
    )
    worker_concurrency: int = _setting(
        4, "KEEPSTONE_WORKER_CONCURRENCY", "Background jobs that run at the same time.", _positive
    )
    shutdown_seconds: int = _setting(
        20,
        "KEEPSTONE_SHUTDOWN_SECONDS",
        "How long open requests and running jobs may take to finish on stop.",
        _positive,
    )
    smtp_url: str | None = _setting(
        None,
        "KEEPSTONE_SMTP_URL",
        "Mail server for the weekly digest: `smtp://user:password@host:587` (STARTTLS where offered) or `smtps://…`. "
        "Unset: no mail is sent.",
        _smtp_url,
    )
    smtp_from: str = _setting("keepstone@localhost", "KEEPSTONE_SMTP_FROM", "Sender of such mail.")
    default_plan: str = _setting("unlimited", "KEEPSTONE_DEFAULT_PLAN", "Plan of a new account.")
    billing_secret: str | None = _setting(
        None,
        "KEEPSTONE_BILLING_SECRET",
        "Secret that a payment system signs `POST /v1/billing/webhook` with. Unset: there is no such route.",
        _secret,
    )
    upgrade_url: str | None = _setting(
        None,
        "KEEPSTONE_UPGRADE_URL",
        "Where whoever has reached a limit of their plan is sent. Default: `/pricing` of this server.",
        _url,
    )
    max_body_bytes: int = _setting(
        32 * 1024 * 1024, "KEEPSTONE_MAX_BODY_BYTES", "Largest request body that is taken, in bytes.", _positive
    )
    session_days: int = _setting(30, "KEEPSTONE_SESSION_DAYS", "How long a browser stays signed in.", _positive)
    jwt_secret: str | None = _setting(
        None,
        "KEEPSTONE_JWT_SECRET",
        "Secret that signs the server's own JWTs. Default: made once, kept in `KEEPSTONE_HOME`. Several servers on one "
        "database need the same.",
        _secret,
    )
    jwt_minutes: int = _setting(60, "KEEPSTONE_JWT_MINUTES", "How long a JWT from `/auth/token` is good.", _positive)
    oidc_issuer: str | None = _setting(
        None,
        "KEEPSTONE_OIDC_ISSUER",
        "Issuer (`iss`) of foreign JWTs to accept; needs the two settings below.",
        _url,
    )
    oidc_jwks_url: str | None = _setting(None, "KEEPSTONE_OIDC_JWKS_URL", "Where that issuer's signing keys are.", _url)
    oidc_audience: str | None = _setting(
        None, "KEEPSTONE_OIDC_AUDIENCE", "Audience (`aud`) that such a JWT must be for."
    )
    url: str | None = _setting(
        None, "KEEPSTONE_URL", "For `keepstone mcp`: the server to speak to. Default: the one on this machine.", _url
    )
    api_key: str | None = _setting(
        None,
        "KEEPSTONE_API_KEY",
        "For `keepstone mcp`: the key to speak for. Default: the first owner's, if the server is on this machine.",
    )
    log_level: str = _setting("info", "KEEPSTONE_LOG_LEVEL", "debug, info, warning or error.", _log_level)
    log_format: LogFormat = _setting(
        "auto", "KEEPSTONE_LOG_FORMAT", "json, text, or auto: text on a terminal, json elsewhere.", _log_format
    )
    otlp_endpoint: str | None = _setting(
        None,
        "KEEPSTONE_OTLP_ENDPOINT",
        "OpenTelemetry collector (OTLP over HTTP) that traces go to. Unset: nothing leaves the machine.",
        _url,
    )

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


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this environment; a value that can't be used names its variable."""
    values: dict[str, Any] = {}
    for item in fields(Settings):
        env: str = item.metadata["env"]
        text = environ.get(env, "").strip()
        if not text:
            continue
        try:
            values[item.name] = item.metadata["parse"](text)
        except ValueError as fault:
            raise Misconfigured(f"{env} {fault}.") from None
    home: Path = values.pop("home", None) or _default_home()
    settings = Settings(home=home.expanduser().absolute(), **values)
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
    return settings
