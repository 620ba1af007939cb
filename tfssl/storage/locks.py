"""One process at a time: a lock that ends with the process that holds it, however that ends."""

import contextlib
import fcntl
import os
from pathlib import Path

from tfssl.errors import InputError


@contextlib.contextmanager
def locked(path, what):
    """Hold the lock file `path`, or fail at once if another process does.

    The kernel gives the lock up when its process ends, so a killed one blocks nobody; its file may
    stay and means nothing.

    Args:
      path: the lock file, in a folder that exists.
      what: what it stands for, such as "the run runs/a".
    """
    path = Path(path)
    file = _take(path, what)
    try:
        yield
    finally:
        # While it is still held: the next process must not lock a file that is about to go.
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(file)


def _take(path, what):
    """The file descriptor that holds the lock."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}.") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its last holder may have removed the file since it was opened.
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BlockingIOError:
            os.close(file)
            raise InputError(
                f"another process is working on {what}. Wait until it has ended."
            ) from None
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(file)
            raise InputError(f"cannot lock {path}: {error.strerror}.") from None
        os.close(file)
