"""How fast the connection plugin is, beside what one would use otherwise. Needs the sandbox (make sandbox-up) and root.

usage: connection.py [--vmid N] [--tasks N] [--mib N] [--rounds N] [--peer FOLDER]

Thirty small tasks in a guest, by this plugin (pct, lxc-attach), by community.proxmox's proxmox_pct_remote (when Ansible finds that
collection, or in the collections folder given by --peer; it needs paramiko) and by plain ssh into the guest, for which an sshd
is put into it. Then one file of 256 MiB, by the plugin and by scp. All in one run, in turns, so that a busy machine slows all alike;
the best of the rounds counts, and the table shows ratios.

The sandbox's pct is a Python program that starts in about a quarter of a second; the real one is Perl and takes 0.6 to 1.2 s on two
cores, once per task with this plugin and six times with proxmox_pct_remote: the ratio on a real node is larger.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sandbox"))
sys.dont_write_bytecode = True

from kpro_sandbox import namespaces, settings  # noqa: E402

SSHD = "/root/kpro-benchmark"
PORT = 2222
PEER = "community.proxmox.proxmox_pct_remote"

# Runs in a process of its own, so that its peak of memory is that of one transfer.
TRANSFER = """
import resource, sys, time, yaml
sys.path.insert(0, sys.argv[1])
from ansible import constants as C
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import become_loader
from ansible_collections.kpro.sglang.plugins.connection import proxmox_pct
from ansible_collections.kpro.sglang.plugins.doc_fragments import core_ssh
name = "kpro.sglang.proxmox_pct"
C.config.initialize_plugin_configuration_definitions(
    "connection", name, {**core_ssh.core_options(), **yaml.safe_load(proxmox_pct.DOCUMENTATION)["options"]})
context = PlayContext()
plugin = proxmox_pct.Connection(context, None)
plugin._load_name = name
plugin.set_options(var_options=yaml.safe_load(sys.argv[2]))
plugin.set_become_plugin(become_loader.get("sudo"))
plugin.exec_command("true")
start = time.monotonic()
getattr(plugin, sys.argv[3])(sys.argv[4], sys.argv[5])
print(time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def in_guest(vmid, script, stdin=b""):
    argv = namespaces.enter_argv("/usr/sbin/pct", "exec", str(vmid), "--", "/bin/sh", "-ec", script)
    return subprocess.run(argv, input=stdin, check=True, capture_output=True).stdout


def put_sshd(vmid):
    """Start this machine's sshd, with its libraries, in the guest; the guest itself is not changed outside of one folder."""
    listed = subprocess.run(["ldd", "/usr/sbin/sshd"], check=True, capture_output=True, text=True).stdout
    libraries = [line.split()[2] for line in listed.splitlines() if "=> /" in line]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "lib").mkdir()
        for library in libraries:
            shutil.copy(library, folder / "lib")
        shutil.copy("/usr/sbin/sshd", folder)
        shutil.copy(settings.STATE / "host_ed25519", folder / "key")
        shutil.copy(settings.STATE / "id_ed25519.pub", folder / "authorized_keys")
        lines = [f"Port {PORT}", f"HostKey {SSHD}/key", f"AuthorizedKeysFile {SSHD}/authorized_keys", f"PidFile {SSHD}/pid",
                 "StrictModes no", "UsePAM no", "PermitRootLogin prohibit-password", "Subsystem sftp internal-sftp"]  # fmt: skip
        (folder / "config").write_text("\n".join(lines) + "\n")
        tar = subprocess.run(["tar", "c", "-C", str(folder), "."], check=True, capture_output=True).stdout
    in_guest(vmid, f"mkdir -p {SSHD}; tar x -C {SSHD}; chmod 600 {SSHD}/key", tar)
    script = (
        "mkdir -p /run/sshd; grep -q ^sshd: /etc/passwd || echo sshd:x:102:65534::/run/sshd:/usr/sbin/nologin >>/etc/passwd; "
        "sed -i 's/^root:[!*]*:/root:*:/' /etc/shadow; "
        f"LD_LIBRARY_PATH={SSHD}/lib setsid {SSHD}/sshd -f {SSHD}/config </dev/null >{SSHD}/log 2>&1"
    )
    in_guest(vmid, script)


def remove_sshd(vmid):
    in_guest(vmid, f'[ ! -s {SSHD}/pid ] || kill "$(cat {SSHD}/pid)"; rm -rf {SSHD} {SSHD}-file')


def address_of(vmid):
    words = in_guest(vmid, "hostname -I || ip -o -4 address show eth0").decode().split()
    return next(word.split("/")[0] for word in words if word.startswith("10."))


def hosts(vmid, folder):
    known = folder / "known_hosts"
    key = (settings.STATE / "host_ed25519.pub").read_text().split()
    address = address_of(vmid)
    names = (settings.UPLINK_NODE, address, f"[{address}]:{PORT}")
    known.write_text("".join(f"{name} {key[0]} {key[1]}\n" for name in names))
    node = {
        "ansible_host": settings.UPLINK_NODE, "ansible_user": "root", "ansible_ssh_private_key_file": f"{settings.STATE}/id_ed25519",
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known} -o IdentitiesOnly=yes", "proxmox_vmid": vmid,
        "ansible_python_interpreter": "/usr/bin/python3",
    }  # fmt: skip
    ours = {**node, "ansible_connection": "kpro.sglang.proxmox_pct"}
    return {
        "pct": ours,
        "lxc-attach": {**ours, "proxmox_pct_method": "lxc-attach"},
        "proxmox_pct_remote": {**node, "ansible_connection": PEER, "ansible_paramiko_host_key_checking": False},
        "ssh": {**node, "ansible_connection": "ssh", "ansible_host": address, "ansible_port": PORT, "ansible_pipelining": True},
    }


