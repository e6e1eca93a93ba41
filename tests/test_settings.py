"""Settings: read once, frozen, and a bad one names its variable."""

import dataclasses
from pathlib import Path

import pytest

from cairn.errors import Misconfigured
from cairn.settings import read_settings


def test_without_any_variable_the_defaults_hold() -> None:
    settings = read_settings({"CAIRN_HOME": "/tmp/x"})
    assert (settings.host, settings.port, settings.database_url) == ("127.0.0.1", 8420, None)
    assert settings.base_url == "http://127.0.0.1:8420"
    assert settings.default_plan == "unlimited"
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.port = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("CAIRN_PORT", "eighty", "CAIRN_PORT is not a number"),
        ("CAIRN_DATABASE_POOL", "1", "CAIRN_DATABASE_POOL must be at least 2"),
        ("CAIRN_PORT", "70000", "CAIRN_PORT is not a port"),
        ("CAIRN_WORKER", "maybe", "CAIRN_WORKER is neither true nor false"),
        ("CAIRN_DATABASE_URL", "mysql://x", "CAIRN_DATABASE_URL must begin with postgresql://"),
        ("CAIRN_PUBLIC_URL", "cairn.example.org", "CAIRN_PUBLIC_URL is not an http"),
        ("CAIRN_JWT_SECRET", "short", "CAIRN_JWT_SECRET must have at least 32 characters"),
        ("CAIRN_BILLING_SECRET", "short", "CAIRN_BILLING_SECRET must have at least 32 characters"),
        ("CAIRN_UPGRADE_URL", "pricing", "CAIRN_UPGRADE_URL is not an http"),
        ("CAIRN_LOG_FORMAT", "xml", "CAIRN_LOG_FORMAT must be auto, json or text"),
        ("CAIRN_LOG_LEVEL", "loud", "CAIRN_LOG_LEVEL must be"),
        ("CAIRN_MAX_BODY_BYTES", "0", "CAIRN_MAX_BODY_BYTES must be at least 1"),
        ("CAIRN_OIDC_ISSUER", "https://id.example.org", "go together"),
    ],
)
def test_a_value_that_cant_be_used_names_its_variable(name: str, value: str, told: str) -> None:
    with pytest.raises(Misconfigured, match=told):
        read_settings({"CAIRN_HOME": "/tmp/x", name: value})


def test_an_empty_variable_is_an_unset_one() -> None:
    assert read_settings({"CAIRN_HOME": "/tmp/x", "CAIRN_PORT": " ", "CAIRN_DATABASE_URL": ""}).port == 8420


def test_lists_paths_and_addresses_are_read() -> None:
    settings = read_settings(
        {
            "CAIRN_HOME": "~/memories",
            "CAIRN_ALLOWED_HOSTS": "cairn.lan, memory.lan,",
            "CAIRN_PUBLIC_URL": "https://cairn.example.org/",
            "CAIRN_HOST": "::",
            "CAIRN_WORKER": "off",
        }
    )
    assert settings.home == Path.home() / "memories"
    assert settings.allowed_hosts == ("cairn.lan", "memory.lan")
    assert settings.base_url == "https://cairn.example.org"
    assert settings.worker is False
    assert read_settings({"CAIRN_HOME": "/x", "CAIRN_HOST": "::1", "CAIRN_PORT": "1"}).base_url == "http://[::1]:1"
