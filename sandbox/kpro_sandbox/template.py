"""The guests' template: Debian 12 with systemd and the user-space half of a (fake) NVIDIA driver, no Python, no SGLang."""

from __future__ import annotations

import hashlib
import os
import shlex

from . import settings
from .shell import run, say

_PACKAGES = "systemd,systemd-sysv,dbus,iproute2,ifupdown,procps,ca-certificates"
_GPU = settings.CHECKOUT / "sandbox" / "gpu"


def build_gpu_programs():
    """Compile the fake NVML library and nvidia-smi when their sources changed."""
    target = settings.CACHE / "gpu"
    stamp = _digest()
    if (target / ".stamp").exists() and (target / ".stamp").read_text() == stamp:
        return
    say("compiling the fake NVML library and nvidia-smi")
    target.mkdir(parents=True, exist_ok=True)
    run("sh", _GPU / "build.sh", target)
    (target / ".stamp").write_text(stamp)


def _digest():
    content = b"".join(path.read_bytes() for path in sorted(_GPU.iterdir()) if path.is_file())
    return hashlib.sha256(content + _PACKAGES.encode()).hexdigest()


def ensure():
    """Build the template when it is missing or older than its ingredients (about 30 seconds)."""
    build_gpu_programs()
    stamp = settings.TEMPLATE.with_suffix(".stamp")
    if settings.TEMPLATE.exists() and stamp.exists() and stamp.read_text() == _digest():
        return
    say(f"building the guests' template {settings.TEMPLATE.name} with mmdebstrap")
    settings.TEMPLATE.parent.mkdir(parents=True, exist_ok=True)
    part = settings.TEMPLATE.with_name(f"part-{os.getpid()}-{settings.TEMPLATE.name}")
    built = shlex.quote(str(settings.CACHE / "gpu"))
    hook = (
        f'install -D -m 644 {built}/libnvidia-ml.so.1 "$1/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1" && '
        f'install -m 755 {built}/nvidia-smi "$1/usr/bin/nvidia-smi" && chroot "$1" ldconfig'
    )
    try:
        run(
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            f"--include={_PACKAGES}",
            f"--customize-hook={hook}",
            "bookworm",
            part,
            timeout=1800,
        )
        part.rename(settings.TEMPLATE)
    finally:
        part.unlink(missing_ok=True)
    stamp.write_text(_digest())
