"""The watch with a real child process and a real log; time is a number that each look moves on, so nothing is waited for."""

from __future__ import annotations

import json
import os
import pathlib
import threading

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._server import watch
from ansible_collections.kpro.sglang.plugins.module_utils._server.limits import SILENCE
from ansible_collections.kpro.sglang.plugins.module_utils._server.watch import DIED, PORT_TAKEN, READY, STUCK, TIMEOUT, LaunchWatch
from ansible_collections.kpro.sglang.plugins.module_utils._sglang.http import Answer
from ansible_collections.kpro.sglang.plugins.module_utils._supervise.process import ProcessWatch

MODEL = "/models/tiny"
IDLE = "import sys; sys.stdin.read()"
STAMP = "[2026-07-01 08:00:01] "
ARGS = f"{STAMP}server_args=ServerArgs(model_path='{MODEL}', port=30000)\n"
LOAD = f"{STAMP}Load weight begin. avail mem=10.00 GB\n"
LOADED = f"{STAMP}Load weight end. type=Tiny, dtype=torch.float32, avail mem=9.00 GB, mem usage=1.00 GB.\n"
UVICORN = "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)\n"
ROLL = f"{STAMP}The server is fired up and ready to roll!\n"
BIND = "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use\n"


class Scene:
    """A launch: log, child, clock, client, and a script with one step for each look.

    A step is text for the log, a function, or None. After the last step only time passes.
    """

    def __init__(self, log, child):
        self.log = log
        self.child = child
        self.now = 1000.0
        self.step = 0.2
        self.script = []
        self.health = [Answer(200)]
        self.info = Answer(200, json.dumps({"model_path": MODEL}).encode())
        self.owned = True
        self.asked = []
        self.told = []
        self.looks = 0
        self.args = {}
        self.timeout = 100000
        self.stage_timeouts = {}
        self.model = MODEL
        self.port = 30000

    def write(self, text):
        with open(self.log, "ab") as stream:
            stream.write(text.encode() if isinstance(text, str) else text)

    def kill(self):
        self.child.kill()
        os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOWAIT)

    def act(self):
        """The next step of the script."""
        step = self.script.pop(0) if self.script else None
        if callable(step):
            step()
        elif step is not None:
            self.write(step)

    # -- what the watch is given
    def clock(self):
        return self.now

    def get(self, path, timeout):
        assert timeout <= 5  # a death must be noticed
        self.asked.append(path)
        if path == "/health":
            answer = self.health.pop(0) if len(self.health) > 1 else self.health[0]
            return answer() if callable(answer) else answer
        return self.info(path) if callable(self.info) else self.info

    def owns_port(self):
        return self.owned() if callable(self.owned) else self.owned

    def report(self, stage, seconds, progress):
        self.told.append((stage, round(seconds, 2), progress))

    def run(self, *script):
        self.script = list(script)
        scene = self

        class Stepped(ProcessWatch):
            """Real in everything but the passing of time."""

            def wait(self, seconds):
                assert scene.looks < 1_000_000
                scene.looks += 1
                scene.now += max(seconds, scene.step)
                scene.act()
                return self.alive

        process = Stepped(self.child.pid)
        try:
            return LaunchWatch(str(self.log), process, self, self, self.owns_port, self.report, clock=self.clock).run()
        finally:
            process.close()


@pytest.fixture
def scene(tmp_path, process):
    return Scene(tmp_path / "launch.log", process(IDLE))


def test_ready_is_reached_through_the_stages_and_told_on_the_way(scene):
    outcome = scene.run(None, ARGS, LOAD, LOADED, UVICORN, ROLL)
    assert (outcome.kind, outcome.detail, outcome.info) == (READY, "", {"model_path": MODEL})
    assert outcome.seconds == pytest.approx(1.2)
    assert outcome.silent_start == pytest.approx(0.4)
    stages = [stage for stage, _seconds, _progress in scene.told]
    assert stages == ["launch", "weights_load", "memory_pool", "warmup", "ready"]
    assert scene.asked == ["/health", "/server_info"]


def test_a_log_that_is_there_from_the_beginning(scene):
    scene.write(ARGS + LOAD + LOADED + ROLL)
    outcome = scene.run()
    assert outcome.kind == READY and scene.looks == 0


