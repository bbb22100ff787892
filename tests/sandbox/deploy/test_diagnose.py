"""diagnose.yml over real units of the guest: our own, a failed one, and one that only the journal knows."""

from __future__ import annotations

import re

import pytest
from playing import ROOT, server

CORPUS = ROOT / "tests" / "corpus" / "cases"


def table(played):
    """Rows of the last table as lists of cells."""
    said = re.sub(r"\s+", " ", played.out)
    return [
        [cell.strip() for cell in row.split("|")] for row in re.findall(r"(sglang129 \|[^'-]*?\|[^'-]*?\|[^'-]*?\|[^'-]*?\|[^']*)", said)
    ]


def test_a_running_server_is_healthy(deployed, play):
    shown = play.run("playbooks/diagnose.yml")
    assert shown.rc == 0, shown.out[-3000:]
    assert table(shown)[0][:4] == ["sglang129", "main", "healthy", "no_fault"]


def test_the_last_launch_of_a_server_that_failed(deployed, play):
    wanted = {"sglang_servers": [server("fresh", 30010, args={"attention-backend": "nonsense"})]}
    assert play.run("deploy.yml", "--skip-tags", "guest", variables=wanted).rc == 2
    shown = play.run("playbooks/diagnose.yml", variables=wanted)
    gone = play.run("deploy.yml", "--tags", "server", variables={"sglang_servers": [{"name": "fresh", "state": "absent"}]})
    assert gone.rc == 0, gone.out[-3000:]
    assert shown.rc == 0, shown.out[-3000:]
    assert table(shown)[0][1:5] == ["fresh", "fault", "invalid_argument_value", "args"]
    assert "invalid choice: 'nonsense'" in re.sub(r"\s+", " ", shown.out)


@pytest.mark.parametrize(
    ("case", "then", "cause"),
    [
        ("001-kv-pool-none-left-eagle-l40s", "exit 1", "kv_cache_oom"),
        ("140-ansi-colours-healthy", "exec sleep 600", "no_fault"),
        ("059-safetensors-lfs-pointer", "exit 1", "corrupt_or_incomplete_weights"),
    ],
)
def test_a_unit_that_is_not_ours_is_read_from_the_journal(deployed, guest, play, case, then, cause):
    """The journal keeps colours, carriage returns and long lines as integers or not at all; the module reads through that."""
    log = (CORPUS / case / "server.log").read_bytes()
    unit = f"foreign-{case[:3]}"
    guest.run("sh", "-c", f"cat > /run/{unit}.log", stdin=log)
    guest.sh(f"systemd-run --quiet --unit {unit} sh -c 'cat /run/{unit}.log; {then}'; journalctl --sync")
    playbook = play.folder / "one.yml"
    playbook.write_text(
        "- hosts: sglang129\n  gather_facts: false\n  tasks:\n"
        f"    - kpro.sglang.log_diagnose:\n        unit: {unit}.service\n      register: answer\n"
        "    - ansible.builtin.debug:\n        msg: 'cause={{ answer.diagnosis.cause }}.'\n"
    )
    try:
        shown = play.run(str(playbook))
    finally:
        guest.run("systemctl", "stop", f"{unit}.service")
        guest.run("systemctl", "reset-failed", f"{unit}.service")
        guest.run("rm", "-f", f"/run/{unit}.log")
    assert shown.rc == 0, shown.out[-3000:]
    assert f"cause={cause}." in shown.out
