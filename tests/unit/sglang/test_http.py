"""The HTTP client against real sockets: it always answers, in bounded time, and goes through nobody's proxy."""

from __future__ import annotations

import http.server
import json
import socket
import threading

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._sglang import http as ours


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.command, self.path, dict(self.headers), b""))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
        elif self.path == "/huge":
            self.send_response(200)
            self.end_headers()
            try:
                for _piece in range(20):
                    self.wfile.write(b"x" * (1 << 20))
            except OSError:
                self.server.cut = True
        else:
            self._answer(200, {"path": self.path})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        self._answer(503, {"busy": True})

    def _answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    seen: list
    cut = False


class Server6(Server):
    address_family = socket.AF_INET6


def serving(kind, address):
    server = kind((address, 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


@pytest.fixture
def server():
    with serving(Server, "127.0.0.1") as server:
        yield server
        server.shutdown()


@pytest.fixture
def raw():
    """Serve one connection by a function (connection) on a plain socket; returns a function that starts it and gives the port."""
    listeners, threads = [], []

    def start(talk):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve():
            try:
                connection, _peer = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(65536)
                    talk(connection)
                except OSError:
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        threads.append(thread)
        thread.start()
        return listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.close()


def test_get_and_its_json(server):
    answer = ours.Client("127.0.0.1", server.server_port).get("/health", timeout=5)
    assert (answer.status, answer.ok, answer.json(), answer.error) == (200, True, {"path": "/health"}, None)


def test_post_sends_json_and_any_status_is_an_answer(server):
    answer = ours.Client("127.0.0.1", server.server_port).post("/generate", {"text": "Zürich"}, timeout=5)
    assert (answer.status, answer.ok, answer.json()) == (503, False, {"busy": True})
    method, path, headers, body = server.seen[0]
    assert (method, path, headers["Content-Type"]) == ("POST", "/generate", "application/json")
    assert json.loads(body) == {"text": "Zürich"}


def test_the_key_goes_as_bearer_token_and_only_then(server):
    ours.Client("127.0.0.1", server.server_port, "key-0123456789").get("/a", timeout=5)
    ours.Client("127.0.0.1", server.server_port).get("/b", timeout=5)
    assert server.seen[0][2]["Authorization"] == "Bearer key-0123456789"
    assert "Authorization" not in server.seen[1][2]


def test_no_proxy_of_the_environment_is_used(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ours.Client("127.0.0.1", server.server_port).get("/health", timeout=5).ok


def test_redirects_are_not_followed(server):
    assert ours.Client("127.0.0.1", server.server_port).get("/moved", timeout=5).status == 302
    assert [path for _method, path, _headers, _body in server.seen] == ["/moved"]


@pytest.mark.parametrize("host", ["::1", "::"])
def test_ipv6(host):
    with serving(Server6, "::1") as server:
        client = ours.Client(host, server.server_port)
        assert client.url == f"http://[::1]:{server.server_port}"
        assert client.get("/health", timeout=5).ok
        server.shutdown()


@pytest.mark.parametrize(
    ("host", "url"), [("0.0.0.0", "http://127.0.0.1:30000"), ("", "http://127.0.0.1:30000"), ("10.0.0.7", "http://10.0.0.7:30000")]
)
def test_a_server_that_listens_everywhere_is_asked_on_loopback(host, url):
    assert ours.Client(host, 30000).url == url


def test_refused():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    answer = ours.Client("127.0.0.1", port).get("/health", timeout=5)
    assert (answer.status, answer.ok, answer.json()) == (0, False, None)
    assert answer.error.startswith("ConnectionRefusedError")


def test_a_server_that_says_nothing(raw):
    release = threading.Event()
    port = raw(lambda _connection: release.wait(30))
    answer = ours.Client("127.0.0.1", port).get("/health", timeout=0.05)
    release.set()
    assert answer.status == 0 and "timed out" in answer.error


def test_a_server_that_drips_a_body_for_ever_is_left(raw):
    """Each byte comes within the time-out; the whole never would."""
    left = threading.Event()

    def drip(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x")
        except OSError:
            left.set()

    answer = ours.Client("127.0.0.1", raw(drip)).get("/health", timeout=0.05)
    assert left.wait(30)
    assert (answer.status, len(answer.body)) == (200, 16 << 20) or (answer.status, answer.error) == (
        0,
        "TimeoutError: the answer takes too long",
    )


def test_a_huge_body_is_cut(server):
    answer = ours.Client("127.0.0.1", server.server_port).get("/huge", timeout=30)
    assert (answer.status, len(answer.body), answer.json()) == (200, 16 << 20, None)


@pytest.mark.parametrize(
    "words",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 banana\r\n\r\n",
        b"",
        b"\x00\xff\xfe\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\n" + b"a" * 70000,
    ],
    ids=["ssh", "status line", "closed at once", "binary", "body shorter than said", "endless header"],
)
def test_whatever_listens_there_gives_an_answer_and_no_exception(raw, words):
    answer = ours.Client("127.0.0.1", raw(lambda connection: connection.sendall(words))).get("/health", timeout=5)
    assert answer.status == 0 or answer.body == b"short"
    assert answer.json() is None


@pytest.mark.parametrize("host", ["a" * 70 + ".invalid", "bad host", "bad\nhost", "[::1"])
def test_a_host_that_is_none_is_no_exception(host):
    answer = ours.Client(host, 30000).get("/health", timeout=2)
    assert answer.status == 0 and answer.error


def test_a_key_that_no_header_can_carry_is_no_exception(server):
    assert ours.Client("127.0.0.1", server.server_port, "schlüssel-€uro").get("/health", timeout=2).status == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100000, b"nope"])
def test_json_of_anything_else_is_none(body):
    assert ours.Answer(200, body).json() is None
