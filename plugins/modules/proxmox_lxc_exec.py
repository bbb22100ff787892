#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: proxmox_lxc_exec
author: kpro.sglang contributors (@kpro-sglang)
short_description: Runs a command in a Proxmox LXC guest, from its node
version_added: 0.1.0
description:
  - Runs one command in an LXC guest with C(pct exec), on the Proxmox VE node that has the guest, and returns exactly what came of it.
  - Arguments, standard input and output pass byte for byte. No shell parses anything, except with O(shell).
  - A failure of C(pct), the node or the guest is never taken for a failure of the command, nor the reverse; RV(failure) says which.
options:
  vmid:
    description: Number of the guest.
    type: int
    required: true
  argv:
    description: The program and its arguments.
    type: list
    elements: str
  cmd:
    description: The same as one line, split by the rules of a shell's quotes. Nothing is expanded.
    type: str
  shell:
    description:
      - A script for O(executable). It travels on standard input, so neither quotes nor length nor the node's locale can hurt it.
      - It is read whole before it runs. Its own standard input is empty.
    type: str
  executable:
    description: The POSIX shell in the guest that runs O(shell).
    type: str
    default: /bin/sh
  stdin:
    description: Text for the command's standard input, which is empty otherwise. Not repeated in the result.
    type: str
  stdin_base64:
    description: The same for any bytes, in Base64.
    type: str
  stdin_add_newline:
    description: Whether a newline is added to a non-empty O(stdin).
    type: bool
    default: true
  strip_empty_ends:
    description: Whether newlines at the end of RV(stdout) and RV(stderr) are removed.
    type: bool
    default: true
  chdir:
    description: Folder in the guest where the command runs. The user's home otherwise.
    type: str
  environment:
    description:
      - Variables for the command, on top of PATH, HOME, USER, LOGNAME, LANG=C.UTF-8 and what the guest's configuration sets. Nothing of
        the node's environment comes in.
      - They are visible in process lists, so names that look like secrets are refused; see O(secret_environment).
      - C(environment) is also a keyword of tasks, for the module itself. Take care to indent it as an option, or write O(env).
    type: dict
    default: {}
    aliases: [env]
  secret_environment:
    description: Variables whose values (at least 8 characters) appear in no process list and no result.
    type: dict
    default: {}
  user:
    description: User in the guest. Taken on with C(runuser), or C(su) where that is missing.
    type: str
    default: root
  creates:
    description: A path or pattern in the guest (relative to O(chdir)). When it exists the command does not run.
    type: str
  removes:
    description: A path or pattern in the guest (relative to O(chdir)). When it does not exist the command does not run.
    type: str
  timeout:
    description:
      - Seconds after which the command is ended in the guest, with TERM and a second later with KILL. So are all its processes that did
        not leave its session, process tree and output.
      - Without it a command may run for ever. C(timeout) is also a keyword of tasks, which leaves the command running. Indent it as an
        option.
    type: float
  output_limit:
    description: How much of each of RV(stdout) and RV(stderr) is returned, in MiB. The rest is read and dropped.
    type: int
    default: 1
  method:
    description:
      - V(pct) uses Proxmox VE's tool.
      - V(lxc-attach) calls what C(pct) calls in the end and saves its start, about a second.
    type: str
    choices: [pct, lxc-attach]
    default: pct
  pct_executable:
    description: Path on the node of the program that O(method) names, where it is not the usual one.
    type: str
  node_become:
    description:
      - Call the program with C(sudo -n) when the module does not run as root.
      - The sudoers line C(NAME ALL=(root) NOPASSWD:/usr/sbin/pct exec *) is all that it needs.
    type: bool
    default: false
    aliases: [proxmox_node_become]
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: partial
    details: The command is not run. O(creates) and O(removes) are evaluated in the guest; without them the task is skipped.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
notes:
  - Runs on the node, so delegate it there or target the node.
seealso:
  - plugin: kpro.sglang.proxmox_pct
    plugin_type: connection
"""

EXAMPLES = r"""
- name: Show the interfaces of guest 129
  kpro.sglang.proxmox_lxc_exec:
    vmid: 129
    argv: [ip, -json, address]
  delegate_to: kpro5-node
  changed_when: false

- name: Initialise a database once, as its user, for at most a minute
  kpro.sglang.proxmox_lxc_exec:
    vmid: 129
    shell: |
      createdb models
      psql models -c "comment on database models is 'it''s ours'"
    user: postgres
    creates: /var/lib/postgresql/.models
    timeout: 60

