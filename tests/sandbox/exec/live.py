"""Live guests for the tests of proxmox_lxc_exec and of the connection plugin, and Ansible to reach them."""

from __future__ import annotations

import atexit
import dataclasses
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

from kpro_sandbox import settings  # noqa: E402  (tests/sandbox/conftest.py has put sandbox/ on the path)

FIRST = 9300
LOGIN = "kpro-operator"

# What a sudoers line with NOPASSWD for pct alone does. A double of sudo, because the node has none; nothing else is doubled.
SUDO = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  if (argc < 3 || strcmp(argv[1], "-n")) return 1;
  if (strcmp(argv[2], "/usr/sbin/pct") || access("/etc/kpro-sudoers", F_OK)) { fputs("sudo: a password is required\n", stderr); return 1; }
  if (setgid(0) || setuid(0)) return 1;
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
"""


def _guests_class():
    """The guests of the pct tests, under numbers of our own: both test files may run at the same time."""
    spec = importlib.util.spec_from_file_location("kpro_pct_guests", HERE.parent / "pct" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FIRST = FIRST
    module.WORK = "/root/kpro-exec-cases"

    class Guests(module.Guests):
        numbers = {case: FIRST + case - 100 for case in range(100, 106)}

        def pct(self, *words, cwd="/root", **options):
            return super().pct(*words, cwd=cwd, **options)

    return Guests


class Unsafe(str):
    """Text that Ansible must not take for a template."""

    __slots__ = ()


class Dumper(yaml.SafeDumper):
    """YAML with Unsafe marked as such."""


Dumper.add_representer(Unsafe, lambda dumper, text: dumper.represent_scalar("!unsafe", str(text), style='"'))


def unsafe(value):
    """``value`` with every text in it that looks like a template, however deep, marked."""
    if isinstance(value, dict):
        return {key: unsafe(part) for key, part in value.items()}
    if isinstance(value, list):
        return [unsafe(part) for part in value]
    # Ansible cannot read every text that is so marked ("*"), and only braces make a template.
    return Unsafe(value) if isinstance(value, str) and "{" in value else value


_made = []


def give_python(made, vmid):
    """Put this machine's Debian Python into a guest, which has no network to install one from; what the guest has stays."""
    modules = pathlib.Path("/usr/lib/python3.11")
    programs = ["/usr/bin/python3.11", *map(str, (modules / "lib-dynload").glob("*.so"))]
    listed = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True).stdout
    libraries = {line.split()[2] for line in listed.splitlines() if "=> /" in line}
    files = ["/usr/bin/python3", "/usr/bin/python3.11", str(modules), *sorted(libraries)]
    tar = subprocess.run(["tar", "ch", "--exclude=test", "--exclude=__pycache__", *files], check=True, capture_output=True).stdout
    done = made.pct("exec", str(vmid), "--", "tar", "x", "--skip-old-files", "-C", "/", stdin=tar)
    assert done.returncode == 0, done.stderr


def _remove(made):
    made.remove()
    made.node.run(["sh", "-c", 'userdel -r "$1"; rm -f /usr/local/bin/sudo /etc/kpro-sudoers', "sh", LOGIN])


def guests(node):
    """The guests, made once for a whole test session."""
    if not _made:
        made = _guests_class()(node)
        made.remove()
        atexit.register(_remove, made)
        made.make()
        give_python(made, made.numbers[100])
        made.sh(
            # The node's sshd takes one key for all users; without PAM it refuses accounts whose password is locked with "!".
            'id "$1" 2>/dev/null || useradd -m -s /bin/bash "$1"; usermod -p "*" "$1"; '
            "cat > /usr/local/bin/sudo.c; gcc -o /usr/local/bin/sudo /usr/local/bin/sudo.c; "
            "rm /usr/local/bin/sudo.c; chmod 4755 /usr/local/bin/sudo",
            LOGIN,
            stdin=SUDO.encode(),
        )
        _made.append(made)
    return _made[0]


@dataclasses.dataclass
class Run:
    """One ansible-playbook: exit status, what it printed, and the results of its tasks in order as (host, task, status, result)."""

    rc: int
    text: str
    results: list

    def of(self, task, host=None):
        """The one result of the task of this name."""
        found = [{**result, "failed": status in ("failed", "unreachable")} for at, name, status, result in self.results
                 if name == task and host in (None, at)]  # fmt: skip
        assert len(found) == 1, (task, self.text[-3000:])
        return found[0]

    def status(self, task, host=None):
        """ok, failed, unreachable or skipped."""
        found = [status for at, name, status, _result in self.results if name == task and host in (None, at)]
        assert len(found) == 1, (task, self.text[-3000:])
        return found[0]


class Ansible:
    """Runs plays against the node (host ``node``) and its guests (hosts named by the test)."""

    program = pathlib.Path(sys.executable).with_name("ansible-playbook")

    def __init__(self, made):
        self.guests = made
        self.hosts = {"node": {"ansible_connection": "ssh", "ansible_host": settings.UPLINK_NODE}}

    def guest(self, name, case=100, **variables):
        """Add the host ``name``: the guest that the cases call ``case``."""
        number = self.guests.numbers.get(case, case)
        self.hosts[name] = {
            "ansible_connection": "kpro.sglang.proxmox_pct",
            "ansible_host": settings.UPLINK_NODE,
            "proxmox_vmid": number,
            **variables,
        }
        return name

    def inventory(self):
        state = settings.STATE
        return {
            "all": {
                "hosts": self.hosts,
                "vars": {
                    "ansible_user": "root",
                    "ansible_python_interpreter": "/usr/bin/python3",
                    "ansible_pipelining": True,
                    "ansible_ssh_private_key_file": f"{state}/id_ed25519",
                    "ansible_ssh_common_args": f"-o UserKnownHostsFile={state}/known_hosts -o IdentitiesOnly=yes",
                },
            }
        }

    def play(self, hosts, tasks, forks=5, timeout=300, environment=None, **keywords):
        """Run ``tasks`` (list of dict) on ``hosts`` and return a Run."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "hosts.yml").write_text(yaml.safe_dump(self.inventory(), allow_unicode=True))
            play = [{"hosts": hosts, "gather_facts": False, **keywords, "tasks": tasks}]
            (folder / "play.yml").write_text(yaml.dump(play, Dumper=Dumper, allow_unicode=True, sort_keys=False))
            (folder / "ansible.cfg").write_text("[defaults]\n")
            done = subprocess.run(
                [str(self.program), "-i", "hosts.yml", "-f", str(forks), "play.yml"],
                cwd=folder,
                env={
                    **os.environ,
                    "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
                    "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                    "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback"),
                    "ANSIBLE_CALLBACKS_ENABLED": "kpro_record",
                    "KPRO_RECORD": str(folder / "record"),
                    **(environment or {}),
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout,
            )
            record = folder / "record"
            lines = record.read_text().splitlines() if record.exists() else []
            return Run(done.returncode, done.stdout + done.stderr, [json.loads(line) for line in lines])
