"""The live node for all sandbox tests. Tests run as root on a machine that can raise the sandbox, or fail saying why."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sandbox"))

from kpro_sandbox import namespaces, settings  # noqa: E402


class Node:
    """Runs commands inside the node's namespaces as root, or as another of its users."""

    name = settings.NODE

    def argv(self, argv, user=None):
        """argv of this machine that runs ``argv`` in the node."""
        switch = ["runuser", "-u", user, "--"] if user else []
        return namespaces.enter_argv(*switch, *argv)

    def run(self, argv, stdin=b"", env=None, user=None, cwd=None, timeout=120):
        """Return CompletedProcess with bytes; ``env`` is added to a minimal environment, ``cwd`` is a folder of the node."""
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            **(env or {}),
        }
        full = self.argv(argv, user)
        if cwd:
            full[full.index("--wd=/")] = f"--wd={cwd}"
        return subprocess.run(full, input=stdin, capture_output=True, timeout=timeout, env=environment, check=False)

    def pct(self, *words, **options):
        """Run pct in the node."""
        return self.run(["/usr/sbin/pct", *[str(word) for word in words]], **options)


@pytest.fixture(scope="session")
def node():
    """The node, raised if it is not up."""
    done = subprocess.run([sys.executable, str(ROOT / "sandbox" / "sandbox"), "up"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"the sandbox cannot be raised: {done.stderr.strip()}", pytrace=False)
    return Node()
