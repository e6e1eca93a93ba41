"""Keys of providers, sealed: what lies in the database, in its dumps and in its replicas opens nothing without the file
`providers-key` of `KEEPSTONE_HOME`; or, where `KEEPSTONE_JWT_SECRET` is set, without that, so that several servers open
the same.

A seal is bound to the provider's name, kind and address. Whoever can write to the database can't have a key sent
elsewhere, nor make one provider's key another's.
"""

import base64
import hmac
import json
import os
from contextlib import suppress
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from keepstone.errors import Misconfigured
from keepstone.home import secret
from keepstone.model.provider import Provider
from keepstone.settings import Settings

_FILE = "providers-key"
_NONCE = 12  # bytes, as the mode has it
_SHOWN = 4  # letters of a key, so that people can tell one from another
_LONG_ENOUGH = 16  # letters; of a shorter one four are too many


class SealBroken(Exception):
    """It was sealed for something else, or with another file."""


def seal(settings: Settings, provider: Provider, key: str) -> str:
    nonce = os.urandom(_NONCE)
    cipher = _shared(settings) or _own(settings)
    return base64.b64encode(nonce + cipher.encrypt(nonce, key.encode(), _bound(provider))).decode()


def unseal(settings: Settings, provider: Provider) -> str | None:
    """The key; None where there is none. It may have been sealed before the servers shared a secret."""
    if provider.sealed is None:
        return None
    try:
        data = base64.b64decode(provider.sealed, validate=True)
        shared = _shared(settings)
        if shared is not None:
            with suppress(InvalidTag):
                return shared.decrypt(data[:_NONCE], data[_NONCE:], _bound(provider)).decode()
        return _own(settings).decrypt(data[:_NONCE], data[_NONCE:], _bound(provider)).decode()
    except (InvalidTag, ValueError, Misconfigured):
        raise SealBroken from None


def hint(key: str) -> str | None:
    return key[-_SHOWN:] if len(key) >= _LONG_ENOUGH else None


def _own(settings: Settings) -> AESGCM:
    # The file has letters; a hash makes 256 bits of them. They are random, so nothing slower is needed.
    return AESGCM(sha256(secret(settings.home, _FILE).encode()).digest())


def _shared(settings: Settings) -> AESGCM | None:
    if settings.jwt_secret is None:
        return None
    return AESGCM(hmac.digest(settings.jwt_secret.encode(), b"keys of providers", "sha256"))


def _bound(provider: Provider) -> bytes:
    return json.dumps(provider.bound_to).encode()
