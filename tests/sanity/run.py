"""All of `ansible-test sanity`, without docker, from any checkout.

    .venv/bin/python tests/sanity/run.py                 every test
    .venv/bin/python tests/sanity/run.py --test pep8     only these (may be given more than once)
    .venv/bin/python tests/sanity/run.py plugins/modules/log_diagnose.py

It fails where ansible-test itself would only warn: shellcheck missing, a test that was skipped, a Python that was not found.
Nothing is written into the checkout or the user's home: the collection is copied to a temporary folder, and ansible-test's own
environments live in $KPRO_CACHE_DIR/ansible-test (default /var/cache/kpro-sglang, or ~/.cache/kpro-sglang where that cannot be
written), so that a second run takes seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.metadata
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from copy_collection import copy_collection  # noqa: E402  # tools/ is put on the path above

# Tests that have nothing to look at in this collection: ansible-test says so, and that is no fault.
NOTHING_TO_TEST = {
    "empty-init": "no __init__.py in plugins/modules or tests/unit",
    "pslint": "no PowerShell here",
}
# Tests of ansible-core 2.18 to 2.21. A core with more runs more; one with fewer would be a surprise worth a look.
FEWEST_TESTS = 24
# Oldest and newest target that ansible-test's compile and import tests are run for, where the interpreter is on this machine.
TARGET_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")

# ansible-test fetches get-pip.py from a host of the Ansible project before it fills an environment. Where pip comes with Python there is
# no need to: this file, put where ansible-test caches the download, does the same from the machine's own package index.
GET_PIP = """\
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
sys.exit(subprocess.call([sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "pip=={version}"]))
"""


# Logs as a server wrote them, with carriage returns and bytes that are no text: not ours to put in order, and not in the archive.
RECORDED = re.compile(r"tests/corpus/.*\.(log|txt|json)$|tests/corpus/.*/[^./]+$")


class SanityError(Exception):
    """A reason to stop, in one sentence."""


def cache_folder():
    """Where the environments of ansible-test live; made when missing."""
    for base in (os.environ.get("KPRO_CACHE_DIR") or "/var/cache/kpro-sglang", os.path.expanduser("~/.cache/kpro-sglang")):
        folder = pathlib.Path(base) / "ansible-test"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise SanityError("no cache folder can be written: set KPRO_CACHE_DIR to one that can")


@contextlib.contextmanager
def locked(folder):
    """Only one run at a time may fill the environments of ``folder``."""
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"sanity: waiting for another run that uses {folder}", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def pip_versions():
    """The pip releases that the installed ansible-test asks for, e.g. ``{"24.2"}``: they name the files that it looks for."""
    source = importlib.metadata.distribution("ansible-core").locate_file("ansible_test/_internal/python_requirements.py")
    found = set(re.findall(r"""\bpip['"]?\s*[:=]\s*['"]([0-9.]+)['"]""", pathlib.Path(str(source)).read_text(encoding="utf-8")))
    if not found:
        raise SanityError("the installed ansible-test does not say which pip it wants: pip_versions must learn to read it")
    return found


def write_pip_stand_in(home):
    """Put the get-pip stand-in where ansible-test looks before it downloads."""
    folder = home / ".ansible" / "test" / "cache"
    folder.mkdir(parents=True, exist_ok=True)
    for version in pip_versions():
        (folder / f"get_pip_{version.replace('.', '_')}.py").write_text(GET_PIP.format(version=version), encoding="utf-8")


@contextlib.contextmanager
def pip_settings(home):
    """Hand the caller's pip settings on: ansible-test drops PIP_* variables, and HOME is not the caller's."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    settings = {}
    for line in listed.splitlines():
        key, _equals, value = line.partition("=")
        section, _dot, option = key.rpartition(".")
        if section in ("global", ":env:", "install", "download"):
            settings.setdefault(option, value.strip("'").replace("\\n", "\n    "))
        if section == ":env:":
            settings[option] = value.strip("'").replace("\\n", "\n    ")
    for option in ("config-file", "require-virtualenv", "target", "user", "prefix"):
        settings.pop(option, None)
    path = home / ".config" / "pip" / "pip.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    # An index URL may carry a password: for this run and this user only.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        handle.write("[global]\n" + "".join(f"{option} = {value}\n" for option, value in sorted(settings.items())))
    try:
        yield
    finally:
        path.unlink()


