"""A pct for unit tests whose guest is this machine: it enters nothing, but clears the environment and answers as pct does."""

from __future__ import annotations

import pathlib
import sys
import textwrap

PROGRAM = r"""
import os, sys, time
words = sys.argv[1:]
if words[:1] == ["-n"]:
    vmid, words, clear = words[1], words[2:], words[2] == "--clear-env"
else:
    vmid, words, clear = words[1], words[2:], "--keep-env 0" in " ".join(words)
words = words[words.index("--") + 1:]
answers = {
    "101": (255, "container '101' not running!"),
    "102": (2, "Configuration file 'nodes/%s/lxc/102.conf' does not exist" % os.uname().nodename),
    "104": (4, "trying to acquire lock...\ncan't lock file '/run/lock/lxc/pve-config-104.lock' - got timeout"),
    "106": (2, "please run as root"),
    "107": (2, "400 unable to parse option\npct exec <vmid> [<extra-args>] [OPTIONS]"),
    "108": (255, "ipcc_send_rec[1] failed: Connection refused"),
    "109": (1, "something that nobody has seen"),
}
if vmid in answers:
    sys.stderr.write(answers[vmid][1] + "\n")
    os._exit(answers[vmid][0])
if vmid == "105":
    time.sleep(60)
if vmid == "110":
    sys.stderr.write("vm 110 - unable to parse value of 'foo' - unknown setting 'foo'\n")
    sys.stderr.write("perl: warning: Setting locale failed.\n")
    sys.stderr.flush()
environment = {} if clear else dict(os.environ)
environment.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container="lxc", TERM="linux")
if vmid == "111":
    import subprocess
    subprocess.run(words, env=environment)
    os._exit(0)  # as LXC 3.0.4 did, whatever the command's status was
if vmid == "112":
    import signal, subprocess
    child = subprocess.Popen(words, env=environment, start_new_session=True)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
shell = "@SHELL@"
os.execve(shell if words[0] == "/bin/sh" else words[0], [shell if words[0] == "/bin/sh" else words[0]] + words[1:], environment)
"""


def write_pct(folder, shell="/bin/sh"):
    """Write the program into ``folder``; its guests' /bin/sh is ``shell``. Return its path as str."""
    path = pathlib.Path(folder) / "pct"
    path.write_text("#!%s -SE\n%s" % (sys.executable, textwrap.dedent(PROGRAM).replace("@SHELL@", shell)))
    path.chmod(0o755)
    return str(path)
