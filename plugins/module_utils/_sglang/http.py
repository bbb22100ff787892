# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""A small HTTP client for a server on this machine: no proxies, no redirects, bounded, never an exception for the network."""

from __future__ import annotations

import json


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
        except ValueError:
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
        """GET ``path``; ``timeout`` in seconds for connecting and for each read."""
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
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.read(16 << 20))
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, error=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        finally:
            connection.close()
