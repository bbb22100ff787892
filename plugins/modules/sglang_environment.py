#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sglang_environment
short_description: Makes the Python environment of one SGLang release
version_added: 0.1.0
description:
  - Makes one virtual environment for each release and lock, at C(<root>/<version>-<digest>), so that going back to an earlier release
    is going back to its directory. The digest is that of O(lock).
  - The environment is built where it stays, and a marker file is written last. A directory without the marker is the leftover of an
    interrupted run and is built again. A second run changes nothing.
  - With O(existing) nothing is installed and the Python of an image that ships SGLang is verified.
  - Neither SGLang nor torch is imported.
author:
  - kpro.sglang contributors (@kpro-sglang)
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
    details: What an installation would lack (wheels, an interpreter, space) is a warning then, since an earlier task may bring it.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  state:
    description:
      - V(present) makes the environment, V(absent) removes the one that the same O(root), O(version), O(lock) and O(constraints) name.
      - An environment from which a process runs is neither removed nor built again.
    type: str
    choices: [present, absent]
    default: present
  root:
    description:
      - Absolute path of the directory that holds the environments.
    type: path
    default: /opt/sglang/venvs
  version:
    description:
      - The release of SGLang, for example V(0.5.17).
    type: str
    required: true
  lock:
    description:
      - Every package of the environment, pinned as C(name==version), SGLang included; hashes (C(--hash=sha256:...)) may follow.
        Blank lines and comments are left out.
      - With a lock nothing is resolved, and exactly these packages are installed.
      - Without it, or with an empty list, C(sglang==version) is installed with the dependencies that the installer chooses.
    type: list
    elements: str
  constraints:
    description:
      - Requirements such as C(numpy<3) that limit what the installer chooses. Only without O(lock).
    type: list
    elements: str
  wheel_dir:
    description:
      - Absolute path of a directory of wheels on the target. With it no package index is asked.
    type: path
  index_url:
    description:
      - The package index. A user and a password in it are kept off command lines and out of results.
      - Without it the configuration of pip or uv on the target decides.
    type: str
  extra_index_urls:
    description:
      - Further package indexes.
    type: list
    elements: str
  installer:
    description:
      - V(auto) takes uv when it is on the PATH or in C(/usr/local/bin), else pip.
    type: str
    choices: [auto, uv, pip]
    default: auto
  python:
    description:
      - Absolute path of the interpreter that the environment is made from.
    type: path
    default: /usr/bin/python3
  compile:
    description:
      - Whether bytecode is compiled at the end, by all cores. The user of a server cannot write it later, and a start without it takes
        twice as long.
    type: bool
    default: true
  existing:
    description:
      - Absolute path of a Python that has SGLang already, as images of GPU hosters do. It is verified, nothing is installed, and the
        options of installing are left aside.
    type: path
  min_free_gib:
    description:
      - GiB that must be free on the file system of O(root) before anything is installed. A CPU lock needs about 3, a CUDA one about 12.
    type: float
    default: 4
  timeout:
    description:
      - Seconds for everything. This is also the name of a task keyword, which is a different thing.
    type: int
    default: 3600
requirements:
  - uv, or the venv module of O(python) with ensurepip (Debian and Ubuntu, C(python3-venv))
seealso:
  - module: kpro.sglang.sglang_server
"""

EXAMPLES = r"""
- name: Install a locked release from wheels on the target
  kpro.sglang.sglang_environment:
    version: 0.5.17
    lock: "{{ lookup('ansible.builtin.file', 'sglang-0.5.17.txt').splitlines() }}"
    wheel_dir: /srv/wheels
  register: sglang_environment

- name: Use what the image ships
  kpro.sglang.sglang_environment:
    version: 0.5.17
    existing: /opt/venv/bin/python

- name: Remove an environment that is no longer needed
  kpro.sglang.sglang_environment:
    state: absent
    version: 0.5.16
    lock: "{{ lookup('ansible.builtin.file', 'sglang-0.5.16.txt').splitlines() }}"
"""

RETURN = r"""
msg:
  description: One sentence; when the installer failed, its own last words and what to change.
  returned: always
  type: str
environment:
  description: The environment. In check mode values that only an installation can tell are null.
  returned: success
  type: dict
  contains:
    path:
      description: Its directory.
      type: str
      returned: always
    python:
      description: Its interpreter.
      type: str
      returned: always
    version:
      description: The release of SGLang.
      type: str
      returned: always
    lock_digest:
      description: The sha256 (hex) of the lock, or null with O(existing).
      type: str
      returned: always
    installer:
      description: V(uv) or V(pip), or null with O(existing).
      type: str
      returned: always
    python_version:
      description: The version of the interpreter.
      type: str
      returned: always
      sample: 3.11.2
    packages_count:
      description: How many packages it holds.
      type: int
      returned: always
    created:
      description: When it was made (UTC), or null with O(existing).
      type: str
      returned: always
      sample: "2026-01-31T12:00:00Z"
    existing:
      description: Whether it was there before and is not ours.
      type: bool
      returned: always
cause:
  description: The id of the cause where one is known, as M(kpro.sglang.log_diagnose) names it, or null.
  returned: failure of the installer, or too little space
  type: str
  sample: disk_full
installer_output:
  description: The last 4000 characters that the installer printed, credentials replaced.
  returned: failure of the installer
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._environment.environment import absent, present, use_existing
from ansible_collections.kpro.sglang.plugins.module_utils._environment.installer import Source
from ansible_collections.kpro.sglang.plugins.module_utils._environment.redact import redact
from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError


def run_state(params, source, check_mode):
    if params["state"] == "absent":
        return absent(params["root"], params["version"], params["lock"], params["constraints"], check_mode)
    if params["existing"]:
        return use_existing(params["existing"], params["version"])
    return present(
        root=params["root"],
        version=params["version"],
        lock_lines=params["lock"],
        constraints=params["constraints"],
        source=source,
        python=params["python"],
        installer=params["installer"],
        compile_all=params["compile"],
        min_free_gib=params["min_free_gib"],
        timeout=params["timeout"],
        check_mode=check_mode,
    )


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "root": {"type": "path", "default": "/opt/sglang/venvs"},
            "version": {"type": "str", "required": True},
            "lock": {"type": "list", "elements": "str"},
            "constraints": {"type": "list", "elements": "str"},
            "wheel_dir": {"type": "path"},
            "index_url": {"type": "str"},
            "extra_index_urls": {"type": "list", "elements": "str"},
            "installer": {"type": "str", "choices": ["auto", "uv", "pip"], "default": "auto"},
            "python": {"type": "path", "default": "/usr/bin/python3"},
            "compile": {"type": "bool", "default": True},
            "existing": {"type": "path"},
            "min_free_gib": {"type": "float", "default": 4},
            "timeout": {"type": "int", "default": 3600},
        },
        mutually_exclusive=[("wheel_dir", "index_url"), ("wheel_dir", "extra_index_urls")],
        supports_check_mode=True,
    )
    params = module.params
    source = Source(params["wheel_dir"], params["index_url"], params["extra_index_urls"])
    # The parameters come back as `invocation`: without credentials.
    params["index_url"] = redact(params["index_url"]) if params["index_url"] else params["index_url"]
    params["extra_index_urls"] = (
        [redact(url) for url in params["extra_index_urls"]] if params["extra_index_urls"] else params["extra_index_urls"]
    )
    try:
        result = run_state(params, source, module.check_mode)
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    for note in result.pop("notes", []):
        module.warn(note)
    if not module._diff:
        result.pop("diff", None)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
