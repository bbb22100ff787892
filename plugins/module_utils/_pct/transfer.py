# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The scripts inside the guest that receive and send one file, on stdin and stdout.

Paths are arguments, never part of a script, so no name is ever parsed. A file arrives under a temporary name in the folder of its
destination, is compared by SHA-256 and then renamed: whatever goes wrong, the old file is still there, whole.
"""

from __future__ import annotations

# $0: token, $1: destination, $2: SHA-256 in hex. An existing file keeps owner and mode; a link is followed; a device is written to.
_RECEIVE = r"""
to=$1 mask=$(umask)
case $to in /*) ;; *) to=./$to ;; esac
if [ -L "$to" ]; then to=$(readlink -f "$to") || exit 1; fi
if [ -d "$to" ]; then printf '%s: Is a directory\n' "$1" >&2; exit 1; fi
if [ -e "$to" ] && ! [ -f "$to" ]; then exec cat >"$to"; fi
part=${to%/*}/.$0.part
trap 'rm -f "$part"' EXIT
trap 'exit 1' HUP INT TERM
umask 077 && : >"$part" || exit 1
cat >"$part" || exit 1
if command -v sha256sum >/dev/null; then
  got=$(sha256sum <"$part") || exit 1
  if [ "${got%% *}" != "$2" ]; then printf 'checksum differs: %s arrived, %s was sent\n' "${got%% *}" "$2" >&2; exit 1; fi
fi
if [ -f "$to" ]; then
  chown "$(stat -c %u:%g "$to")" "$part" && chmod "$(stat -c %a "$to")" "$part" || exit 1
else
  umask "$mask" && chmod =rw "$part" || exit 1
fi
mv -f "$part" "$to"
"""

# $0: token, $1: the file. The checksum is left out when the file changed meanwhile (a log) or has no size of its own (/proc).
_SEND = r"""
from=$1
case $from in /*) ;; *) from=./$from ;; esac
state() { stat -L -c '%i %s %Y' "$from" 2>/dev/null; }
before=$(state)
cat "$from" || exit 1
if [ -f "$from" ] && [ -s "$from" ] && command -v sha256sum >/dev/null; then
  sum=$(sha256sum <"$from") && [ "$(state)" = "$before" ] && printf '\n%s digest %s\n' "$0" "${sum%% *}" >&2
fi
exit 0
"""


def receive_words(token, path, digest):
    """Return the argv that writes stdin to ``path`` if its SHA-256 is ``digest`` (hex); a new file gets 0666 less the umask."""
    return ["/bin/sh", "-c", _RECEIVE, token, path, digest]


def send_words(token, path):
    """Return the argv that writes the file ``path`` to stdout and, where it makes sense, its SHA-256 as a marker."""
    return ["/bin/sh", "-c", _SEND, token, path]
