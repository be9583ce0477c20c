# SPDX-License-Identifier: BSD-3-Clause
"""A disk small enough to be filled."""

import contextlib
import os
import shutil
import subprocess
import tempfile

from lib.runner import Skip


@contextlib.contextmanager
def small_disk(size):
    """A home directory whose `data` is a tmpfs of that size; unmounted and removed at the end."""
    if os.geteuid() != 0:
        raise Skip("needs root to mount a small disk")
    home = tempfile.mkdtemp(prefix="coffer-test-")
    path = os.path.join(home, "data")
    os.mkdir(path)
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise Skip(f"cannot mount a tmpfs: {done.stderr.decode().strip()}")
        yield home
    finally:
        subprocess.run(["umount", "-l", path], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(home, ignore_errors=True)
