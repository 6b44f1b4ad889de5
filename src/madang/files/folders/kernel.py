"""System calls that Python does not have: open beneath a directory, rename without replacing, sync a disk, and more."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache

_SYS_OPENAT2 = 437  # the same number on every architecture
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_RENAME_NOREPLACE = 1
_UNSUPPORTED = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def directory_flags() -> int:
    """Return how a directory is opened."""
    return os.O_RDONLY | os.O_DIRECTORY


def reading_flags() -> int:
    """Return how a file is opened for reading. Not blocking: to open a pipe would wait for a writer."""
    return os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY


def open_beneath(folder_fd: int, names: tuple[str, ...], flags: int) -> int:
    """Open what is at `names` below a directory; no name on the way, nor the last one, may be a symbolic link.

    The kernel does it in one step where it can (`openat2`, Linux 5.6), so that no directory can be swapped for a
    link in between (TOCTOU); elsewhere each name is opened from the directory before it, where a swap has no effect.

    Raises:
        OSError: with ELOOP or ENOTDIR where there is a link.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    fd = _openat2(folder_fd, "/".join(names) or ".", flags)
    return fd if fd is not None else walk_beneath(folder_fd, names, flags)


def walk_beneath(folder_fd: int, names: tuple[str, ...], flags: int) -> int:
    """Do the same name by name."""
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    at = os.dup(folder_fd)
    try:
        for name in names[:-1]:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        return os.open(names[-1] if names else ".", flags, dir_fd=at)
    finally:
        os.close(at)


def rename_new(from_fd: int, from_name: str, to_fd: int, to_name: str) -> None:
    """Rename without replacing anything.

    Raises:
        FileExistsError: something is there.
    """
    if sys.platform == "linux" and hasattr(_libc(), "renameat2"):
        result = _libc().renameat2(from_fd, os.fsencode(from_name), to_fd, os.fsencode(to_name), _RENAME_NOREPLACE)
        if result == 0:
            return
        number = ctypes.get_errno()
        if number not in _UNSUPPORTED:
            raise OSError(number, os.strerror(number), to_name)
    # A second name for the file, then without the first: the kernel refuses the second if it is taken.
    os.link(from_name, to_name, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
    os.unlink(from_name, dir_fd=from_fd)


def sync_disk(fd: int) -> None:
    """Write all of a file system to its disk: for many files, far cheaper than one after the other."""
    if sys.platform == "linux" and hasattr(_libc(), "syncfs"):
        if _libc().syncfs(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    elif sys.platform != "win32":
        os.sync()


def write_all(fd: int, data: bytes) -> None:
    """Write all of the data, in as many steps as the system needs."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _openat2(folder_fd: int, path: str, flags: int) -> int | None:
    """Return a descriptor, or None where this kernel (or a filter in front of it) does not know the call."""
    if sys.platform != "linux":
        return None
    how = _OpenHow(flags, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    while True:
        fd: int = _libc().syscall(_SYS_OPENAT2, folder_fd, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number == errno.EAGAIN:
            continue  # a concurrent rename: the kernel asks for a retry
        if number in _UNSUPPORTED:
            return None
        raise OSError(number, os.strerror(number), path)


def descriptor_path(fd: int) -> str:
    """Return a path that leads to a directory by its descriptor, whatever its name is by then."""
    if sys.platform == "linux":
        return f"/proc/self/fd/{fd}"
    import fcntl

    return fcntl.fcntl(fd, 50, b"\0" * 1024).rstrip(b"\0").decode()  # F_GETPATH of macOS
