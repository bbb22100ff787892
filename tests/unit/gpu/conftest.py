"""The sandbox's NVML as a fixture, and a scripted nvidia-smi."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
COLLECTIONS = ROOT / ".collections"


@pytest.fixture(scope="session")
def gpu_build(tmp_path_factory):
    """Folder with the compiled libnvidia-ml.so.1 and nvidia-smi."""
    out = tmp_path_factory.mktemp("gpu-build")
    done = subprocess.run([str(ROOT / "sandbox/gpu/build.sh"), str(out)], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr == "", "the compiler had warnings"
    return out


class FakeGpu:
    """Two cards by default: a state file, a /dev folder, and ways to ask."""

    def __init__(self, build, folder):
        self.build = build
        self.state_file = folder / "state"
        self.dev = folder / "dev"
        self.holders = folder / "state.holders"
        self.dev.mkdir()
        for name in ("nvidiactl", "nvidia0", "nvidia1", "nvidia-uvm"):
            (self.dev / name).touch()
        self.env = {
            "PATH": f"{build}:/usr/bin:/bin",
            "LD_LIBRARY_PATH": str(build),
            "KPRO_SANDBOX_GPU_STATE": str(self.state_file),
            "KPRO_SANDBOX_GPU_DEV": str(self.dev),
            "LC_ALL": "C.UTF-8",
        }

    def state(self, text):
        self.state_file.write_text(text)

    def smi(self, *arguments):
        return subprocess.run([str(self.build / "nvidia-smi"), *arguments], capture_output=True, text=True, env=self.env, check=False)

    def python(self, code, *arguments):
        """Run ``code`` in a Python of its own (the library loads once per process) and return what it printed, from JSON."""
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            env={**self.env, "PYTHONPATH": str(COLLECTIONS)},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def facts(self, **options):
        """gather() in a process of its own, over this /dev; a KproError comes back as {"error", "result"}."""
        code = """
import json, sys
from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.devices import Nodes
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.facts import gather
options = json.loads(sys.argv[1])
try:
    print(json.dumps(gather(nodes=Nodes(root=sys.argv[2] + "/..", dev=sys.argv[2]), kmsg="/dev/null", **options)))
except KproError as error:
    print(json.dumps({"error": error.message, "result": error.result}))
"""
        return self.python(code, json.dumps(options), str(self.dev))

    def hold(self, gpu, mib, name="holder"):
        """Start a process that holds ``mib`` of card ``gpu`` until it ends; returns the Popen once it holds."""
        self.holders.mkdir(exist_ok=True)
        code = """
import fcntl, sys, time
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
file.write(f"hold gpu={sys.argv[2]} used={sys.argv[3]}\\n")
file.flush()
print("held", flush=True)
time.sleep(600)
"""
        process = subprocess.Popen([sys.executable, "-c", code, str(self.holders / name), str(gpu), str(mib)], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"held\n"
        return process


@pytest.fixture
def fake_gpu(gpu_build, tmp_path):
    return FakeGpu(gpu_build, tmp_path)


@pytest.fixture
def scripted_smi(tmp_path):
    """Return a function (answers) -> path of an nvidia-smi; answers: list of (beginning of the first argument, output, rc)."""

    def make(answers, name="nvidia-smi"):
        script = tmp_path / name
        lines = ["#!/bin/sh", f'echo "$*" >> {tmp_path}/calls', 'case "$*" in']
        for number, (beginning, output, rc) in enumerate(answers):
            answer = tmp_path / f"answer{number}"
            answer.write_text(output)
            lines.append(f"'{beginning}'*) cat {answer}; exit {rc};;")
        lines += ["esac", "echo \"ERROR: Option $1 is not recognized. Please run 'nvidia-smi -h'.\"", "exit 255"]
        script.write_text("\n".join(lines) + "\n")
        script.chmod(0o755)
        return str(script)

    make.calls = lambda: (tmp_path / "calls").read_text().splitlines()
    return make


@pytest.fixture
def nodes(tmp_path):
    """Return a function (*names, **files) -> devices.Nodes over made-up /dev entries and files of /proc and /run."""
    from ansible_collections.kpro.sglang.plugins.module_utils._gpu.devices import Nodes

    def make(*names, files=None, modes=None):
        root = tmp_path / "root"
        for folder in ("dev", "proc/driver/nvidia", "run/systemd"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            (root / "dev" / name).touch()
        for path, text in (files or {}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        for name, mode in (modes or {}).items():
            os.chmod(root / "dev" / name, mode)
        return Nodes(root=str(root))

    return make
