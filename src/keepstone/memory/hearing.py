"""What the judge says of what people said, for those who keep what is worth it. No transaction is open meanwhile."""

from collections.abc import Iterable

from keepstone.engine.extract.heard import Worth, read_for
from keepstone.services import Services


async def listen(services: Services, texts: Iterable[str]) -> Worth | None:
    """How likely each text, and each sentence of it, is worth keeping, all read at once; None without a judge."""
    if services.judge is None:
        return None
    read: dict[str, None] = {}
    for text in texts:
        read.update(dict.fromkeys(await services.offload.run(len(text), read_for, text)))
    return dict(zip(read, await services.judge.worth_keeping(list(read)) if read else [], strict=True))
