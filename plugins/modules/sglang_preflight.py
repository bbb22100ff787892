#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sglang_preflight
short_description: Checks a host before SGLang servers are started on it
version_added: 0.1.0
description:
  - Looks once at the host for all its servers and says what would make a launch fail, before anything is stopped or loaded.
  - Ports (the holder of a taken one is named), names and GPUs given twice, arguments, GPUs that are not there, disk, memory,
    C(/dev/shm), the interpreter of the environment, the init system, and whether the host resolves its own name.
  - Nothing is changed.
author:
  - kpro.sglang contributors (@kpro-sglang)
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: N/A
    details: The module changes nothing.
options:
  servers:
    description:
      - The servers that are to run on this host.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the server.
        type: str
        required: true
      host:
        description:
          - The address it listens on; V(127.0.0.1) without it and without C(host) in O(servers[].args).
        type: str
      port:
        description:
          - The port it listens on; V(30000) without it and without C(port) in O(servers[].args).
        type: int
      model:
        description:
          - Path of its model. The directory itself is checked by M(kpro.sglang.sglang_model_info).
        type: str
      args:
        description:
          - Flags of SGLang without the leading dashes, C(-) and C(_) alike, aliases as SGLang has them. V(true) for a bare flag, V(false)
            or null to leave it out, lists for repeated values.
          - Keys that look like secrets are refused.
          - This is also the name of a task keyword, which is a different thing.
        type: dict
      gpus:
        description:
          - Its GPUs by index, UUID or PCI address; without it all of the host.
        type: list
        elements: str
      user:
        description:
          - The user that it runs as.
        type: str
      unit:
        description:
          - The systemd unit of this server. When that unit holds the port already, the port is not taken.
        type: str
      pids:
        description:
          - Process ids of this server where no unit has it. When one of them or a child holds the port already, the port is not taken.
        type: list
        elements: int
  disk:
    description:
      - Free space that is needed.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description:
          - A path on the file system; it need not exist yet.
        type: path
        required: true
      min_free_gib:
        description:
          - GiB that must be free there.
        type: float
        required: true
  require_gpu:
    description:
      - Whether it is a problem when the host has no GPU. It needs O(gpu_memory).
    type: bool
    default: false
  gpu_memory:
    description:
      - C(ansible_facts.gpu_memory) as M(kpro.sglang.gpu_memory_facts) returns it. Without it no GPU is looked for, and names of GPUs are
        only compared with each other.
    type: dict
  python:
    description:
      - The interpreter of the environment that the servers run from.
    type: path
  supervisor:
    description:
      - What is to look after the servers. V(auto) takes systemd where it runs the host.
    type: str
    choices: [auto, systemd, detached]
    default: auto
  min_shm_gib:
    description:
      - GiB that C(/dev/shm) must have when a server uses more than one GPU.
    type: float
    default: 8
  min_memory_gib:
    description:
      - GiB of memory that the host must have in all. Without it the memory is only told.
    type: float
  fail:
    description:
      - Whether the task fails when there is a problem. With V(false) only RV(ok) says so.
    type: bool
    default: true
seealso:
  - module: kpro.sglang.sglang_model_info
  - module: kpro.sglang.gpu_memory_facts
"""

EXAMPLES = r"""
- name: Look at the GPUs
  kpro.sglang.gpu_memory_facts:

- name: Check the host for its servers
  kpro.sglang.sglang_preflight:
    servers:
      - name: qwen
        model: /models/Qwen3.6-27B
        port: 30000
        args:
          tp: 2
        unit: sglang-qwen.service
    disk:
      - path: /var/lib/sglang
        min_free_gib: 10
    require_gpu: true
    gpu_memory: "{{ ansible_facts.gpu_memory }}"
"""

RETURN = r"""
msg:
  description: The text for people, at most about twelve lines, the first problem first.
  returned: always
  type: str
  sample: |-
    Preflight found 1 problem:
    qwen: port 30000 is held by process 812 (python3, of no unit)
      -> Stop process 812, or give the server another port.
ok:
  description: Whether there is no problem.
  returned: always
  type: bool
supervisor:
  description: What looks after servers on this host, V(systemd) or V(detached).
  returned: always
  type: str
problems:
  description: Everything that would make a launch fail.
  returned: always
  type: list
  elements: dict
  contains:
    check:
      description: The check that found it.
      type: str
      returned: always
      sample: port
    server:
      description: The server it concerns, or null for the host.
      type: str
      returned: always
    problem:
      description: What is wrong, one sentence.
      type: str
      returned: always
    cause:
      description: The id of the cause, as M(kpro.sglang.log_diagnose) names it, or null.
      type: str
      returned: always
      sample: port_in_use
    evidence:
      description: The fact behind it, or null.
      type: str
      returned: always
    do:
      description: What to change.
      type: str
      returned: always
checks:
  description: Every check that was made, in order.
  returned: always
  type: list
  elements: dict
  contains:
    check:
      description: Its name.
      type: str
      returned: always
    server:
      description: The server it concerns, or null for the host.
      type: str
      returned: always
    ok:
      description: Whether it is right.
      type: bool
      returned: always
    detail:
      description: What was seen.
      type: str
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._preflight.preflight import check_host
from ansible_collections.kpro.sglang.plugins.module_utils._sglang.arguments import is_secret_name


def hide_secrets(args):
    """Arguments with the values under secret names replaced: such names are refused, and their values are needed for nothing."""
    return {key: "***" if isinstance(key, str) and is_secret_name(key) else value for key, value in args.items()} if args else args


def main():
    server = {
        "name": {"type": "str", "required": True},
        "host": {"type": "str"},
        "port": {"type": "int"},
        "model": {"type": "str"},
        "args": {"type": "dict"},
        "gpus": {"type": "list", "elements": "str"},
        "user": {"type": "str"},
        "unit": {"type": "str"},
        "pids": {"type": "list", "elements": "int"},
    }
    disk = {"path": {"type": "path", "required": True}, "min_free_gib": {"type": "float", "required": True}}
    module = AnsibleModule(
        argument_spec={
            "servers": {"type": "list", "elements": "dict", "default": [], "options": server},
            "disk": {"type": "list", "elements": "dict", "default": [], "options": disk},
            "require_gpu": {"type": "bool", "default": False},
            "gpu_memory": {"type": "dict"},
            "python": {"type": "path"},
            "supervisor": {"type": "str", "choices": ["auto", "systemd", "detached"], "default": "auto"},
            "min_shm_gib": {"type": "float", "default": 8},
            "min_memory_gib": {"type": "float"},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    params = dict(module.params)
    fail = params.pop("fail")
    for entry in params["servers"]:  # the parameters come back as `invocation`; a refused secret must not
        entry["args"] = hide_secrets(entry["args"])
    if params["require_gpu"] and params["gpu_memory"] is None:
        module.fail_json(
            msg="require_gpu is true, and gpu_memory is not given; pass ansible_facts.gpu_memory of kpro.sglang.gpu_memory_facts"
        )
    try:
        result = check_host(**params)
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    if fail and not result["ok"]:
        module.fail_json(**result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
