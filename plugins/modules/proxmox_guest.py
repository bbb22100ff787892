#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: proxmox_guest
short_description: Create, change, start and stop an LXC guest of a Proxmox node
version_added: 0.1.0
author:
  - kpro.sglang contributors (@kpro-sglang)
description:
  - Runs on the Proxmox node and needs nothing there but C(pct) and Python.
  - One call is one transaction. It creates the guest or changes it, starts, restarts or stops it, waits until its systemd has booted
    and installs Python in it.
  - Only options that are given are compared, so a guest that was made by hand is adopted as it is. It is never restarted unless
    O(restart) allows that.
  - A guest that exists is never created anew, moved, shrunk or destroyed.
attributes:
  check_mode:
    support: full
    description: Can run in check mode and says what would be changed, without writing, starting or stopping anything.
    details:
      - For a guest that does not exist, the diff shows the configuration that would be written, without what only the template and
        Proxmox itself decide (C(arch), C(ostype), hardware addresses).
      - A running guest is looked at with a script that only reads.
      - Whether a new device reaches a running guest without a restart depends on the release of Proxmox VE; check mode assumes that it
        does not.
  diff_mode:
    support: full
    description: Returns the guest's configuration file before and after.
options:
  vmid:
    description: The number of the guest.
    type: int
    required: true
  state:
    description:
      - V(present) creates or changes the guest and leaves it running or stopped as it is (a new one is stopped).
      - V(started) also starts it, V(stopped) also shuts it down (after 60 seconds it is ended hard).
    type: str
    choices: [present, started, stopped]
    default: present
  hostname:
    description: The name of the guest.
    type: str
  ostemplate:
    description:
      - Template to create the guest from, as a volume such as C(local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst)
        or as a path on the node.
      - Needed only where the guest does not exist; never compared.
    type: str
  storage:
    description: Storage of the root file system of a new guest. An existing one is not moved; a difference is a warning.
    type: str
  rootfs_gib:
    description:
      - Size of the root file system in GiB. An existing one is grown when it is smaller.
      - One that is larger stays as it is, with a warning.
    type: int
  cores:
    description: Number of CPU cores.
    type: int
  memory_mib:
    description: Memory limit in MiB.
    type: int
  swap_mib:
    description: Swap limit in MiB.
    type: int
  net:
    description:
      - Network interfaces, in the order of C(net0), C(net1), …
      - Each is a string as C(pct) takes it (C(name=eth0,bridge=vmbr0,ip=dhcp)) or a dictionary of the same fields
        (C(name), C(bridge), C(ip), C(gw), C(ip6), C(gw6), C(hwaddr), C(firewall), C(mtu), C(tag), C(trunks), C(rate), C(link_down)).
      - Compared by field. Fields that are not given keep their value, the hardware address too; V(null) in a dictionary takes a field away.
    type: list
    elements: raw
  nameserver:
    description: Name servers of the guest, separated by spaces.
    type: str
  searchdomain:
    description: Search domains of the guest, separated by spaces.
    type: str
  features:
    description:
      - Features to have, such as V(nesting) (which systemd in a guest needs), V(keyctl) or V(mount=nfs;cifs).
      - V(nesting=0) takes one away. Features that are not named stay as they are.
    type: list
    elements: str
  unprivileged:
    description: Whether a new guest is unprivileged. This cannot be changed afterwards; a difference is a warning.
    type: bool
  onboot:
    description: Whether the guest starts with the node.
    type: bool
  tags:
    description: All tags of the guest, compared as a set.
    type: list
    elements: str
  description:
    description: Description of the guest (the comment at the top of its configuration file).
    type: str
  devices:
    description:
      - Device nodes to pass into the guest, each as a path (V(/dev/nvidia0)) or as a dictionary with C(path), C(mode) (a string of four
        octal digits), C(uid) and C(gid) (numbers as seen in the guest) and C(deny_write).
      - A device keeps the C(dev) number that it has; a new one takes the lowest free number. Others stay, unless O(exact) says otherwise.
      - A device that the node does not have is an error, because the guest would not start.
    type: list
    elements: raw
  mountpoints:
    description:
      - Mount points, found again by their target. Others stay, unless O(exact) says otherwise.
    type: list
    elements: dict
    suboptions:
      source:
        description: A directory of the node (absolute, without symbolic links) or C(storage:GiB) for a new volume.
        type: str
        required: true
      target:
        description: Absolute path in the guest.
        type: str
        required: true
      read_only:
        description: Mount it read-only.
        type: bool
      backup:
        description: Include it in backups (volumes only).
        type: bool
      shared:
        description: The source is there on all nodes.
        type: bool
      idmap:
        description: Mapping of user and group numbers, such as V(passthrough) (Proxmox VE 9.1 and later).
        type: str
      mount_options:
        description: Options such as V(noatime).
        type: list
        elements: str
  raw_lxc:
    description:
      - 'Lines such as V(lxc.prlimit.memlock: unlimited), which C(pct) itself cannot set.'
      - For each key named here, the lines of that key become exactly these (compared as a set). All other keys stay.
    type: list
    elements: str
  initial:
    description:
      - Values for a guest that has to be created, where the option of the same name is not given.
      - An existing guest is not compared with them.
    type: dict
    suboptions:
      hostname:
        description: See O(hostname).
        type: str
      cores:
        description: See O(cores).
        type: int
      memory_mib:
        description: See O(memory_mib).
        type: int
      swap_mib:
        description: See O(swap_mib).
        type: int
      net:
        description: See O(net).
        type: list
        elements: raw
      nameserver:
        description: See O(nameserver).
        type: str
      searchdomain:
        description: See O(searchdomain).
        type: str
      features:
        description: See O(features).
        type: list
        elements: str
      onboot:
        description: See O(onboot).
        type: bool
      tags:
        description: See O(tags).
        type: list
        elements: str
      description:
        description: See O(description).
        type: str
  exact:
    description: Options whose list is complete, so that entries which it does not name are taken away from the guest.
    type: list
    elements: str
    choices: [net, features, devices, mountpoints]
    default: []
  restart:
    description:
      - Whether a running guest may be restarted when a change takes effect only then.
      - With V(never) such changes are written, and RV(guest.restart_needed) and a warning name them.
    type: str
    choices: [never, when_needed]
    default: never
  wait_for:
    description:
      - What to wait for in a guest that runs. V(systemd) waits until its boot has ended; failed units are named in a warning.
      - V(nothing) is for guests without systemd.
    type: str
    choices: [systemd, nothing]
    default: systemd
  timeout:
    description:
      - How long to wait for O(wait_for), in seconds. It ends as soon as the guest is up.
      - The option of the module, not the task keyword of the same name.
    type: int
    default: 120
  bootstrap_python:
    description:
      - Install C(python3) and C(python3-apt) with the guest's own apt-get when the guest runs and has no C(/usr/bin/python3).
    type: bool
    default: false
  hosts_entry:
    description:
      - Add the guest's own name to its C(/etc/hosts) when the guest cannot resolve it.
      - Programs that look up their own name (distributed initialisation does) stand still for about a minute otherwise.
    type: bool
    default: false
  pct_executable:
    description: Path of C(pct).
    type: path
    default: /usr/sbin/pct
