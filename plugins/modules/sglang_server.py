#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sglang_server
short_description: Run one SGLang server on this host and wait until it is really ready
version_added: 0.1.0
author:
  - kpro.sglang contributors (@kpro-sglang)
description:
  - One call is one transaction. It compares, writes the configuration, stops the old server, starts the new one, watches the launch in its
    own log file, proves that it is ready, checks that it answers with text, and accepts it.
  - Ready means that this launch printed its ready line, its process lives, the port is its own, C(/health) answers 200 and
    C(/server_info) names this model. The wait ends at once when the process dies.
  - When a launch fails, the task fails with the cause, the line of the log that proves it and the change that helps, and a previous
    configuration that was accepted comes back by itself.
  - A second call with the same options changes nothing and restarts nothing.
options:
  name:
    description:
      - Name of the server on this host. It becomes part of the unit's name (C(sglang-NAME.service)) and of its folders.
    type: str
    required: true
  state:
    description:
      - V(started) brings the server to the wanted configuration, running and ready.
      - V(restarted) does the same and starts a new launch in any case.
      - V(stopped) stops it and keeps it from starting at boot.
      - V(absent) also removes its unit, configuration and secrets. Logs and launch records stay.
    type: str
    choices: [started, stopped, restarted, absent]
    default: started
  supervisor:
    description:
      - What keeps the server running. V(auto) takes systemd where PID 1 is systemd.
      - Hosts without systemd are not supported by this release and are refused with a sentence.
    type: str
    choices: [auto, systemd]
    default: auto
  model:
    description:
      - Directory of the model on this host (SGLang's C(--model-path)). Required unless it is in O(args).
    type: path
  model_check:
    description:
      - With V(enforce) the model's files are checked before anything else happens. SGLang comes up ready with a shard missing.
    type: str
    choices: [enforce, disabled]
    default: enforce
  args:
    description:
      - SGLang's flags without the leading dashes; V(-) and V(_) are alike, and aliases are known (V(tp), V(tp-size)).
      - V(true) gives a bare flag, V(false) and V(null) leave it out, a list repeats values.
      - Flags that are secrets are refused; use the options for them.
      - C(args) is also a keyword of tasks. As an option of this module it stands below the module's name.
    type: dict
    default: {}
  host:
    description:
      - Address to listen on, V(127.0.0.1) when neither this nor O(args) says otherwise.
      - Another address needs a key or O(allow_unauthenticated).
    type: str
  port:
    description:
      - TCP port, V(30000) when neither this nor O(args) says otherwise.
    type: int
  allow_unauthenticated:
    description:
      - Allow an address that others can reach without O(api_key).
    type: bool
    default: false
  gpus:
    description:
      - GPUs of the server as CUDA takes them (UUIDs, or indexes), for E(CUDA_VISIBLE_DEVICES). Without it the server sees all.
    type: list
    elements: str
  python:
    description:
      - Interpreter of the environment that holds SGLang. Required for V(started) and V(restarted).
    type: path
  user:
    description:
      - Account that the server runs as. It must exist.
    type: str
    default: sglang
  api_key:
    description:
      - Key that clients must send, at least 8 characters. It reaches SGLang through its C(--config) file (0600), never its command line.
      - SGLang prints the key into its own log, which is therefore 0600; whatever this collection returns from it is redacted.
    type: str
  api_key_file:
    description:
      - File on this host that holds the key.
    type: path
  admin_api_key:
    description:
      - Key for SGLang's administrative endpoints, at least 8 characters.
    type: str
  admin_api_key_file:
    description:
      - File on this host that holds the administrative key.
    type: path
  environment:
    description:
      - Environment variables of the server. Names that look like secrets are refused.
      - C(environment) is also a keyword of tasks, which this does not replace. As an option it stands below the module's name.
    type: dict
    default: {}
    aliases: [env]
  secret_environment:
    description:
      - Environment variables whose values are secrets, each at least 8 characters.
    type: dict
  state_dir:
    description:
      - Folder for configuration, launch records and caches; the server has a folder of its own in it.
    type: path
    default: /var/lib/sglang
  log_dir:
    description:
      - Folder for launch logs. Each launch writes a file of its own, C(LOG_DIR/NAME/LAUNCH_ID.log), 0600.
    type: path
    default: /var/log/sglang
  keep_logs:
    description:
      - How many launch logs and records are kept, besides those of the last failed launch.
    type: int
    default: 10
  wait:
    description:
      - Wait until the server is ready. Without it the call ends when the program was executed, and nothing is accepted.
    type: bool
    default: true
  timeout:
    description:
      - Seconds for the whole way to ready. Also a keyword of tasks, which this does not replace. The limits by stage usually speak first.
    type: int
    default: 5400
  stage_timeouts:
    description:
      - Seconds without any output after which a launch counts as stuck, by stage (V(launch), V(args), V(imports), V(tokenizer),
        V(distributed_init), V(weights_load), V(memory_pool), V(attention_backend), V(cuda_graph), V(warmup), V(ready)).
    type: dict
    default: {}
  stop_timeout:
    description:
      - Seconds that a server may take to finish running requests before it is killed.
    type: int
    default: 180
  output_check:
    description:
      - After ready, three fixed prompts are answered greedily. Empty, repeating or newline-only text fails the call (V(fail)), warns
        (V(warn)), or is not looked for (V(disabled)).
    type: str
    choices: [disabled, warn, fail]
    default: fail
attributes:
  check_mode:
    description: Says what would change without changing anything. The result has the same shape, with nulls where nothing ran.
    support: full
  diff_mode:
    description: Shows unit, launch script, configuration and environment file, with secrets masked.
    support: full
  async:
    description: Can be run in the background; it finishes even when the controller is gone.
    support: full
  platform:
    description: Hosts with systemd.
    support: full
    platforms: linux
seealso:
  - module: kpro.sglang.log_diagnose
"""

EXAMPLES = r"""
- name: Serve a model on two GPUs
  kpro.sglang.sglang_server:
    name: main
    model: /models/Qwen3.6-27B
    python: /opt/sglang/venvs/0.5.14-3f2a/bin/python
    args:
      tp-size: 2
      context-length: 32768
      mem-fraction-static: 0.85
    api_key: "{{ vault_sglang_api_key }}"
    host: 0.0.0.0

- name: Stop it
  kpro.sglang.sglang_server:
    name: main
    state: stopped
"""

RETURN = r"""
server:
  description: The server after the call, or what is known of it when the call failed.
  returned: always
  type: dict
  contains:
    name:
      description: Name of the server.
      type: str
      returned: always
    state:
      description: V(started), V(stopped), V(absent), V(failed), or V(would_start) in check mode.
      type: str
      returned: always
    degraded:
      description: Whether it runs on a fallback.
      type: bool
      returned: state started
    unit:
      description: Name of its systemd unit.
      type: str
      returned: always
    url:
      description: Where it can be asked on this host.
      type: str
      returned: state started
    release:
      description: Release of SGLang in its environment.
      type: str
      returned: state started
    launch_id:
      description: Id of its launch (systemd's invocation id).
      type: str
      returned: always
    pid:
      description: Main process.
      type: int
      returned: always
    stage:
      description: Stage that the launch reached.
      type: str
      returned: state started
    stages:
      description: Stages of the launch that was watched, in order.
      type: list
      elements: dict
      returned: state started
      contains:
        name:
          description: Name of the stage.
          type: str
        seconds:
          description: How long it took.
          type: float
    seconds:
      description: Seconds from the start to ready, null when nothing was started.
      type: float
      returned: state started
    capacity:
      description: What the server says it can hold (tokens, running requests, context length; weights and KV cache in GiB).
      type: dict
      returned: state started
    output_check:
      description: Prompts, answers and whether they look like text.
      type: dict
      returned: state started
    log:
      description: The launch log.
      type: str
      returned: state started
    attempts:
      description: Launches of this call, in order.
      type: list
      elements: dict
      returned: state started
    previous:
      description: What became of the previous configuration when a replacement failed.
      type: dict
      returned: state started
    diagnosis:
      description: Why the launch failed; see the return values of M(kpro.sglang.log_diagnose).
      type: dict
      returned: on failure
diagnosis:
  description: The same diagnosis, at the top.
  returned: on failure
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._server.options import Options, check_name
from ansible_collections.kpro.sglang.plugins.module_utils._server.stopping import stop
from ansible_collections.kpro.sglang.plugins.module_utils._server.transaction import Transaction


def argument_spec():
    return {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": ["started", "stopped", "restarted", "absent"], "default": "started"},
        "supervisor": {"type": "str", "choices": ["auto", "systemd"], "default": "auto"},
        "model": {"type": "path"},
        "model_check": {"type": "str", "choices": ["enforce", "disabled"], "default": "enforce"},
        "args": {"type": "dict", "default": {}},
        "host": {"type": "str"},
        "port": {"type": "int"},
        "allow_unauthenticated": {"type": "bool", "default": False},
        "gpus": {"type": "list", "elements": "str"},
        "python": {"type": "path"},
        "user": {"type": "str", "default": "sglang"},
        "api_key": {"type": "str", "no_log": True},
        "api_key_file": {"type": "path", "no_log": False},
        "admin_api_key": {"type": "str", "no_log": True},
        "admin_api_key_file": {"type": "path", "no_log": False},
        "environment": {"type": "dict", "default": {}, "aliases": ["env"]},
        "secret_environment": {"type": "dict", "no_log": True},
        "state_dir": {"type": "path", "default": "/var/lib/sglang"},
        "log_dir": {"type": "path", "default": "/var/log/sglang"},
        "keep_logs": {"type": "int", "default": 10},
        "wait": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": 5400},
        "stage_timeouts": {"type": "dict", "default": {}},
        "stop_timeout": {"type": "int", "default": 180},
        "output_check": {"type": "str", "choices": ["disabled", "warn", "fail"], "default": "fail"},
    }


def _started(module):
    transaction = Transaction(Options(module.params), module.check_mode, module.params["state"] == "restarted")
    changed, server = transaction.run()
    verdict = server["output_check"]
    if verdict and not verdict["ok"]:
        bad = next(answer for answer in verdict["answers"] if answer["fault"])
        transaction.warnings.append(f"output check of server {server['name']}: {bad['fault']} (prompt {bad['prompt']!r})")
    for warning in transaction.warnings:
        module.warn(warning)
    return changed, server, transaction.diff


def _stopped(module):
    values = module.params
    return stop(
        check_name(values["name"]),
        values["state_dir"],
        values["log_dir"],
        values["stop_timeout"],
        module.check_mode,
        values["state"] == "absent",
    )


def main():
    module = AnsibleModule(
        argument_spec=argument_spec(),
        mutually_exclusive=[("api_key", "api_key_file"), ("admin_api_key", "admin_api_key_file")],
        supports_check_mode=True,
    )
    try:
        changed, server, diff = (_started if module.params["state"] in ("started", "restarted") else _stopped)(module)
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    module.exit_json(changed=changed, server=server, diff=diff)


if __name__ == "__main__":
    main()
