"""What newer texts are to older ones, by their words (`engine/judge.py`) and by the model that has learned to judge.
Callers find the pairs, and hold no transaction meanwhile.
"""

from collections.abc import Sequence

from keepstone.engine.judge import WHOLE, Judgement, Pair, read_pairs, weighed
from keepstone.services import Services


async def judge_pairs(services: Services, pairs: Sequence[Pair], *, awaited: bool = True) -> list[Judgement]:
    """What each newer text is to its older one, in their order. What nobody waits for steps back."""
    size = sum(min(len(older), WHOLE) + min(len(newer), WHOLE) for older, newer in pairs)
    read = await services.offload.run(size, read_pairs, pairs)
    judgements = [judgement for judgement, _ in read]
    undecided = [place for place, (_, decided) in enumerate(read) if not decided]
    if services.judge is not None and undecided:
        chances = await services.judge.relations([pairs[place] for place in undecided], awaited=awaited)
        for place, chance in zip(undecided, chances, strict=True):
            judgements[place] = weighed(judgements[place], *pairs[place], chance)
    return judgements