seealso:
  - module: kpro.sglang.proxmox_lxc_exec
notes:
  - Needs root on the node; C(pct) refuses everybody else.
  - A guest under a configuration lock (a backup, a migration) is not changed; C(pct unlock) is never called.
"""

EXAMPLES = r"""
- name: A guest for SGLang with one GPU, started, with Python in it
  kpro.sglang.proxmox_guest:
    vmid: 129
    state: started
    hostname: sglang-1
    ostemplate: local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst
    storage: local-zfs
    rootfs_gib: 64
    cores: 16
    memory_mib: 65536
    swap_mib: 0
    features: [nesting]
    net:
      - name: eth0
        bridge: vmbr0
        ip: 10.1.230.172/16
        gw: 10.1.0.1
    devices:
      - /dev/nvidiactl
      - path: /dev/nvidia0
        mode: "0666"
      - path: /dev/nvidia-uvm
        mode: "0666"
    mountpoints:
      - source: /tank/models
        target: /models
        read_only: true
    raw_lxc:
      - "lxc.prlimit.memlock: unlimited"
    bootstrap_python: true
  delegate_to: kpro5-node

- name: More memory for a guest that serves; it is not restarted
  kpro.sglang.proxmox_guest:
    vmid: 129
    memory_mib: 98304
  delegate_to: kpro5-node

- name: Take exactly one device and restart the guest if that is needed
  kpro.sglang.proxmox_guest:
    vmid: 129
    devices: [/dev/nvidia0]
    exact: [devices]
    restart: when_needed
  delegate_to: kpro5-node
