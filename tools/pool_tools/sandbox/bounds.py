"""How much one command may use, as limits of the kernel."""

from __future__ import annotations

import resource

from pool_tools.frozen import frozen

FILE_BYTES = 8 * 1024**3
PROCESSES = 4_096
OPEN_FILES = 65_536

OOM_SCORE = 1_000
"""`oom_score_adj` of commands: where memory runs out, the kernel ends them before anything else."""

_ULIMIT_BLOCK_BYTES = 512


MEMORY_KEPT_FOR_SERVER = 4 * 1024**3
"""What `memory_kept` should be where the model's server runs on this machine."""


@frozen
class Bounds:
    """file_bytes: largest file that a command can write. processes: threads and processes of one call; the kernel does
    not count root's, the watch does. open_files: descriptors of one process, at most. memory_kept: bytes of memory that
    commands must leave to other programs, 0 for no such limit.
    """

    file_bytes: int = FILE_BYTES
    processes: int = PROCESSES
    open_files: int = OPEN_FILES
    memory_kept: int = 0

    def resources(self) -> list[tuple[int, int, int]]:
        """Number of the resource, soft and hard limit; never above what this process has."""
        files = _at_most(resource.RLIMIT_NOFILE, self.open_files)
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        size = _at_most(resource.RLIMIT_FSIZE, self.file_bytes)
        return [
            (resource.RLIMIT_FSIZE, size, size),
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_NOFILE, min(_finite(soft, files), files), files),
        ]

    def processes_outside(self) -> tuple[int, int, int]:
        """`processes` where the kernel counts everything that the user has running: outside a user namespace."""
        most = _at_most(resource.RLIMIT_NPROC, threads_running() + self.processes)
        return resource.RLIMIT_NPROC, most, most

    def shell(self) -> str:
        """The same as commands for sh, to be run inside a user namespace, where processes are counted anew."""
        (_, size, _), _, (_, soft, hard) = self.resources()
        processes = _at_most(resource.RLIMIT_NPROC, self.processes)
        # dash calls the number of processes -p, other shells -u. Blocks are of 512 bytes wherever sh is POSIX.
        return (
            f"ulimit -f {size // _ULIMIT_BLOCK_BYTES}; ulimit -c 0; ulimit -Sn {soft}; ulimit -Hn {hard}; "
            f"ulimit -u {processes} 2>/dev/null || ulimit -p {processes} 2>/dev/null; "
            f"echo {OOM_SCORE} 2>/dev/null >/proc/self/oom_score_adj"
        )


def _at_most(number: int, wanted: int) -> int:
    return min(_finite(resource.getrlimit(number)[1], wanted), wanted)


def _finite(limit: int, instead: int) -> int:
    return instead if limit == resource.RLIM_INFINITY else limit


def threads_running() -> int:
    """Threads on this machine, 0 where that is not told."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0