def find_pythons():
    """{"3.9": folder of a working python3.9, ...} here: PATH, then pyenv's versions. pyenv's shims exit 127: passed over."""
    folders = [pathlib.Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    folders += sorted(pathlib.Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser().glob("versions/*/bin"))
    found = {}
    for version in TARGET_PYTHONS:
        for folder in folders:
            program = folder / f"python{version}"
            if folder.name == "shims" or not os.access(program, os.X_OK):
                continue
            probe = subprocess.run([program, "-c", "import ensurepip, venv"], capture_output=True, check=False)
            if probe.returncode == 0:
                found[version] = folder
                break
    return found


def environment(home, pythons):
    """Variables for ansible-test: its own HOME, this environment's programs first, real interpreters instead of shims."""
    folders = [os.path.dirname(sys.executable)]
    folders += [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder and not folder.endswith("/shims")]
    folders += [str(folder) for folder in pythons.values()]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "GIT_", "PYTHON"))}
    env.update(HOME=str(home), PATH=os.pathsep.join(dict.fromkeys(folders)), PYTHONUNBUFFERED="1")
    env.pop("XDG_CONFIG_HOME", None)
    env.pop("VIRTUAL_ENV", None)
    return env


class Watcher:
    """Reads ansible-test's output line by line, shows what matters, and keeps which tests ran, were skipped, or had nothing to test."""

    STARTED = re.compile(r'Running sanity test "([^"]+)"(?: on Python ([0-9.]+))?')
    NOT_FOUND = re.compile(r'Skipping sanity test "[^"]+" on Python ([0-9.]+) because it could not be found')
    # What -v adds and nobody wants to read; -v is needed for "No tests applicable". The log file has all of it.
    NOISE = re.compile(
        r"(Run|Stream|Execute) command|Configured locale|Using (existing|cached|locale)|Created Python"
        r"|WARNING: Using locale|WARNING: Reviewing"
        r"|RLIMIT_|Read \d+ sanity|Loaded configuration|Creating container|Initializing|WARNING: Location|No tests applicable"
    )

    def __init__(self, log):
        self.log, self.current, self.installing = log, None, False
        self.ran, self.skipped, self.empty, self.absent = [], [], [], set()

    def see(self, line):
        """Take one line (str, no newline)."""
        print(line, file=self.log, flush=True)
        text = re.sub(r"\x1b\[[0-9;]*m", "", line)
        started, absent = self.STARTED.search(text), self.NOT_FOUND.search(text)
        urgent = text.startswith(("ERROR", "FATAL"))
        if absent:
            self.absent.add(absent.group(1))
            return
        if started:
            self.current = (started.group(1), started.group(2))
            self.ran.append(self.current)
        elif "No tests applicable" in text:
            self.empty.append(self.current)
        elif text.startswith(("WARNING: Skipping", "Skipping", "WARNING: Required program")):
            self.skipped.append(text)
        if text.startswith("Installing requirements"):
            if not self.installing:
                print("  (filling its environment)", flush=True)
            self.installing = True
        elif started or urgent:
            self.installing = False
        if not self.installing and not self.NOISE.match(text):
            print(text if started else line, flush=True)