"""

RETURN = r"""
guest:
  description: The guest after the call (in check mode, as it would be). Also returned by a failed task, as far as it is known.
  type: dict
  returned: always, unless an option is wrong
  contains:
    vmid:
      description: Its number.
      type: int
    node:
      description: The name of the node.
      type: str
    exists:
      description: Whether it exists on this node.
      type: bool
    created:
      description: Whether this call created it.
      type: bool
    running:
      description: Whether it runs; V(null) when that was not found out.
      type: bool
    started:
      description: Whether this call started it.
      type: bool
    stopped:
      description: Whether this call stopped it.
      type: bool
    restarted:
      description: Whether this call restarted it.
      type: bool
    restart_needed:
      description: Why the running guest needs a restart, one sentence for each reason; empty when it does not.
      type: list
      elements: str
    changes:
      description: What was changed. The key is one of the configuration file, or C(status), C(python3), C(/etc/hosts).
      type: list
      elements: dict
      contains:
        key:
          description: What was changed.
          type: str
        before:
          description: Its value before, V(null) when it was not there.
          type: str
        after:
          description: Its value now, V(null) when it was taken away.
          type: str
    python_installed:
      description: Whether this call installed Python in the guest.
      type: bool
    hosts_entry_added:
      description: Whether this call added the guest's own name to its hosts file.
      type: bool
    python:
      description: Path of Python in the guest; V(null) when there is none, or the guest was not looked into.
      type: str
    system:
      description: What systemd of the guest says about itself, such as V(running) or V(degraded); V(null) when it was not asked.
      type: str
    failed_units:
      description: Failed units of the guest.
      type: list
      elements: str
    addresses:
      description: Global addresses of the guest, IPv4 and IPv6.
      type: list
      elements: str
    conf:
      description: The configuration. C(lxc) holds the raw lines, C(pending) what waits for the next start, C(snapshots) their names.
      type: dict
  sample:
    vmid: 129
    node: kpro5
    exists: true
    created: false
    running: true
    started: false
    restart_needed: []
    changes: [{"key": "memory", "before": "65536", "after": "98304"}]
failure:
  description: The kind of a failure outside the guest; V(null) for others.
  type: str
  returned: failure
  sample: guest_locked
pct:
  description: The call of C(pct) that failed, with C(cmd), C(rc) and C(stderr).
  type: dict
  returned: when pct failed
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct.guest import ensure_guest

MOUNTPOINT = {
    "source": {"type": "str", "required": True},
    "target": {"type": "str", "required": True},
    "read_only": {"type": "bool"},
    "backup": {"type": "bool"},
    "shared": {"type": "bool"},
    "idmap": {"type": "str"},
    "mount_options": {"type": "list", "elements": "str"},
}
# What may be given for a new guest only, too.
INITIAL = {
    "hostname": {"type": "str"},
    "cores": {"type": "int"},
    "memory_mib": {"type": "int"},
    "swap_mib": {"type": "int"},
    "net": {"type": "list", "elements": "raw"},
    "nameserver": {"type": "str"},
    "searchdomain": {"type": "str"},
    "features": {"type": "list", "elements": "str"},
    "onboot": {"type": "bool"},
    "tags": {"type": "list", "elements": "str"},
    "description": {"type": "str"},
}


def main():
    module = AnsibleModule(
        argument_spec={
            **INITIAL,
            "vmid": {"type": "int", "required": True},
            "state": {"type": "str", "choices": ["present", "started", "stopped"], "default": "present"},
            "ostemplate": {"type": "str"},
            "storage": {"type": "str"},
            "rootfs_gib": {"type": "int"},
            "unprivileged": {"type": "bool"},
            "devices": {"type": "list", "elements": "raw"},
            "mountpoints": {"type": "list", "elements": "dict", "options": MOUNTPOINT},
            "raw_lxc": {"type": "list", "elements": "str"},
            "initial": {"type": "dict", "options": INITIAL},
            "exact": {"type": "list", "elements": "str", "choices": ["net", "features", "devices", "mountpoints"], "default": []},
            "restart": {"type": "str", "choices": ["never", "when_needed"], "default": "never"},
            "wait_for": {"type": "str", "choices": ["systemd", "nothing"], "default": "systemd"},
            "timeout": {"type": "int", "default": 120},
            "bootstrap_python": {"type": "bool", "default": False},
            "hosts_entry": {"type": "bool", "default": False},
            "pct_executable": {"type": "path", "default": "/usr/sbin/pct"},
        },
        supports_check_mode=True,
    )
    try:
        result = ensure_guest(module.params, module.check_mode)
    except KproError as error:
        result = dict(error.result)
        for warning in result.pop("warnings", []):
            module.warn(warning)
        module.fail_json(msg=error.message, **result)
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