- name: Feed a file to a program in the guest, with a token that no process list shows
  kpro.sglang.proxmox_lxc_exec:
    vmid: 129
    cmd: /usr/local/bin/import --quiet
    stdin: "{{ lookup('file', 'data.json') }}"
    env:
      MODE: fast
    secret_environment:
      HF_TOKEN: "{{ vault_hf_token }}"
"""

RETURN = r"""
rc:
  description:
    - Exit status of the command, 128 + N when signal N ended it. Null when the task failed before there was one.
    - 0 when nothing was run and nothing is wrong (O(creates), O(removes), check mode), as Ansible fails a task with any other value.
  type: int
  returned: always
stdout:
  description: Standard output as text. Bytes that are not UTF-8 appear as U+FFFD. Null when nothing ran.
  type: str
  returned: always
stderr:
  description: Standard error of the command alone; what C(pct), C(sudo) or the node's locale said is not in it. Null when nothing ran.
  type: str
  returned: always
stdout_lines:
  description: RV(stdout) as a list of lines.
  type: list
  elements: str
  returned: always
stderr_lines:
  description: RV(stderr) as a list of lines.
  type: list
  elements: str
  returned: always
stdout_base64:
  description: The exact bytes, where RV(stdout) could not show all of them.
  type: str
  returned: when standard output is not UTF-8
stderr_base64:
  description: The exact bytes, where RV(stderr) could not show all of them.
  type: str
  returned: when standard error is not UTF-8
stdout_truncated:
  description: Whether more came than O(output_limit).
  type: bool
  returned: always
stderr_truncated:
  description: Whether more came than O(output_limit).
  type: bool
  returned: always
cmd:
  description: What was run, a list of words or the script.
  type: raw
  returned: always
start:
  description: When the command was started, in the node's time.
  type: str
  returned: always
end:
  description: When it ended.
  type: str
  returned: always
delta:
  description: The time between.
  type: str
  returned: always
timed_out:
  description: Whether O(timeout) ended the command.
  type: bool
  returned: always
failure:
  description:
    - What failed outside the command, or null. V(guest_missing), V(guest_on_other_node), V(guest_stopped), V(guest_frozen),
      V(guest_locked), V(guest_refused) (no such user or folder in the guest), V(not_permitted), V(pct_missing), V(pct_usage),
      V(cluster_unavailable), V(timeout) or V(transport).
    - A command's own exit status other than 0 fails the task with null here.
  type: str
  returned: always
vmid:
  description: Number of the guest.
  type: int
  returned: always
