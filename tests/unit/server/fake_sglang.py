"""Plays ``python -m sglang.launch_server --config FILE``: prints what SGLang prints, then does what KPRO_BEHAVIOUR says."""

from __future__ import annotations

import http.server
import json
import os
import signal
import sys
import time

import yaml

STAMP = "[2026-07-01 08:00:01] "


def say(text):
    print(text, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    config: dict = {}
    text = " Paris, which lies on the Seine."

    def do_GET(self):
        if not self._allowed():
            return
        if self.path == "/health":
            self._answer(200, {})
        elif self.path == "/server_info":
            said = {"model_path": self.config["model-path"], "max_total_num_tokens": 8192, "version": "0.5.17"}
            state = {"effective_max_running_requests_per_dp": 4, "memory_usage": {"weight": 0.1, "kvcache": 0.2}}
            self._answer(200, {**said, "internal_states": [state]})
        else:
            self._answer(404, {})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self._allowed():
            self._answer(200, {"text": self.text})

    def _allowed(self):
        key = self.config.get("api-key")
        if key is None or self.headers.get("Authorization") == f"Bearer {key}" or self.path == "/health":
            return True
        self._answer(401, {"error": "Unauthorized"})
        return False

    def _answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


def main():
    behaviour = os.environ["KPRO_BEHAVIOUR"]
    assert sys.argv[1:4] == ["-m", "sglang.launch_server", "--config"], sys.argv
    with open(sys.argv[4], encoding="ascii") as stream:
        Handler.config = yaml.safe_load(stream)
    config = Handler.config
    shown = f"model_path={config['model-path']!r}, host={config['host']!r}, port={config['port']}, api_key={config.get('api-key')!r}"
    say(f"{STAMP}server_args=ServerArgs({shown})")
    say(f"{STAMP}Load weight begin. avail mem=10.00 GB")
    if behaviour == "crash":
        say(f"{STAMP}Scheduler hit an exception: Traceback (most recent call last):")
        say('  File "/opt/sglang/model_runner.py", line 300, in load_model\n    self.model = get_model()')
        sys.stdout.write("RuntimeError: the secret is " + os.environ.get("HF_TOKEN", "none") + " and the last line has no end")
        sys.stdout.flush()
        os._exit(3)
    if behaviour == "hang":
        time.sleep(1000)
    say(f"{STAMP}Load weight end. type=Tiny, dtype=torch.float32, avail mem=9.00 GB, mem usage=1.00 GB.")
    say(
        f"{STAMP}max_total_num_tokens=8192, chunked_prefill_size=2048, max_prefill_tokens=16384, "
        "max_running_requests=4, context_len=2048, available_gpu_mem=5.00 GB"
    )
    if behaviour == "port_taken":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say(f"ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', {config['port']}): address already in use")
        time.sleep(1000)
    if behaviour == "rubbish":
        Handler.text = "\n" * 48
    server = http.server.ThreadingHTTPServer((config["host"], config["port"]), Handler)
    server.daemon_threads = True
    say(f"INFO:     Uvicorn running on http://{config['host']}:{config['port']} (Press CTRL+C to quit)")
    say(f"{STAMP}The server is fired up and ready to roll!")
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
