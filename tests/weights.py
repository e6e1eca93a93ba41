"""The real weights for tests, fetched once for a machine: a folder under the system's temporary one, by their hash."""

import hashlib
import tempfile
from pathlib import Path

from keepstone.providers.models import CATALOGUE, fetch


def weights() -> Path:
    """Fetching takes a lock and does nothing the second time, so any number of test processes may call this."""
    pinned = "".join(file.sha256 for model in CATALOGUE for file in model.files)
    folder = Path(tempfile.gettempdir(), f"keepstone-test-models-{hashlib.sha256(pinned.encode()).hexdigest()[:16]}")
    fetch(folder, lambda progress: None)
    return folder