"""

import base64
import datetime
import shlex

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct.exec_run import Outcome, Request, run_in_guest

# Read whole before it runs: a child that reads stdin would eat a script that is still being read.
READ_WHOLE = 'eval "$(cat)"'
MIB = 1024 * 1024


def argument_spec():
    return {
        "vmid": {"type": "int", "required": True},
        "argv": {"type": "list", "elements": "str"},
        "cmd": {"type": "str"},
        "shell": {"type": "str"},
        "executable": {"type": "str", "default": "/bin/sh"},
        "stdin": {"type": "str"},
        "stdin_base64": {"type": "str"},
        "stdin_add_newline": {"type": "bool", "default": True},
        "strip_empty_ends": {"type": "bool", "default": True},
        "chdir": {"type": "str"},
        "environment": {"type": "dict", "default": {}, "aliases": ["env"]},
        "secret_environment": {"type": "dict", "default": {}, "no_log": True},
        "user": {"type": "str", "default": "root"},
        "creates": {"type": "str"},
        "removes": {"type": "str"},
        "timeout": {"type": "float"},
        "output_limit": {"type": "int", "default": 1},
        "method": {"type": "str", "default": "pct", "choices": ["pct", "lxc-attach"]},
        "pct_executable": {"type": "str"},
        "node_become": {"type": "bool", "default": False, "aliases": ["proxmox_node_become"]},
    }


def words_and_stdin(params):
    """Return (option name, words, stdin as bytes, what to show as cmd)."""
    if params["shell"] is not None:
        return "shell", [params["executable"], "-c", READ_WHOLE, "sh"], params["shell"].encode("utf-8", "surrogateescape"), params["shell"]
    if params["cmd"] is not None:
        try:
            name, words = "cmd", shlex.split(params["cmd"])
        except ValueError as error:
            raise KproError("cmd cannot be split into words: %s." % error) from error
    else:
        name, words = "argv", params["argv"]
    if params["stdin_base64"] is not None:
        try:
            return name, words, base64.b64decode(params["stdin_base64"], validate=True), words
        except ValueError as error:
            raise KproError("stdin_base64 is no Base64: %s." % error) from error
    text = params["stdin"] or ""
    if text and params["stdin_add_newline"]:
        text += "\n"
    return name, words, text.encode("utf-8", "surrogateescape"), words


def make_request(params, name, words, stdin, look):
    if params["output_limit"] < 0:
        raise KproError("output_limit is %d: it must be a number of MiB, 0 or more." % params["output_limit"])
    return Request(
        params["vmid"],
        words,
        name=name,
        stdin=stdin,
        user=params["user"],
        folder=params["chdir"] or "",
        environment=as_text(params["environment"]),
        secrets=as_text(params["secret_environment"]),
        creates=params["creates"] or "",
        removes=params["removes"] or "",
        look=look,
        timeout=params["timeout"],
        output_limit=params["output_limit"] * MIB,
        method=params["method"],
        executable=params["pct_executable"],
        become=params["node_become"],
    )


def as_text(variables):
    return {str(key): "" if value is None else str(value) for key, value in variables.items()}


def stream(data, truncated, strip):
    """Return (text, Base64 or None) for one stream; a character that the limit cut in two is dropped."""
    text = data.decode("utf-8", "replace")
    exact = None
    if "\ufffd" in text:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            if truncated and error.reason == "unexpected end of data":
                text = data[: error.start].decode("utf-8")
            else:
                exact = base64.b64encode(data).decode()
    return text.rstrip("\r\n") if strip and not truncated else text, exact


def shown(params):
    """The options as the result repeats them: stdin may be huge, and secret."""
    copy = dict(params)
    for name in ("stdin", "stdin_base64"):
        if copy[name] is not None:
            copy[name] = "VALUE NOT SHOWN (%d characters)" % len(copy[name])
    copy["secret_environment"] = dict.fromkeys(copy["secret_environment"], "VALUE NOT SHOWN")
    return {"module_args": copy}


def result_of(outcome, params, cmd, start, end):
    result = {
        "changed": False,
        "vmid": params["vmid"],
        "cmd": cmd,
        "rc": outcome.rc,
        "timed_out": outcome.timed_out,
        "failure": outcome.failure,
        "start": str(start) if start else None,
        "end": str(end) if end else None,
        "delta": str(end - start) if end else None,
        "stdout_truncated": outcome.stdout_truncated,
        "stderr_truncated": outcome.stderr_truncated,
        "invocation": shown(params),
    }
    for name in ("stdout", "stderr"):
        text, exact = stream(getattr(outcome, name), result[name + "_truncated"], params["strip_empty_ends"])
        result[name] = text
        result[name + "_lines"] = text.splitlines()
        if exact is not None:
            result[name + "_base64"] = exact
    return result


def main():
    module = AnsibleModule(
        argument_spec=argument_spec(),
        supports_check_mode=True,
        required_one_of=[("argv", "cmd", "shell")],
        mutually_exclusive=[("argv", "cmd", "shell"), ("stdin", "stdin_base64", "shell")],
    )
    params = module.params
    conditional = bool(params["creates"] or params["removes"])
    try:
        name, words, stdin, cmd = words_and_stdin(params)
        request = make_request(params, name, words, stdin, look=module.check_mode)
        start = datetime.datetime.now()
        outcome = Outcome() if module.check_mode and not conditional else run_in_guest(request)
        end = datetime.datetime.now()
    except KproError as error:
        module.fail_json(error.message, **{**result_of(Outcome(), params, None, None, None), **error.result})
    for text in outcome.warnings:
        module.warn(text)
    if outcome.failure:
        module.fail_json(outcome.message, **result_of(outcome, params, cmd, start, end))
    if module.check_mode or outcome.skipped:
        finish_unrun(module, outcome, params, cmd, conditional)
    result = result_of(outcome, params, cmd, start, end)
    result["changed"] = True
    if outcome.rc != 0:
        module.fail_json("non-zero return code", **result)
    module.exit_json(**result)


def finish_unrun(module, outcome, params, cmd, conditional):
    """Leave with the shape of a run's result and nulls where nothing ran."""
    result = result_of(outcome, params, cmd, None, None)
    result.update(rc=0, stdout=None, stderr=None)
    if outcome.skipped in ("creates", "removes"):
        state = "exists" if outcome.skipped == "creates" else "does not exist"
        result["msg"] = "not run, since %s %s in guest %d" % (params[outcome.skipped], state, params["vmid"])
    else:
        result["msg"] = "the command would have run if not in check mode"
        result["changed"] = conditional
        if not conditional:
            result["skipped"] = True
    module.exit_json(**result)


if __name__ == "__main__":
    main()
