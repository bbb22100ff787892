"""Deployments that must fail: each with one sentence, the proving line, and the running server untouched."""

from __future__ import annotations

import re
import time

import pytest
from playing import server

SKIP = ("--skip-tags", "guest")


def fails(play, servers, *words, **variables):
    """Run deploy.yml with these servers; it must fail and not as a traceback."""
    played = play.run("deploy.yml", *SKIP, *words, variables={"sglang_servers": servers, **variables})
    assert played.rc == 2, played.out[-4000:]
    assert "Traceback" not in played.out
    assert "MODULE FAILURE" not in played.out
    return re.sub(r"\s+", " ", played.out)


def remove(play, name):
    """Take a test's own server away again."""
    gone = play.run("deploy.yml", "--tags", "server", variables={"sglang_servers": [{"name": name, "state": "absent"}]})
    assert gone.rc == 0, gone.out[-3000:]


def test_wrong_flag_value_leaves_the_running_server(deployed, guest, play):
    before = guest.identity()
    said = fails(play, [server(args={"attention-backend": "nonsense"})])
    assert "invalid_argument_value" in said
    assert "argument --attention-backend: invalid choice: 'nonsense'" in said
    assert "was not touched" in said
    assert guest.identity() == before


def test_wrong_flag_value_of_a_first_launch(deployed, play):
    said = fails(play, [server("fresh", 30010, args={"attention-backend": "nonsense"})])
    assert "invalid_argument_value" in said
    assert re.search(r"/var/log/sglang/fresh/[0-9a-f]{32}\.log:\d+: .*invalid choice: 'nonsense'", said)
    remove(play, "fresh")


def test_missing_model_is_found_before_a_server_is_touched(deployed, guest, play):
    before = guest.identity()
    said = fails(play, [server(model="/models/no-such-model")])
    assert "/models/no-such-model" in said and "does not exist" in said
    assert guest.identity() == before


def test_missing_model_by_sglangs_own_words(deployed, play):
    said = fails(play, [server("fresh", 30010, model="/models/no-such-model", model_check="disabled")])
    assert "model_path_missing" in said
    assert re.search(r"/var/log/sglang/fresh/[0-9a-f]{32}\.log:\d+: ", said)
    remove(play, "fresh")


LISTENER = (
    "import socket, time; s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
    "s.bind(('127.0.0.1', %d)); s.listen(); time.sleep(600)"
)


@pytest.fixture
def listener(guest):
    """Start a listener on a port of the guest under a transient unit; ended by that unit's name."""
    names = []

    def start(port):
        name = f"holder-{port}"
        guest.sh(f'systemd-run --quiet --collect --unit {name} /usr/bin/python3 -c "{LISTENER % port}"')
        names.append(name)
        return name

    yield start
    for name in names:
        guest.run("systemctl", "stop", name)


def test_taken_port_is_found_by_the_preflight(deployed, play, listener):
    name = listener(30011)
    said = fails(play, [server(), server("second", 30011)])
    assert "port 30011" in said
    assert f"{name}.service" in said, "the holder is named"


def test_port_taken_after_the_check(deployed, guest, play, listener):
    """Somebody takes the port while the server loads: SGLang says so after the load, never exits and ignores SIGTERM."""
    process = play.start("deploy.yml", *SKIP, variables={"sglang_servers": [server("second", 30012)]})
    wait_for_launch(guest, "second", process)
    listener(30012)
    process.wait(300)
    said = re.sub(r"\s+", " ", process.log.read_text())
    assert process.returncode == 2, said[-3000:]
    assert "port_in_use" in said
    assert re.search(r"/var/log/sglang/second/[0-9a-f]{32}\.log:\d+: .*\[Errno 98\]", said)
    assert guest.sh("systemctl show sglang-second -p MainPID --value").strip() == "0", "it was ended"
    remove(play, "second")


def wait_for_launch(guest, name, process, text="server_args="):
    """Wait until the launch log of a server holds ``text``; returns (main pid, log)."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        assert process.poll() is None, process.log.read_text()[-3000:]
        done = guest.run(
            "sh",
            "-c",
            f'i=$(systemctl show sglang-{name} -p InvocationID --value); l=/var/log/sglang/{name}/$i.log; [ -n "$i" ] && '
            f'grep -q "{text}" "$l" && systemctl show sglang-{name} -p MainPID --value && echo "$l"',
        )
        if done.returncode == 0:
            pid, log = done.stdout.decode().split()
            return int(pid), log
        time.sleep(0.1)
    raise AssertionError(f"server {name} wrote no {text!r}")


def test_death_between_arguments_and_ready_ends_the_task_within_two_seconds(deployed, guest, play):
    """Killed from outside while it loads, five times: the time from the death to the end of the task."""
    delays = []
    for _unused in range(5):
        process = play.start(
            "deploy.yml",
            "--tags",
            "server",
            variables={
                "sglang_servers": [server("victim", 30013)],
                "sglang_install_interpreter": guest.sh("ls -d /opt/sglang/venvs/*/bin/python").split()[0],
            },
        )
        pid, log = wait_for_launch(guest, "victim", process)
        assert "fired up" not in guest.sh(f"cat {log}")
        guest.sh(f"kill -9 {pid}")
        killed = time.time()
        process.wait(60)
        said = re.sub(r"\s+", " ", process.log.read_text())
        assert process.returncode == 2, said[-3000:]
        assert "exit code 137" in said or "SIGKILL" in said, said[-1500:]
        failed = float(guest.sh("tail -n 1 /var/lib/sglang/victim/status.jsonl | sed 's/.*\"time\": \\([0-9.]*\\).*/\\1/'"))
        delays.append(round(failed - killed, 2))
        assert guest.sh("tail -n 1 /var/lib/sglang/victim/status.jsonl").count('"event": "failed"') == 1
    print("seconds from death to the end of the watch:", delays)
    assert max(delays) < 2, delays
    remove(play, "victim")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("truncated", "model-00001-of-00002.safetensors"),
        ("missing", "model-00002-of-00002.safetensors"),
        ("pointer", "LFS"),
    ],
)
def test_damaged_model_fails_before_a_server_is_touched(deployed, guest, node, play, damage, words):
    """SGLang comes up READY with a missing shard; the files are looked at first."""
    place = f"/srv/models/{damage}"
    commands = {
        "truncated": f"truncate -s -100 {place}/model-00001-of-00002.safetensors",
        "missing": f"rm {place}/model-00002-of-00002.safetensors",
        "pointer": f"printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:{'0' * 64}\\nsize 79608\\n' > "
        f"{place}/model-00002-of-00002.safetensors",
    }
    node.run(["sh", "-ec", f"rm -rf {place}; cp -a /srv/models/tiny-qwen3 {place}; {commands[damage]}"])
    try:
        before = guest.identity()
        said = fails(play, [server(model=f"/models/{damage}")])
        assert words in said
        assert guest.identity() == before
    finally:
        node.run(["rm", "-rf", place])
