"""Running playbooks against the sandbox as a user would, and looking at its guest."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUTPUT = ROOT / "tests" / "output" / "sandbox"
GUEST = 129


class Played:
    """One finished ansible-playbook: rc, out (stdout and stderr), seconds, recap {host: {changed: 0, …}}."""

    def __init__(self, rc, out, seconds):
        self.rc = rc
        self.out = out
        self.seconds = seconds
        self.recap = {
            line.split(":", 1)[0].strip(): {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
            for line in out.splitlines()
            if re.match(r"\S+\s+: ok=\d+", line)
        }

    @property
    def changed(self):
        return sum(values["changed"] for values in self.recap.values())


def environment():
    """The environment of a user who activated .venv: no settings of another project."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")}
    return {**kept, "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"}


class Player:
    """Runs playbooks from the checkout root and keeps what they printed as files."""

    def __init__(self, name):
        self.folder = OUTPUT / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def _variables(self, variables):
        if not variables:
            return []
        path = self.folder / f"variables-{self.count}.json"
        path.write_text(json.dumps(variables))
        return ["-e", f"@{path}"]

    def start(self, playbook, *words, variables=None):
        """Start in the background; returns Popen with the output file as attribute ``log``."""
        self.count += 1
        log = self.folder / f"play-{self.count}.log"
        stream = log.open("w")
        argv = ["ansible-playbook", playbook, "-l", "kpro5", *words, *self._variables(variables)]
        process = subprocess.Popen(argv, cwd=ROOT, env=environment(), stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        process.log = log
        return process

    def run(self, playbook, *words, variables=None, timeout=900):
        """Run to the end and return Played."""
        begin = time.monotonic()
        process = self.start(playbook, *words, variables=variables)
        process.wait(timeout)
        return Played(process.returncode, process.log.read_text(), time.monotonic() - begin)


class Guest:
    """Guest 129 seen from its node."""

    def __init__(self, node, vmid=GUEST):
        self.node = node
        self.vmid = vmid

    def run(self, *argv, **options):
        """Run argv in the guest; returns CompletedProcess with bytes."""
        return self.node.pct("exec", self.vmid, "--keep-env", "0", "--", *argv, **options)

    def sh(self, script, **options):
        """Run a script in the guest and return its output; it must succeed."""
        done = self.run("sh", "-c", script, **options)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def identity(self, server="main"):
        """(MainPID, InvocationID, start ticks): the same before and after means the same process."""
        text = self.sh(f"systemctl show sglang-{server} -p MainPID,InvocationID")
        values = dict(line.split("=", 1) for line in text.splitlines())
        pid = values["MainPID"]
        ticks = self.sh(f"cat /proc/{pid}/stat").rpartition(")")[2].split()[19]
        return pid, values["InvocationID"], ticks


CPU_ARGS = {
    "device": "cpu",
    "attention-backend": "torch_native",
    "grammar-backend": "none",
    "max-total-tokens": 4096,
    "max-running-requests": 2,
    "sleep-on-idle": True,
}


def server(name="main", port=30000, **changes):
    """One entry of sglang_servers for SGLang on the processor; ``args`` are added to the usual ones."""
    args = {**CPU_ARGS, **changes.pop("args", {})}
    return {"name": name, "port": port, "model": "/models/tiny-qwen3", "environment": {"SGLANG_USE_CPU_ENGINE": 1}, "args": args, **changes}
