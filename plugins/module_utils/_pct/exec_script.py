# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The scripts that run inside the guest around a command: /bin/sh of any guest (dash, bash, busybox).

They are the guest's half of the marker protocol (marker.py). fd 4 is the stderr that goes out; the script's own stderr is
/dev/null, because shells announce there how their children died.
"""

from __future__ import annotations

import re

from .._errors import KproError

_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\$?")

# $0: token, $1: user. Sets what a login would set; nothing else of the node's environment comes in.
PRELUDE = r"""
token=$0 user=$1
exec 4>&2 2>/dev/null
say() { printf '\n%s %s\n' "$token" "$*" >&4; }
refuse() { say refused "$@"; exit 125; }
home=/root
if [ "$user" != root ]; then
  entry=$(getent passwd "$user" </dev/null)
  [ -n "$entry" ] || while IFS= read -r line; do
    case $line in "$user":*) entry=$line ;; esac
  done </etc/passwd
  [ -n "$entry" ] || refuse "user '$user' does not exist in the guest"
  user=${entry%%:*} home=${entry%:*}
  home=${home##*:}
fi
case :$PATH: in
  *:/usr/local/bin:*) ;;
  *) PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin ;;
esac
LANG=${LANG:-C.UTF-8} HOME=$home USER=$user LOGNAME=$user
export PATH LANG HOME USER LOGNAME
cd "$home" || cd /
unset OLDPWD
"""

# Puts the change of user in front of "$@". runuser asks no password and starts no shell; without util-linux there is su.
AS_USER = r"""
if [ "$user" = root ]; then :
elif command -v runuser >/dev/null; then set -- runuser -u "$user" -- "$@"
else set -- su -s /bin/sh -c 'exec "$0" "$@"' -- "$user" "$@"
fi
"""

_RUN = r"""
say start $$
"$@" 2>&4 4>&-
rc=$?
say end $rc
exit $rc
"""


def check_user(user):
    """Return ``user`` (str), or raise KproError when it cannot be an account's name."""
    if not _USER.fullmatch(user):
        raise KproError("user is %r: an account's name has letters, digits, '_', '-', '.' and '@', and starts without '-'." % user)
    return user


def plain_words(token, user, words):
    """Return the argv for the guest that runs ``words`` (list of str, an absolute program first) as ``user`` in the user's home."""
    return ["/bin/sh", "-c", PRELUDE + "shift\n" + AS_USER + _RUN, token, check_user(user), *words]


# Ends what belongs to a command: the descendants of $top, their process groups and sessions, and whoever holds $top's pipes
# (a daemon that left them all but would keep the caller waiting; the flags tell who writes). First TERM, after a second KILL.
# $me is the caller, spared.
END_ALL = r"""
# Adds to $list. What was found stays in it, for a process whose parent has died is only known by its session.
victims() {
  more=1
  while [ -n "$more" ]; do
    more=
    for stat in /proc/[0-9]*/stat; do
      IFS= read -r line <"$stat" || continue
      pid=${line%% *}
      case $list in *" $pid "*) continue ;; esac
      [ "$pid" != "$me" ] || continue
      set -- ${line##*) }
      case $list in *" $2 "* | *" $3 "* | *" $4 "*) list="$list$pid " more=1 ;; esac
    done
  done
  [ -p "/proc/$top/fd/1" ] || return 0
  for fd in /proc/[0-9]*/fd/*; do
    [ "$fd" -ef "/proc/$top/fd/1" ] || [ "$fd" -ef "/proc/$top/fd/4" ] || continue
    pid=${fd#/proc/} pid=${pid%%/*}
    case $list in *" $pid "*) continue ;; esac
    [ "$pid" != "$me" ] || continue
    { read -r line flags && read -r line flags; } <"/proc/$pid/fdinfo/${fd##*/}" || continue
    case $flags in *[12]) list="$list$pid " ;; esac
  done
}
signal() {
  for pid in $list; do
    [ "$pid" = "$top" ] || kill -s "$1" "$pid"
  done
}
alive() {
  for pid in $list; do
    [ "$pid" != "$top" ] && IFS= read -r line <"/proc/$pid/stat" || continue
    case ${line##*) } in Z*) ;; *) return 0 ;; esac
  done
  return 1
}
end_all() {
  read -r me line </proc/self/stat
  list=" $top "
  victims
  signal TERM
  tries=10
  while alive && [ "$tries" -gt 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
  done
  victims
  signal KILL
}
"""