def test_http_is_not_asked_before_this_launch_printed_its_ready_line(scene):
    """Another server may be answering on the port, with the same model."""
    scene.timeout = 50
    outcome = scene.run(ARGS, LOAD, LOADED, UVICORN)
    assert outcome.kind == TIMEOUT and scene.asked == []
    assert outcome.detail == "not ready after 50 s (option timeout); still missing: this launch has not printed its ready line"


def test_ready_needs_health(scene):
    scene.health = [Answer(0, error="refused"), Answer(503), Answer(503), Answer(200)]
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == READY and scene.asked == ["/health"] * 4 + ["/server_info"]


def test_health_that_never_comes_is_named_when_time_is_up(scene):
    scene.health, scene.timeout = [Answer(503)], 20
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == TIMEOUT and outcome.detail.endswith("still missing: /health answers 503")


def test_another_model_that_answers_on_the_port_is_not_ours(scene):
    scene.info, scene.timeout = Answer(200, b'{"model_path": "/models/other"}'), 20
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == TIMEOUT and outcome.info is None
    assert "names the model '/models/other', not '/models/tiny'" in outcome.detail


@pytest.mark.parametrize("body", [b"[1]", b'"x"', b"<html>", b""])
def test_something_else_that_answers_on_the_port(scene, body):
    scene.info, scene.timeout = Answer(200, body), 20
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == TIMEOUT and "/server_info does not answer" in outcome.detail


def test_a_port_that_somebody_else_listens_on_is_not_this_launchs(scene):
    scene.owned, scene.timeout = False, 20
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == TIMEOUT and outcome.detail.endswith("port 30000 is not this launch's own")


def test_an_older_release_answers_under_another_path(scene):
    body = json.dumps({"model_path": MODEL, "version": "0.5.9"}).encode()
    scene.info = lambda path: Answer(200, body) if path == "/get_server_info" else Answer(404)
    outcome = scene.run(ARGS + ROLL)
    assert outcome.kind == READY and outcome.info["version"] == "0.5.9"


@pytest.mark.parametrize("level", ["warning", "error", "CRITICAL"])
def test_a_quiet_log_level_hides_the_ready_line_and_the_ports_owner_stands_in(scene, level):
    scene.args = {"log-level": level}
    looks = iter([False, False, True, True, True, True])
    scene.owned = lambda: next(looks)
    outcome = scene.run()
    assert outcome.kind == READY and outcome.info == {"model_path": MODEL}
    assert scene.asked == ["/health", "/server_info"]


def test_at_the_usual_log_level_the_ports_owner_is_not_enough(scene):
    scene.timeout = 20
    assert scene.run().kind == TIMEOUT and scene.asked == []


def test_a_death_while_loading_is_told_with_the_last_line_that_has_no_end(scene):
    def die():
        scene.write(b"Traceback (most recent call last):\nRuntimeError: the last words")
        scene.kill()

    outcome = scene.run(ARGS, LOAD, die)
    assert (outcome.kind, outcome.detail) == (DIED, "the process died")
    assert outcome.tracker.stage == "weights_load"
    assert outcome.tracker.last_line.text == "RuntimeError: the last words"


def test_what_was_written_between_the_reading_and_the_death_is_read(scene):
    def die_after_this_reading(*told):
        if not scene.told:
            scene.write("RuntimeError: late words\n")
            scene.kill()
        scene.told.append(told)

    scene.report = die_after_this_reading
    outcome = scene.run()
    assert outcome.kind == DIED and outcome.tracker.last_line.text == "RuntimeError: late words"


def test_a_death_before_the_first_line(scene):
    outcome = scene.run(scene.kill)
    assert outcome.kind == DIED and outcome.tracker.stage == "launch" and outcome.info is None and outcome.silent_start == 0.0
    assert not os.path.exists(scene.log)


def test_a_process_that_is_gone_before_the_watch_begins(scene):
    scene.write(ARGS + "ValueError: at once")
    scene.kill()
    outcome = scene.run()
    assert outcome.kind == DIED and outcome.tracker.last_line.text == "ValueError: at once" and scene.looks == 0


