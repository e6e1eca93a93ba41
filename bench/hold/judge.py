"""What is promised while others attack, and which of it a phase broke. Owns no process and no clock."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bench.figures import percentile

SLOWER = 5.0  # times the p95 of the quiet phase
ALIVE = 0.100  # seconds that /healthz may take
NEVER = float("inf")  # seconds of a request that was refused or not answered
# A reason of the server's own. It is a lie while nobody touches the database.
DATABASE = "database"


@dataclass(frozen=True)
class Reply:
    """An answer of 500 or more, or none (status 0)."""

    route: str
    status: int
    body: str


@dataclass
class Phase:
    """What was met in one phase. Seconds are those of the well-behaved client, by what it did, and of /healthz."""

    name: str
    kills: bool = False  # the server itself was killed: for a while there is nobody to answer
    full: bool = False  # the disk is made out to be nearly full: writes are refused
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    alive: list[float] = field(default_factory=list[float])
    statuses: Counter[int] = field(default_factory=Counter[int])  # of the well-behaved client
    attack: Counter[int] = field(default_factory=Counter[int])
    replies: list[Reply] = field(default_factory=list[Reply])
    peak_mb: float = 0.0

    @property
    def all_seconds(self) -> list[float]:
        return [second for several in self.seconds.values() for second in several]

    def p(self, per_cent: float) -> float:
        return percentile(self.all_seconds, per_cent) if self.all_seconds else NEVER


def true_reason(reply: Reply, phase: Phase) -> bool:
    """Whether an answer of 500 or more says what is the case, in a form that a client can read."""
    try:
        error = json.loads(reply.body)["error"]
        reason = f"{error.get('code')} {error['message']}".lower()
    except (ValueError, KeyError, TypeError):
        return False
    if reply.status == 507:
        return phase.full
    return reply.status == 503 and (phase.kills or DATABASE not in reason)


def faults(phase: Phase) -> list[Reply]:
    """Those that no promise allows. That the killed server does not answer is no fault."""
    return [
        reply for reply in phase.replies if not (reply.status == 0 and phase.kills) and not true_reason(reply, phase)
    ]


def broken(phase: Phase, quiet: Phase) -> list[str]:
    """The promises that this phase broke, as sentences."""
    found: list[str] = []
    if phase.kills:
        pass  # how long it is away is for `bench.crash` to say
    elif not phase.all_seconds:
        found.append("the well-behaved client was never served")
    elif phase.p(95) == NEVER or phase.p(95) > SLOWER * quiet.p(95):
        found.append(f"p95 {shown(phase.p(95))} is more than {SLOWER:.0f} × the quiet {shown(quiet.p(95))}")
    if phase.alive and not phase.kills and max(phase.alive) > ALIVE:
        late = sum(second > ALIVE for second in phase.alive)
        found.append(
            f"/healthz took up to {shown(max(phase.alive))}, {late} of {len(phase.alive)} above {shown(ALIVE)}"
        )
    if phase.full and 507 not in phase.statuses:
        found.append("nothing was refused although the disk was nearly full")
    groups: dict[tuple[str, int, str], int] = Counter(
        (reply.route, reply.status, reply.body.split("request_id")[0][:200]) for reply in faults(phase)
    )
    found += [
        f"{route} answered {status or 'nothing'}, {times} times: {body}"
        for (route, status, body), times in groups.items()
    ]
    return found


def shown(seconds: float) -> str:
    return "never" if seconds == NEVER else f"{seconds * 1000:.0f} ms"


def table(phases: Sequence[Phase]) -> list[str]:
    """A line for each phase, the quiet one first."""
    quiet = phases[0]
    lines = [
        "| phase | requests | p50 | p95 | × quiet | /healthz p95 | max | answers | to the attack | memory |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | ---: |",
    ]
    for phase in phases:
        ratio = NEVER if phase.p(95) == NEVER else phase.p(95) / quiet.p(95)
        alive = phase.alive or [NEVER]
        lines.append(
            f"| {phase.name} | {len(phase.all_seconds)} | {shown(phase.p(50))} | {shown(phase.p(95))} | {ratio:.1f} "
            f"| {shown(percentile(alive, 95))} | {shown(max(alive))} | {counted(phase.statuses)} "
            f"| {counted(phase.attack)} | {phase.peak_mb:.0f} MB |"
        )
    return lines


def counted(statuses: Counter[int]) -> str:
    return ", ".join(f"{times} × {status or 'none'}" for status, times in sorted(statuses.items())) or "none"


def verdict(phases: Sequence[Phase], lost: Iterable[str]) -> list[str]:
    """Every promise that was broken, with its phase."""
    found = [f"{phase.name}: {fault}" for phase in phases for fault in broken(phase, phases[0])]
    return found + [f"acknowledged and lost: {each}" for each in lost]