# $2 folder, $3 time limit in seconds or nothing, $4 creates, $5 removes, $6 1 to look only, $7 number of secrets (one line each on
# stdin, NAME=value with every byte as an octal escape), then the argv.
_COMMAND = r"""
folder=$2 limit=$3 creates=$4 removes=$5 look=$6 secrets=$7
shift 7
exists() { (IFS=; set -- $1; [ -e "$1" ] || [ -L "$1" ]); }
if [ -n "$folder" ]; then
  [ -d "$folder" ] || refuse "chdir: '$folder' is no folder in the guest"
  cd "$folder" || refuse "chdir: '$folder' cannot be entered"
  unset OLDPWD
fi
if [ -n "$creates" ] && exists "$creates"; then say skipped creates; exit 0; fi
if [ -n "$removes" ] && ! exists "$removes"; then say skipped removes; exit 0; fi
if [ -n "$look" ]; then say skipped look; exit 0; fi
watch() {
  trap 'kill $!; exit' TERM
  sleep "$limit" 4>&- &
  wait $!
  trap '' TERM
  say timeout
  end_all
}
AS_USER
if command -v setsid >/dev/null; then set -- setsid -- "$@"; fi
top=$$ watcher=
say start $$
if [ -n "$limit" ]; then
  watch >/dev/null &
  watcher=$!
fi
(
  while [ "$secrets" -gt 0 ]; do
    IFS= read -r line
    value=$(printf '%b.' "${line#*=}")
    export "${line%%=*}=${value%.}"
    secrets=$((secrets - 1))
  done
  exec "$@" 2>&4 4>&-
)
rc=$?
if [ -n "$watcher" ]; then
  kill "$watcher"
  wait "$watcher"
fi
say end $rc
exit $rc
"""

# $1: the script's pid, as its start marker told. Used when pct died, or did not come back, and left the command behind.
_CLEAN_UP = r"""
exec 2>/dev/null
top=$1
grep -q -e "$0" "/proc/$top/cmdline" || exit 0
end_all
kill -s KILL "$top"
"""


def command_words(token, user, words, folder="", limit=None, creates="", removes="", look=False, secrets=0):
    """Return the argv for the guest that runs ``words`` with everything that proxmox_lxc_exec offers.

    ``limit`` (seconds, None for none) is enforced inside the guest; ``look`` only evaluates ``creates`` and ``removes`` (which may
    be patterns). ``secrets`` is the number of secret variables that stdin starts with, see ``secret_lines``.
    """
    text = PRELUDE + END_ALL + _COMMAND.replace("AS_USER", AS_USER.strip())
    limit = "" if limit is None else "%g" % limit
    return [
        "/bin/sh", "-c", text, token, check_user(user), folder, limit, creates, removes, "1" if look else "", str(secrets), *words,
    ]  # fmt: skip


def clean_up_words(token, pid):
    """Return the argv for the guest that ends the command of ``token``, whose script has the number ``pid`` there."""
    return ["/bin/sh", "-c", END_ALL + _CLEAN_UP, token, str(pid)]


def secret_lines(variables):
    """Return ``variables`` (dict of str) as the lines (bytes) that ``command_words`` reads from stdin: no argv shows them."""
    lines = []
    for name, value in variables.items():
        lines.append(name.encode() + b"=" + b"".join(b"\\0%03o" % byte for byte in value.encode("utf-8", "surrogateescape")) + b"\n")
    return b"".join(lines)
