"""Running programs for the sandbox: one place, so that every failure names the command and its own words."""

from __future__ import annotations

import subprocess
import sys


class SandboxError(Exception):
    """The sandbox cannot go on; the text is one sentence for a person."""


def say(text):
    """Tell the person at the terminal what is being done."""
    print(f"sandbox: {text}", file=sys.stderr, flush=True)


def run(*argv, check=True, stdin=None, timeout=600, env=None):
    """Run ``argv``; return CompletedProcess with text output. With ``check`` a failure raises SandboxError."""
    argv = [str(word) for word in argv]
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            text=True,
            errors="replace",
            capture_output=True,
            timeout=timeout,
            env=env,
            check=False,
        )
    except FileNotFoundError as error:
        raise SandboxError(f"{argv[0]} is not installed (run tools/bootstrap.sh)") from error
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{_shown(argv)} did not end within {timeout} s") from error
    if check and done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise SandboxError(f"{_shown(argv)} failed ({done.returncode}): {' | '.join(words[-4:]) or 'no output'}")
    return done


def _shown(argv):
    text = " ".join(" ".join(argv).split())
    return text if len(text) <= 160 else text[:100] + " … " + text[-50:]


def works(*argv, timeout=30):
    """True when the command exits 0."""
    return run(*argv, check=False, timeout=timeout).returncode == 0
