# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A small HTTP client for a server on this machine: no proxies, no redirects, bounded, never an exception for the network."""

from __future__ import annotations

import json
import time

_LIMIT = 16 << 20


class Answer:
    """status (int, 0 when nothing answered), body (bytes), error (text why nothing answered, or None)."""

    def __init__(self, status, body=b"", error=None):
        self.status = status
        self.body = body
        self.error = error

    @property
    def ok(self):
        return self.status == 200

    def json(self):
        """The parsed body, or None when it is no JSON."""
        try:
            return json.loads(self.body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None


class Client:
    """Talks to one server. ``key``: value of the bearer token, or None."""

    def __init__(self, host, port, key=None):
        # A server that listens everywhere is asked on loopback.
        self.host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
        self.port = port
        self._key = key

    @property
    def url(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def get(self, path, timeout):
        """GET ``path``; ``timeout`` in seconds for connecting, for each read, and after which no further one is begun."""
        return self._ask("GET", path, None, timeout)

    def post(self, path, value, timeout):
        """POST a JSON value."""
        return self._ask("POST", path, json.dumps(value).encode(), timeout)

    def _ask(self, method, path, body, timeout):
        import http.client

        headers = {"Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
            try:
                connection.request(method, path, body=body, headers=headers)
                response = connection.getresponse()
                return Answer(response.status, _body(response, time.monotonic() + timeout))
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a host or key that cannot be sent
            return Answer(0, error=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def _body(response, deadline):
    """At most 16 MiB of the body. A server that sends a byte now and then must not hold the caller, who watches a process."""
    found = bytearray()
    while len(found) < _LIMIT:
        block = response.read1(_LIMIT - len(found))
        if not block:
            break
        found += block
        if time.monotonic() > deadline:
            raise TimeoutError("the answer takes too long")
    return bytes(found)
