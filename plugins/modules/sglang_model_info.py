#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sglang_model_info
short_description: Checks that a model on the target is complete and readable before a server is started
version_added: 0.1.0
description:
  - Looks at a model directory (or one GGUF file) on the target and says whether a SGLang server can load it. SGLang can come up and
    answer nonsense with a missing shard, and it notices a truncated one only after minutes.
  - Only names, sizes and headers are read, never tensor data, so that hundreds of GiB take a second or two.
  - Finds missing, empty, truncated and padded files, Git LFS pointers and error pages saved under the name of a file, an index and
    shards that do not belong together, damaged JSON, a missing tokenizer, and permissions that keep the user of the service out.
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
  path:
    description:
      - Absolute path of the model directory on the target, or of one C(.gguf) file.
      - Names of a model hub are not looked up.
    type: path
    required: true
  user:
    description:
      - The user that the server runs as. Mode bits and ACLs of every directory above the model and of every file that is read are
        checked for this user, symbolic links followed.
      - Without it only the user that runs the module counts, which is usually root and may read everything.
      - A user that does not exist is an error, and a warning in check mode, where the task that makes it has not run.
    type: str
  tokenizer:
    description:
      - Whether there must be a tokenizer. Set it to V(false) for servers that run with C(--skip-tokenizer-init).
    type: bool
    default: true
  tokenizer_path:
    description:
      - Absolute path of the directory that holds the tokenizer, when the server has C(--tokenizer-path).
    type: path
  fail:
    description:
      - Whether the task fails when the model is not complete. With V(false) only RV(model.complete) says so.
    type: bool
    default: true
seealso:
  - module: kpro.sglang.sglang_server
  - module: kpro.sglang.sglang_preflight
"""

EXAMPLES = r"""
- name: Check the model before any server is touched
  kpro.sglang.sglang_model_info:
    path: /models/Qwen3.6-27B
    user: sglang
  register: model_check

- name: Look without failing
  kpro.sglang.sglang_model_info:
    path: /models/Qwen3.6-27B
    fail: false
  register: model_check

- name: Show every problem
  ansible.builtin.debug:
    msg: "{{ item.file }}: {{ item.problem }} ({{ item.cause }})"
  loop: "{{ model_check.model.problems }}"
  loop_control:
    label: "{{ item.file }}"
"""

RETURN = r"""
msg:
  description: One sentence; when something is wrong, the first problem and how many there are.
  returned: always
  type: str
  sample: "The model in /models/m is complete: Qwen3ForCausalLM, 2 files of weights, 50.10 GiB, 850 tensors."
model:
  description: What was found.
  returned: always, unless an option is wrong
  type: dict
  contains:
    path:
      description: The path that was looked at.
      type: str
      returned: always
    complete:
      description: Whether there is no problem.
      type: bool
      returned: always
    architectures:
      description: C(architectures) of C(config.json); empty when it has none.
      type: list
      elements: str
      returned: always
    model_type:
      description: C(model_type) of C(config.json), or null.
      type: str
      returned: always
    format:
      description: V(safetensors), V(pytorch), V(gguf), or null when there are no weights.
      type: str
      returned: always
    shards:
      description: Files of weights that are there.
      type: int
      returned: always
    shards_expected:
      description: Files of weights that the index or the numbering of the files asks for.
      type: int
      returned: always
    weights_bytes:
      description: Bytes of tensor data; the size of the files for formats whose headers are not read.
      type: int
      returned: always
    tensors:
      description: Number of tensors, or null for formats whose headers are not read.
      type: int
      returned: always
    dtypes:
      description: Bytes of tensor data by data type.
      type: dict
      returned: always
      sample: {"BF16": 53791948800, "F32": 1024}
    fingerprint:
      description:
        - A sha256 (hex) over the names, sizes and headers of the weights and over the content of the small files. The same model has the
          same fingerprint in another directory; null when the path is not there or not readable.
      type: str
      returned: always
    problems:
      description: Everything that keeps a server from loading the model.
      type: list
      elements: dict
      returned: always
      contains:
        file:
          description: The file, relative to the model directory; C(.) for the directory; absolute for a place outside it.
          type: str
          returned: always
        problem:
          description: What is wrong, one sentence.
          type: str
          returned: always
        cause:
          description: The id of the cause, as M(kpro.sglang.log_diagnose) names it.
          type: str
          returned: always
          sample: corrupt_or_incomplete_weights
        expected:
          description: What should be there, or null.
          type: str
          returned: always
        found:
          description: What is there, or null.
          type: str
          returned: always
        do:
          description: The next step.
          type: str
          returned: always
    notes:
      description: Worth knowing and no reason to stop, for example unfinished downloads beside a complete model.
      type: list
      elements: str
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._model.access import NoSuchUser
from ansible_collections.kpro.sglang.plugins.module_utils._model.inspection import inspect, summary


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "user": {"type": "str"},
            "tokenizer": {"type": "bool", "default": True},
            "tokenizer_path": {"type": "path"},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        try:
            model = inspect(params["path"], params["user"], params["tokenizer"], params["tokenizer_path"])
        except NoSuchUser as error:
            if not module.check_mode:
                raise
            module.warn(f"{error.message}; permissions were not checked for it")  # a task that was only checked would have made it
            model = inspect(params["path"], None, params["tokenizer"], params["tokenizer_path"])
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    if params["fail"] and not model["complete"]:
        module.fail_json(msg=summary(model), model=model)
    module.exit_json(changed=False, msg=summary(model), model=model)


if __name__ == "__main__":
    main()
