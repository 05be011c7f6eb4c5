"""Numbers of Linux system calls for the machines that Pool has filters for. From the kernel's syscall tables."""

from __future__ import annotations

from collections.abc import Mapping

from pool_tools.frozen import frozen

# The same numbers on all architectures.
_NEW = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "openat2": 437, "process_madvise": 440, "mount_setattr": 442,
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}  # fmt: skip


@frozen
class Architecture:
    """audit is the kernel's number of the architecture; numbers are by name, without those that it does not have."""

    audit: int
    numbers: Mapping[str, int]
    x32: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "x86_64": Architecture(
        0xC000003E,
        x32=True,
        numbers={
            **_NEW,
            "open": 2, "ioctl": 16, "socket": 41, "clone": 56, "kill": 62, "fcntl": 72, "truncate": 76, "syslog": 103,
            "rt_sigqueueinfo": 129, "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144,
            "pivot_root": 155, "chroot": 161, "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
            "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
            "tkill": 200, "sched_setaffinity": 203, "tgkill": 234, "kexec_load": 246, "add_key": 248,
            "request_key": 249, "keyctl": 250, "ioprio_set": 251, "migrate_pages": 256, "openat": 257, "unshare": 272,
            "move_pages": 279, "rt_tgsigqueueinfo": 297, "perf_event_open": 298, "prlimit64": 302,
            "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
            "finit_module": 313, "sched_setattr": 314, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
        },
    ),
    "aarch64": Architecture(
        0xC00000B7,
        numbers={
            **_NEW,
            "fcntl": 25, "ioctl": 29, "ioprio_set": 30, "umount2": 39, "mount": 40, "pivot_root": 41, "truncate": 45,
            "chroot": 51, "openat": 56, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104,
            "init_module": 105, "delete_module": 106, "syslog": 116, "sched_setparam": 118, "sched_setscheduler": 119,
            "sched_setaffinity": 122, "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138,
            "setpriority": 140, "reboot": 142, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219,
            "clone": 220, "swapon": 224, "swapoff": 225, "migrate_pages": 238, "move_pages": 239,
            "rt_tgsigqueueinfo": 240, "perf_event_open": 241, "prlimit64": 261, "open_by_handle_at": 265,
            "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "finit_module": 273,
            "sched_setattr": 274, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
        },
    ),
}  # fmt: skip
"""By the machine name that `uname` gives."""
