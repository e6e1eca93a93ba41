"""How often a job is tried again; and that while the disk is nearly full, jobs that store something wait for room
instead of failing for good.
"""

import procrastinate
from procrastinate.jobs import Job

from keepstone.disk import Disk
from keepstone.errors import DiskFull

# They make room, or need none.
FREEING = frozenset(
    {
        "erase_user", "purge_memories", "purge_expired_items", "remove_old_jobs", "forget_expired_logins",
        "forget_space_changes", "drop_unused_indexes", "clear_space", "expire_imports",
    }
)  # fmt: skip
_UNTIL_ROOM = 60  # seconds


class _Patient(procrastinate.RetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> procrastinate.RetryDecision | None:
        if isinstance(exception, DiskFull):
            return procrastinate.RetryDecision(retry_in={"seconds": _UNTIL_ROOM})
        return super().get_retry_decision(exception=exception, job=job)


# Waits 2, 4, 8 … seconds, about a day in all; then the job has failed and `keepstone jobs` shows it.
RETRY = _Patient(max_attempts=15, exponential_wait=2)
# What is scheduled every few minutes waits no longer than for its next turn; an hour of failures is one failed job.
RETRY_SOON = _Patient(max_attempts=60, wait=60)


def require_disk(disk: Disk, task: str) -> None:
    """Refuse what would store something on a disk that is nearly full: it is tried again in a minute, and again."""
    if task not in FREEING:
        disk.require_room()