class Plays:
    """Runs plays of small tasks; ``collections`` is where Ansible looks for collections."""

    def __init__(self, folder, inventory, collections):
        self.folder = folder
        (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": inventory}}))
        self.environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": ":".join(collections), "ANSIBLE_CONFIG": str(folder / "ansible.cfg")}
        (folder / "ansible.cfg").write_text("[defaults]\n")

    def seconds(self, host, tasks):
        play = [{"hosts": host, "gather_facts": False, "tasks": [{"ansible.builtin.command": "true"}] * tasks}]
        (self.folder / "play.yml").write_text(yaml.safe_dump(play))
        program = pathlib.Path(sys.executable).with_name("ansible-playbook")
        start = time.monotonic()
        done = subprocess.run(
            [str(program), "-i", "hosts.yml", "play.yml"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{host}: the play failed\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return time.monotonic() - start


def has_peer(collections):
    places = [*collections, os.path.expanduser("~/.ansible/collections"), "/usr/share/ansible/collections"]
    found = any((pathlib.Path(place) / "ansible_collections/community/proxmox").is_dir() for place in places)
    paramiko = subprocess.run([sys.executable, "-c", "import paramiko"], capture_output=True, check=False).returncode == 0
    return found and paramiko


def transfer(host, action, source, target):
    """Return (seconds, MiB of memory at the peak) of one file by the plugin."""
    argv = [sys.executable, "-c", TRANSFER, str(ROOT / ".collections"), yaml.safe_dump(host), action, str(source), str(target)]
    seconds, memory = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(memory)


def scp(host, source, target):
    options = [*host["ansible_ssh_common_args"].split(), "-o", f"IdentityFile={host['ansible_ssh_private_key_file']}"]
    start = time.monotonic()
    argv = ["scp", "-q", "-P", str(PORT), *options, str(source), f"root@{host['ansible_host']}:{target}"]
    subprocess.run(argv, check=True)
    return time.monotonic() - start


def table(rows):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vmid", type=int, default=129)
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--peer", help="a collections folder that has community.proxmox")
    options = parser.parse_args()
    collections = [str(ROOT / ".collections")] + ([options.peer] if options.peer else [])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        put_sshd(options.vmid)
        try:
            measure(options, folder, collections)
        finally:
            remove_sshd(options.vmid)


def measure(options, folder, collections):
    inventory = hosts(options.vmid, folder)
    if not has_peer(collections):
        say("community.proxmox or paramiko is not installed: proxmox_pct_remote is left out")
        del inventory["proxmox_pct_remote"]
    plays = Plays(folder, inventory, collections)
    best = {}
    for turn in range(options.rounds):
        for host in inventory:
            seconds = plays.seconds(host, options.tasks)
            best[host] = min(seconds, best.get(host, seconds))
            say(f"round {turn + 1}: {options.tasks} tasks by {host}: {seconds:.1f} s")
    rows = [("", "seconds", "per task", "of ssh", "of proxmox_pct_remote")]
    for host, seconds in best.items():
        peer = f"{seconds / best['proxmox_pct_remote']:.2f}" if "proxmox_pct_remote" in best else "-"
        rows.append((host, f"{seconds:.1f}", f"{seconds / options.tasks:.2f}", f"{seconds / best['ssh']:.2f}", peer))
    table([(f"{options.tasks} tasks", *rows[0][1:]), *rows[1:]])

    source = folder / "file"
    with source.open("wb") as stream:
        for _unused in range(options.mib):
            stream.write(os.urandom(1 << 20))
    small = folder / "small"
    small.write_bytes(b"x" * 1024)
    target = f"{SSHD}-file"
    memory = transfer(inventory["pct"], "put_file", small, target)[1]
    found = {}
    for _unused in range(options.rounds):
        for name, seconds, peak in (
            ("put by pct", *transfer(inventory["pct"], "put_file", source, target)),
            ("fetch by pct", *transfer(inventory["pct"], "fetch_file", target, folder / "back")),
            ("scp", scp(inventory["ssh"], source, target), 0.0),
        ):
            say(f"{options.mib} MiB, {name}: {seconds:.1f} s")
            found[name] = min((seconds, peak), found.get(name, (seconds, peak)))
    rows = [(f"{options.mib} MiB", "seconds", "MiB/s", "of scp's rate", "memory, MiB")]
    for name, (seconds, peak) in found.items():
        rows.append(
            (name, f"{seconds:.2f}", f"{options.mib / seconds:.0f}", f"{found['scp'][0] / seconds:.2f}", f"{peak:.0f}" if peak else "-")
        )
    table(rows)
    print(f"memory for a file of 1 KiB: {memory:.0f} MiB")


if __name__ == "__main__":
    main()
