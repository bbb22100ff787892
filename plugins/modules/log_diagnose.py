#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: log_diagnose
short_description: Says from the log of a SGLang launch what is wrong, which line proves it, and what to change
version_added: 0.1.0
description:
  - Reads the log of a SGLang server, finds the last launch in it, and names the cause of a failure, the stage it struck in, the line
    that proves it, and what to change with numbers from that log.
  - Only the asked launch counts. Errors of earlier launches, settings lines, usage texts, quoted prompts and the echoes of a failure
    are never evidence.
  - The causes are listed in C(docs/causes.md) of the collection.
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
      - The log file on the target.
      - Exactly one of O(path), O(content) and O(unit) is needed.
    type: path
  content:
    description:
      - The text of a log itself.
    type: str
  unit:
    description:
      - A systemd unit on the target. For a server of this collection the file of its last launch is read, for any other unit the
        journal of its last invocation, with what systemd and the kernel said about it.
      - Facts that systemd knows (whether the process lives, how it ended) are used where the options below do not say otherwise.
    type: str
  launch:
    description:
      - Which launch of the log to diagnose. With V(all) the result is that of the last one and RV(diagnosis.history) tells about each.
    type: str
    choices: [last, all]
    default: last
  process_alive:
    description:
      - Whether the server's process exists now. Leave it out when it is not known.
    type: bool
  exit_code:
    description:
      - Exit code of the server's process. Negative, or above 128, when a signal ended it.
    type: int
  gpu_used_mib:
    description:
      - Memory used on each GPU now, in MiB.
    type: list
    elements: int
  gpu_total_mib:
    description:
      - Memory of each GPU, in MiB.
    type: list
    elements: int
  log_age:
    description:
      - Seconds since the log was last written to. For O(path) the file itself tells when this is left out and O(process_alive=true).
    type: float
  oom_killed:
    description:
      - Whether the kernel is known to have killed a process of the server for lack of memory.
    type: bool
  service_result:
    description:
      - What systemd calls the result of the service, for instance V(oom-kill), V(timeout) or V(core-dump).
    type: str
  fail:
    description:
      - Whether a fault fails the task.
    type: bool
    default: false
seealso:
  - module: kpro.sglang.sglang_server
  - module: kpro.sglang.gpu_memory_facts
"""

EXAMPLES = r"""
- name: Ask a log file
  kpro.sglang.log_diagnose:
    path: /var/log/sglang/chat/latest.log
  register: why

- name: Show it in a few lines
  ansible.builtin.debug:
    msg: "{{ why.msg }}"

- name: Fail when the server of this unit is broken
  kpro.sglang.log_diagnose:
    unit: sglang-chat.service
    fail: true

- name: Use what else is known
  kpro.sglang.log_diagnose:
    path: /root/server.log
    process_alive: false
    exit_code: 137
    gpu_used_mib: [3, 3]
"""

RETURN = r"""
msg:
  description: The diagnosis for people, about twelve lines; more with C(-v).
  returned: always
  type: str
  sample: |-
    fault: unknown_argument (stage args)
    The installed SGLang does not know what stands in its command line: --no-such-flag 7.
      server.log:376: sglang serve: error: unrecognized arguments: --no-such-flag 7
    What to do:
      - Drop or correct --no-such-flag
      - Or install a release that has it
diagnosis:
  description: The diagnosis for programs. Secrets are masked in every field.
  returned: always, unless the log cannot be read
  type: dict
  contains:
    verdict:
      description: V(fault), V(healthy), V(loading), V(stopped) or V(unknown).
      type: str
      returned: always
    cause:
      description: Id of the cause.
      type: str
      returned: always
    stage:
      description:
        - How far the launch had come. V(launch), V(args), V(imports), V(tokenizer), V(distributed_init), V(weights_load), V(memory_pool),
          V(attention_backend), V(cuda_graph), V(warmup), V(ready), V(serving) or V(shutdown).
      type: str
      returned: always
    summary:
      description: One sentence.
      type: str
      returned: always
    evidence:
      description:
        - The lines that prove it, at most three, the proving one first.
        - RV(diagnosis.evidence[].line) counts from 1 in the file given.
      type: list
      elements: dict
      returned: always
      contains:
        line:
          description: Number of the line.
          type: int
          returned: always
        text:
          description: The line, cut around what matters when it is long.
          type: str
          returned: always
        rank:
          description: The rank that wrote it, or null.
          type: str
          returned: always
    consequences:
      description: Lines that only echo the failure, as dicts of C(line) and C(text).
      type: list
      elements: dict
      returned: always
    remedies:
      description: What to do, the best first.
      type: list
      elements: dict
      returned: always
      contains:
        do:
          description: A sentence.
          type: str
          returned: always
        flag:
          description: The flag or variable to change, spelled as the release at hand spells it, or null.
          type: str
          returned: always
        direction:
          description: V(raise), V(lower), V(set), V(add), V(remove) or null.
          type: str
          returned: always
        value:
          description: The value to try, or null.
          type: str
          returned: always
        why:
          description: Why, with figures of this log, or null.
          type: str
          returned: always
    alternatives:
      description: Other causes that are possible, as dicts of C(cause) and C(confidence).
      type: list
      elements: dict
      returned: always
    confidence:
      description: Between 0 and 1.
      type: float
      returned: always
    launches:
      description: How many launches the log holds.
      type: int
      returned: always
    launch:
      description: The launch that was diagnosed.
      type: dict
      returned: always
      contains:
        index:
          description: Its number in the log, from 1.
          type: int
          returned: always
        started_at:
          description: Its first time stamp as printed, or null.
          type: str
          returned: always
        engine:
          description: V(sglang), V(vllm) or null.
          type: str
          returned: always
        version:
          description: The engine's version when the log says it.
          type: str
          returned: always
        server_args:
          description: Arguments that differ from the defaults.
          type: dict
          returned: always
    capacity:
      description: What the server says it can hold, or null.
      type: dict
      returned: always
    history:
      description: Index, first line, start, verdict, cause, stage and summary of every launch.
      type: list
      elements: dict
      returned: when O(launch=all)
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._diagnosis.ask import ask
from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path"},
            "content": {"type": "str", "no_log": True},
            "unit": {"type": "str"},
            "launch": {"type": "str", "choices": ["last", "all"], "default": "last"},
            "process_alive": {"type": "bool"},
            "exit_code": {"type": "int"},
            "gpu_used_mib": {"type": "list", "elements": "int"},
            "gpu_total_mib": {"type": "list", "elements": "int"},
            "log_age": {"type": "float"},
            "oom_killed": {"type": "bool"},
            "service_result": {"type": "str"},
            "fail": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("path", "content", "unit")],
        required_one_of=[("path", "content", "unit")],
        supports_check_mode=True,
    )
    # A log of one line would be masked as a whole, its own evidence with it; what leaves is redacted by the diagnosis.
    module.no_log_values.discard(module.params["content"])
    try:
        diagnosis, text = ask(module.params, verbose=module._verbosity > 0)
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    if module.params["fail"] and diagnosis["verdict"] == "fault":
        module.fail_json(msg=text, diagnosis=diagnosis)
    module.exit_json(changed=False, msg=text, diagnosis=diagnosis)


if __name__ == "__main__":
    main()
