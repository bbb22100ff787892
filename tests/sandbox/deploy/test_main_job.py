"""`ansible-playbook deploy.yml -l kpro5`: serves, changes nothing the second time, comes back after a reboot."""

from __future__ import annotations

import json
import re

from playing import server


def test_serves_and_answers(deployed, play):
    shown = play.run("sandbox/show.yml")
    assert shown.rc == 0, shown.out
    assert "answer: The capital of France is Paris." in shown.out
    assert "capacity: 8192 tokens, 4 running requests" in shown.out


def test_ready_server_is_recorded(deployed, guest):
    _pid, launch, _ticks = guest.identity()
    record = json.loads(guest.sh(f"cat /var/lib/sglang/main/launches/{launch}.json"))
    assert record["state"] == "ready"
    assert record["output_check"]["ok"] is True
    names = [stage["name"] for stage in record["stages"]]
    assert names.index("weights_load") < names.index("memory_pool") < names.index("ready")
    assert abs(sum(stage["seconds"] for stage in record["stages"]) - record["seconds"]) < 0.5


def test_nothing_secret_is_readable_by_others(deployed, guest):
    modes = guest.sh(
        "stat -c '%a %n' /var/lib/sglang/main/config.yaml /var/lib/sglang/main/environment /var/log/sglang/main/*.log"
    ).splitlines()
    assert all(line.startswith("600 ") for line in modes), modes


def test_second_run_changes_nothing(deployed, guest, play):
    before = guest.identity()
    again = play.run("deploy.yml")
    assert again.rc == 0, again.out[-4000:]
    assert again.changed == 0, again.out
    assert guest.identity() == before


def test_fqcn_playbook_is_the_same_play(deployed, play):
    listed = play.run("kpro.sglang.deploy", "--list-tasks")
    assert listed.rc == 0, listed.out
    assert "Run the servers" in listed.out or "sglang_server : Create the service user" in listed.out


def test_l_kpro5_reaches_guest_129(node, play):
    listed = play.run("deploy.yml", "--list-hosts")
    assert listed.rc == 0, listed.out
    assert "sglang129" in listed.out


def test_check_mode_shows_a_change_and_makes_none(deployed, guest, play):
    before = guest.identity()
    shown = play.run("deploy.yml", "--check", "--diff", variables={"sglang_servers": [server()]})
    assert shown.rc == 0, shown.out[-4000:]
    assert "-max-total-tokens: 8192" in shown.out and "+max-total-tokens: 4096" in shown.out
    assert guest.identity() == before


def test_after_reboot_it_is_ready_by_itself_and_nothing_changes(deployed, guest, play):
    _pid, launch, _ticks = guest.identity()
    assert guest.node.pct("reboot", guest.vmid).returncode == 0
    again = play.run("deploy.yml")
    assert again.rc == 0, again.out[-4000:]
    assert again.changed == 0, again.out
    assert guest.identity()[1] != launch
    shown = play.run("sandbox/show.yml")
    assert "Paris" in shown.out


def test_new_arguments_replace_the_server(deployed, guest, play):
    before = guest.identity()
    changed = play.run("deploy.yml", "--skip-tags", "guest", variables={"sglang_servers": [server()]})
    assert changed.rc == 0, changed.out[-4000:]
    assert "4096 tokens, 2 running requests" in " ".join(changed.out.split())
    assert re.search(r"^  \[sglang129\] +[0-9.]+ s  weights_load", changed.out, re.MULTILINE), "the stages are shown while it starts"
    assert guest.identity()[1] != before[1]
    back = play.run("deploy.yml", "--skip-tags", "guest")
    assert back.rc == 0, back.out[-4000:]
    assert back.changed == 1
