"""The process that reads a file: what it gives up before, and what it has loaded until then."""

import codecs
import os
import pkgutil
import resource
from contextlib import suppress
from importlib import import_module
from typing import Any

_LIMITS = (
    (resource.RLIMIT_AS, 1 << 30),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
)
_STEP_BACK = 10  # niceness
# What each kind takes. It is loaded when the limits hold, and no other: most of what a small file costs is loading.
_LIBRARIES = {
    "html": ("lxml.etree",),
    "docx": ("lxml.etree",),
    "xlsx": ("lxml.etree",),
    "pptx": ("lxml.etree",),
    "epub": ("lxml.etree",),
    "eml": ("lxml.etree", "email"),
    "csv": ("csv",),
    "pdf": ("pypdf",),
}
# What pypdf, zipfile and email may decode with, beside what Python has at hand.
_CODECS = """
    ascii latin-1 charmap cp437 cp866 cp874 cp932 cp949 cp950 gb2312 gb18030 gbk hz big5 big5hkscs utf-7 utf-16
    utf-16-be utf-16-le utf-32 euc_jp euc_kr shift_jis iso2022_jp koi8-r koi8-u cp1250 cp1251 cp1252 cp1253 cp1254
    cp1255 cp1256 cp1257 cp1258 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9
    iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16
"""


def library(name: str) -> Any:
    """One that was loaded: what it gives is not typed."""
    return import_module(name)


def limit(kind: str) -> None:
    """Give up what no parser needs. After this no file can be opened and no connection made, not even by a library."""
    os.nice(_STEP_BACK)
    for what, most in _LIMITS:
        _lower(what, most)
    for name in _LIBRARIES[kind]:
        loaded = import_module(name)
        for module in pkgutil.walk_packages(getattr(loaded, "__path__", ()), f"{loaded.__name__}."):
            with suppress(ImportError):  # of what it can do without
                import_module(module.name)
    for name in _CODECS.split():
        codecs.lookup(name)
    _lower(resource.RLIMIT_NOFILE, 0)


def _lower(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):  # not every system has every limit
        resource.setrlimit(what, (allowed, allowed))
