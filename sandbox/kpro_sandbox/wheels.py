"""The offline wheel directory: every package of SGLang on the CPU for the guest's Python, plus one wheel of stand-ins."""

from __future__ import annotations

import hashlib
import pathlib
import sys
import zipfile

from . import settings
from .shell import SandboxError, run, say

LOCK = settings.CHECKOUT / "sandbox" / "wheels" / "sglang-cpu.txt"
_SHIMS = settings.CHECKOUT / "sandbox" / "wheels" / "shims"
_GUEST_PYTHON = "3.11"
_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (36, 35, 34, 31, 28, 27, 26, 24, 17, 12, 5)] + [
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
]


def ensure():
    """Download what is missing (600 MB the first time) and build the stand-ins."""
    settings.WHEELS.mkdir(parents=True, exist_ok=True)
    _write_lock()
    _build_shims()
    stamp = settings.WHEELS / ".complete"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text().split()[:1] == [wanted] and _all_there(stamp):
        return
    say(f"downloading the packages of SGLang on the CPU into {settings.WHEELS} (600 MB the first time)")
    platforms = [word for name in _PLATFORMS for word in ("--platform", name)]
    run(
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--python-version",
        _GUEST_PYTHON,
        "--implementation",
        "cp",
        *platforms,
        "--dest",
        settings.WHEELS,
        "--requirement",
        LOCK,
        timeout=3600,
    )
    _check_torch()
    names = sorted(path.name for path in settings.WHEELS.glob("*.whl"))
    part = stamp.with_suffix(".part")
    part.write_text("\n".join([wanted, *names]) + "\n")
    part.rename(stamp)


def _write_lock():
    """The lock that the sandbox's inventory names: every package of the environment, the stand-ins included."""
    pins = [line for line in LOCK.read_text().splitlines() if line and not line.startswith("#")]
    (settings.STATE / "sglang-cpu.txt").write_text("\n".join([*pins, "kpro-sandbox-shims==1.0"]) + "\n")


def _all_there(stamp):
    return all((settings.WHEELS / name).exists() for name in stamp.read_text().split()[1:])


def _check_torch():
    builds = [path.name for path in settings.WHEELS.glob("torch-*.whl")]
    if not any("+cpu" in name for name in builds):
        raise SandboxError(
            f"the package index gave {builds[0] if builds else 'no torch'}, which needs CUDA's libraries; the sandbox needs the CPU "
            f"build of the same release: set PIP_EXTRA_INDEX_URL to an index of CPU builds, or put the wheel into {settings.WHEELS}"
        )


def _build_shims():
    """One pure-Python wheel from sandbox/wheels/shims; the same bytes every time."""
    target = settings.WHEELS / "kpro_sandbox_shims-1.0-py3-none-any.whl"
    info = "kpro_sandbox_shims-1.0.dist-info"
    files = {str(path.relative_to(_SHIMS)): path.read_bytes() for path in sorted(_SHIMS.rglob("*.py"))}
    files[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: kpro-sandbox-shims\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: kpro\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"]).encode()
    part = pathlib.Path(f"{target}.part")
    with zipfile.ZipFile(part, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(zipfile.ZipInfo(name), content)
    if not target.exists() or target.read_bytes() != part.read_bytes():
        part.rename(target)
    part.unlink(missing_ok=True)
