"""Settings: read once, frozen, and a bad one names its variable."""

import dataclasses
from pathlib import Path

import pytest

from keepstone.errors import Misconfigured
from keepstone.settings import read_settings


def test_without_any_variable_the_defaults_hold() -> None:
    settings = read_settings({"KEEPSTONE_HOME": "/tmp/x"})
    assert (settings.host, settings.port, settings.database_url) == ("127.0.0.1", 8420, None)
    assert settings.base_url == "http://127.0.0.1:8420"
    assert settings.default_plan == "unlimited"
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.port = 1  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("KEEPSTONE_PORT", "eighty", "KEEPSTONE_PORT is not a number"),
        ("KEEPSTONE_DATABASE_POOL", "1", "KEEPSTONE_DATABASE_POOL must be at least 2"),
        ("KEEPSTONE_PORT", "70000", "KEEPSTONE_PORT is not a port"),
        ("KEEPSTONE_WORKER", "maybe", "KEEPSTONE_WORKER is neither true nor false"),
        ("KEEPSTONE_DATABASE_URL", "mysql://x", "KEEPSTONE_DATABASE_URL must begin with postgresql://"),
        ("KEEPSTONE_PUBLIC_URL", "keepstone.example.org", "KEEPSTONE_PUBLIC_URL is not an http"),
        ("KEEPSTONE_JWT_SECRET", "short", "KEEPSTONE_JWT_SECRET must have at least 32 characters"),
        ("KEEPSTONE_BILLING_SECRET", "short", "KEEPSTONE_BILLING_SECRET must have at least 32 characters"),
        ("KEEPSTONE_UPGRADE_URL", "pricing", "KEEPSTONE_UPGRADE_URL is not an http"),
        ("KEEPSTONE_LOG_FORMAT", "xml", "KEEPSTONE_LOG_FORMAT must be auto, json or text"),
        ("KEEPSTONE_LOG_LEVEL", "loud", "KEEPSTONE_LOG_LEVEL must be"),
        ("KEEPSTONE_MAX_BODY_BYTES", "0", "KEEPSTONE_MAX_BODY_BYTES must be at least 1"),
        ("KEEPSTONE_OIDC_ISSUER", "https://id.example.org", "go together"),
    ],
)
def test_a_value_that_cant_be_used_names_its_variable(name: str, value: str, told: str) -> None:
    with pytest.raises(Misconfigured, match=told):
        read_settings({"KEEPSTONE_HOME": "/tmp/x", name: value})


def test_an_empty_variable_is_an_unset_one() -> None:
    assert read_settings({"KEEPSTONE_HOME": "/tmp/x", "KEEPSTONE_PORT": " ", "KEEPSTONE_DATABASE_URL": ""}).port == 8420


def test_lists_paths_and_addresses_are_read() -> None:
    settings = read_settings(
        {
            "KEEPSTONE_HOME": "~/memories",
            "KEEPSTONE_ALLOWED_HOSTS": "keepstone.lan, memory.lan,",
            "KEEPSTONE_PUBLIC_URL": "https://keepstone.example.org/",
            "KEEPSTONE_HOST": "::",
            "KEEPSTONE_WORKER": "off",
        }
    )
    assert settings.home == Path.home() / "memories"
    assert settings.allowed_hosts == ("keepstone.lan", "memory.lan")
    assert settings.base_url == "https://keepstone.example.org"
    assert settings.worker is False
    assert (
        read_settings({"KEEPSTONE_HOME": "/x", "KEEPSTONE_HOST": "::1", "KEEPSTONE_PORT": "1"}).base_url
        == "http://[::1]:1"
    )
