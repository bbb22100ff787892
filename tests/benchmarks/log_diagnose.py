"""How fast a log is diagnosed, beside grep over the same file in the same run.

usage: log_diagnose.py [--mib N] [--rounds N]

Two logs of N MiB each (default 1024), made of a recorded launch: one holds old launches and, at its end, a last one of 2 MiB; the other
is a single launch. Each is diagnosed in a process of its own (wall seconds, peak of resident memory). The alternative is what a person
would do: `grep -E` for everything that the rules look for (their patterns, where grep can express them), over the whole file.
The best of the rounds counts; the table shows ratios.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIONS = ROOT / ".collections"
HEALTHY = ROOT / "tests" / "corpus" / "lab" / "a01_healthy_full" / "server.log"
MIB = 1 << 20

DIAGNOSE = """
import resource, sys, time
sys.path.insert(0, sys.argv[1])
from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.engine import diagnose
begin = time.monotonic()
verdict = diagnose(sys.argv[2], facts={})["verdict"]
print(time.monotonic() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, verdict)
"""


def serving_lines():
    """Lines as a server prints them for hours: the recorded ones of its decoding."""
    return [line for line in HEALTHY.read_bytes().splitlines(keepends=True) if b"Decode batch" in line or b"Prefill batch" in line]


def write_log(path, mib, old_mib):
    """A log of ``mib`` MiB: launches until ``old_mib``, then one more to the end."""
    launch = HEALTHY.read_bytes()
    block = b"".join(serving_lines() * 200)
    with path.open("wb") as stream:
        while stream.tell() < old_mib * MIB:
            stream.write(launch)
            stream.write(block * 20)
        stream.write(launch)
        while stream.tell() < mib * MIB:
            stream.write(block)


def patterns():
    """What the rules look for, as far as grep -E can say it."""
    sys.path.insert(0, str(COLLECTIONS))
    from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.index import RULES

    found = []
    for rule in RULES:
        text = getattr(rule.pattern, "pattern", rule.pattern)
        text = re.sub(r"\(\?P<\w+>", "(", text).replace("(?:", "(")
        if "(?" not in text and "\\d" not in text:
            found.append(text)
    return found


def timed(argv):
    begin = time.monotonic()
    done = subprocess.run(argv, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr.decode())
    return time.monotonic() - begin


def diagnosed(path):
    done = subprocess.run([sys.executable, "-c", DIAGNOSE, str(COLLECTIONS), str(path)], capture_output=True, text=True, check=True)
    seconds, resident, verdict = done.stdout.split()
    return float(seconds), float(resident), verdict


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].splitlines()[0])
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("KPRO_CACHE_DIR", "/var/tmp")) as folder:
        alternatives = pathlib.Path(folder) / "patterns"
        alternatives.write_text("\n".join(patterns()) + "\n")
        print(f"{'log':34} {'diagnose s':>11} {'grep -E s':>10} {'ratio':>6} {'peak MiB':>9}  verdict")
        for name, old in ((f"{options.mib} MiB, last launch 2 MiB", options.mib - 2), (f"one launch of {options.mib} MiB", 0)):
            log = pathlib.Path(folder) / "server.log"
            write_log(log, options.mib, old)
            runs = []
            for _unused in range(options.rounds):
                grep = timed(["grep", "--text", "-c", "-E", "-f", str(alternatives), str(log)])
                runs.append((*diagnosed(log), grep))
            seconds, resident, verdict = min(runs)[:3]
            grep = min(run[3] for run in runs)
            print(f"{name:34} {seconds:11.2f} {grep:10.2f} {grep / seconds:6.2f} {resident:9.0f}  {verdict}")
    print("ratio: grep's seconds divided by ours; above 1 we are faster")


if __name__ == "__main__":
    main()
