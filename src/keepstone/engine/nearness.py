"""How near short texts are to a question that stand in no index: facts, and messages of a moment ago.

By the words that they share, the rarer the more, and by meaning where there is an embedder. It orders; it says nothing
of how relevant the first one is.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from keepstone.engine.bm25 import idf
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.terms import terms
from keepstone.errors import UpstreamError
from keepstone.providers.embedder import Floats

MOST_EMBEDDED = 100  # texts: of more than that, those that share the most words
MOST_KNOWN = 2_000  # vectors that are kept, some megabytes
# What stands in no index is asked about again and again. By account, model and a hash of the text: a vector is of the
# very text that it is asked for, and nothing of the text is kept.
_KNOWN: dict[tuple[int, str, bytes], Floats] = {}


async def nearest_first(asked: EmbeddedQuestion, texts: Sequence[str], *, account: int) -> list[int]:
    """The places of these texts of the account's, the nearest first; of those that are equally near, as they came."""
    scores = _shared_words(asked.question.text, texts)
    chosen = sorted(range(len(texts)), key=lambda place: -scores[place])
    meant = await _cosines(asked, [texts[place] for place in chosen[:MOST_EMBEDDED]], account)
    for place, cosine in zip(chosen, meant, strict=False):
        scores[place] += cosine
    return sorted(range(len(texts)), key=lambda place: -scores[place])


def _shared_words(question: str, texts: Sequence[str]) -> list[float]:
    """Of each text the share of the question's terms that stands in it, each as telling as it is rare among them."""
    wanted = list(dict.fromkeys(terms(question)))
    present = [set(terms(text)) for text in texts]
    frequency = Counter(term for own in present for term in own)
    weights = dict(zip(wanted, idf([frequency[term] for term in wanted], len(texts)).tolist(), strict=True))
    total = sum(weights.values()) or 1.0
    return [sum(weights[term] for term in wanted if term in own) / total for own in present]


async def _cosines(asked: EmbeddedQuestion, texts: Sequence[str], account: int) -> list[float]:
    """None where there is no embedder, or it can't be reached."""
    seen_by = sorted(asked.embedded.values(), key=lambda made: not made[0].multilingual)
    if not seen_by or not texts:
        return []
    embedder, question = seen_by[0]
    keys = [(account, embedder.name, hashlib.sha256(text.encode(errors="replace")).digest()) for text in texts]
    vectors = {key: _KNOWN[key] for key in keys if key in _KNOWN}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors}
    try:
        made = await embedder.embed([text[slice(*embedder.cut(text)[0])] for text in missing.values()])
    except UpstreamError:
        return []
    vectors |= {key: embedding.pooled for key, embedding in zip(missing, made, strict=True)}
    for key in dict.fromkeys(keys):  # those asked for last are dropped last
        _KNOWN.pop(key, None)
        _KNOWN[key] = vectors[key]
    while len(_KNOWN) > MOST_KNOWN:
        del _KNOWN[next(iter(_KNOWN))]
    return [float(np.dot(question.pooled, vectors[key])) for key in keys]