def ansible_test(copy, env, argv, watcher):
    """Run ansible-test with ``argv`` in the copy; return its exit status."""
    command = [sys.executable, os.path.join(os.path.dirname(sys.executable), "ansible-test"), "sanity", "--local", "-v", *argv]
    process = subprocess.Popen(command, cwd=copy, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        for raw in process.stdout:
            watcher.see(raw.decode("utf-8", "replace").rstrip("\n"))
        return process.wait()
    except BaseException:
        process.terminate()
        process.wait()
        raise


def list_tests(copy, env):
    """Names of the tests that the installed ansible-test would run by itself."""
    command = [sys.executable, os.path.join(os.path.dirname(sys.executable), "ansible-test"), "sanity", "--local", "--list-tests"]
    listed = subprocess.run(
        command, cwd=copy, env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return listed.stdout.split()


def verdict(wanted, watcher, pythons):
    """Sentences about what should have run and did not. Empty is good."""
    ran = {name for name, _version in watcher.ran}
    faults = [f"the test {name} did not run" for name in wanted if name not in ran]
    for name, version in watcher.empty:
        below = version and int(version.partition(".")[2]) < int(TARGET_PYTHONS[0].partition(".")[2])
        if name not in NOTHING_TO_TEST and not below:
            python = f" on Python {version}" if version else ""
            faults.append(f"the test {name} found nothing to test{python}: are the files ignored by git?")
    for name in ("compile", "import"):
        missing = set(pythons) & (watcher.absent | (set(pythons) - {version for test, version in watcher.ran if test == name}))
        if name in wanted and missing:
            faults.append(f"the test {name} did not run on Python {', '.join(sorted(missing))}")
    return faults + [f"skipped: {line}" for line in watcher.skipped]


def run(arguments):
    """The whole run; returns the exit status."""
    begin = time.monotonic()
    for program, package in (("shellcheck", "shellcheck"), ("git", "git")):
        if not shutil.which(program):
            raise SanityError(f"{program} is missing: install the package {package} (tools/bootstrap.sh does)")
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    core = importlib.metadata.version("ansible-core")
    home = cache_folder()
    with tempfile.TemporaryDirectory(prefix="kpro-sanity-") as folder, locked(home), pip_settings(home):
        write_pip_stand_in(home)
        copy = copy_collection(folder, keep=lambda name: not RECORDED.match(name))
        pythons = find_pythons()
        pythons[own] = pathlib.Path(sys.executable).parent
        env = environment(home, pythons)
        known = list_tests(copy, env)
        if len(known) < FEWEST_TESTS:
            raise SanityError(f"ansible-test of ansible-core {core} lists {len(known)} tests, {FEWEST_TESTS} or more were expected")
        unknown = sorted(set(arguments.test) - set(known))
        if unknown:
            raise SanityError(f"ansible-test has no test named {', '.join(unknown)}; it has: {', '.join(known)}")
        wanted = [name for name in known if not arguments.test or name in arguments.test]
        print(f"sanity: ansible-core {core}, Python {own}, {len(wanted)} of {len(known)} tests, environments in {home}", flush=True)
        chosen = [word for name in wanted for word in ("--test", name)]
        with (home / "last.log").open("w", encoding="utf-8") as log:
            watcher = Watcher(log)
            status = ansible_test(copy, env, [*chosen, *arguments.paths], watcher)
    faults = verdict(wanted, watcher, pythons) if not arguments.paths else []
    names = sorted({name for name, _version in watcher.ran} - {name for name, _version in watcher.empty if name in NOTHING_TO_TEST})
    print(f"sanity: ran {len(names)} tests: {' '.join(names)}")
    if {"compile", "import"} & set(wanted):
        absent = [version for version in TARGET_PYTHONS if version in watcher.absent]
        here = f"compile and import ran for Python {' '.join(sorted(pythons, key=lambda text: int(text[2:])))}"
        print(f"sanity: {here}{f'; not on this machine: {chr(32).join(absent)}' if absent else ''}")
    for name, reason in NOTHING_TO_TEST.items():
        if name in {test for test, _version in watcher.empty}:
            print(f"sanity: {name} had nothing to test ({reason})")
    for fault in faults:
        print(f"sanity: FAULT: {fault}")
    good = status == 0 and not faults
    print(f"sanity: {'passed' if good else 'FAILED'} in {time.monotonic() - begin:.0f} s, full output in {home / 'last.log'}")
    return 0 if good else 1


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--test", action="append", default=[], help="run this test only; may be given more than once")
    parser.add_argument("paths", nargs="*", help="look at these files only, relative to the checkout")
    # So that the temporary folder and the pip settings go, too, when a build machine ends the run.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(143))
    try:
        sys.exit(run(parser.parse_args()))
    except (SanityError, subprocess.CalledProcessError) as error:
        sys.exit(f"sanity: {error}")


if __name__ == "__main__":
    main()