def test_a_death_while_it_is_asked_is_no_ready(scene):
    def answer():
        scene.kill()
        return Answer(200)

    scene.health = [answer]
    assert scene.run(ARGS + ROLL).kind == DIED


def test_the_ready_line_of_a_process_that_is_dead_counts_for_nothing(scene):
    def last():
        scene.write(ROLL)
        scene.kill()

    outcome = scene.run(ARGS, last)
    assert outcome.kind == DIED and scene.asked == []


def test_a_taken_port(scene):
    outcome = scene.run(ARGS, LOAD, LOADED, BIND)
    assert (outcome.kind, outcome.detail) == (PORT_TAKEN, "the HTTP address was taken by another process")
    assert scene.child.poll() is None and scene.asked == []


def test_a_bind_error_behind_the_ready_line_wins_although_the_other_server_answers_well(scene):
    def answer():
        scene.write(BIND)
        return Answer(200)

    scene.health = [answer]
    assert scene.run(ARGS + ROLL).kind == PORT_TAKEN


@pytest.mark.parametrize(("lines", "stage"), [("", "launch"), (ARGS + LOAD, "weights_load"), (ARGS + LOAD + LOADED, "memory_pool")])
def test_silence_beyond_the_stages_limit_is_stuck(scene, lines, stage):
    scene.step = 1.0
    outcome = scene.run(lines)
    assert outcome.kind == STUCK
    assert outcome.detail == f"no new output for {SILENCE[stage]:.0f} s in stage {stage}"
    assert SILENCE[stage] < outcome.quiet_for <= SILENCE[stage] + 2.0
    assert scene.child.poll() is None


def test_the_callers_limit_of_a_stage_counts_for_that_stage_only(scene):
    scene.step, scene.stage_timeouts = 1.0, {"weights_load": 30, "warmup": 1}
    outcome = scene.run(ARGS, *[None] * 50, LOAD)
    assert (outcome.kind, outcome.detail) == (STUCK, "no new output for 30 s in stage weights_load")
    assert outcome.seconds == pytest.approx(52 + 31)


def test_a_progress_bar_without_line_ends_is_a_sign_of_life(scene):
    progress = "Loading safetensors checkpoint shards: {0}% Completed | {1}/200 [00:01<00:01,  1.0it/s]\r"
    scene.step = SILENCE["weights_load"] / 2
    outcome = scene.run(ARGS + LOAD, *[progress.format(n // 2, n) for n in range(50)], scene.kill)
    assert outcome.kind == DIED
    assert outcome.seconds > 20 * SILENCE["weights_load"]


def test_time_for_all_of_it(scene):
    scene.timeout, scene.step = 100, 1.0
    outcome = scene.run(ARGS, *[f"{STAMP}line {n}\n" for n in range(200)])
    assert outcome.kind == TIMEOUT and 100 < outcome.seconds < 103
    assert outcome.detail.startswith("not ready after 100 s (option timeout)")


def test_a_line_that_is_written_in_pieces_is_one_line(scene):
    outcome = scene.run(ARGS, ROLL[:30], ROLL[30:50], ROLL[50:])
    assert outcome.kind == READY
    assert scene.told[-1][0] == "ready"


def test_bytes_that_are_no_text_disturb_nothing(scene):
    assert scene.run(ARGS, b"\xff\xfe\x00\x1b[31m\n" * 100, ROLL).kind == READY


def test_nothing_is_told_twice(scene):
    scene.run(ARGS, LOAD, *[f"{STAMP}warning {n}\n" for n in range(20)], LOADED, ROLL)
    assert len(scene.told) == len(set(scene.told)) == 4


def test_a_death_is_noticed_within_one_look_however_long_that_is(scene, monkeypatch, tmp_path):
    """With the real wait: the process's end wakes the watch."""
    monkeypatch.setattr(watch, "_LOOK", 3000.0)
    pathlib.Path(scene.log).write_text(ARGS + LOAD)
    threading.Timer(0.05, scene.child.kill).start()
    process = ProcessWatch(scene.child.pid)
    outcome = LaunchWatch(str(scene.log), process, scene, scene, scene.owns_port, scene.report).run()
    process.close()
    assert outcome.kind == DIED
