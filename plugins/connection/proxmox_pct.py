# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible modules in an LXC guest, through SSH to its Proxmox VE node and pct: no SSH, address or network in the guest."""

from __future__ import annotations

DOCUMENTATION = r"""
name: proxmox_pct
author: kpro.sglang contributors (@kpro-sglang)
short_description: Runs modules in a Proxmox LXC guest through SSH to its node
version_added: 0.1.0
description:
  - Enters the guest with C(pct exec) on its node, over Ansible's own P(ansible.builtin.ssh#connection) plugin. SSH configuration,
    ControlPersist, jump hosts, agents and passwords work as they do there.
  - The guest needs C(/bin/sh), and Python for modules as everywhere. It needs neither SSH nor a network.
  - A guest that is missing, stopped, frozen or cannot be entered makes the host UNREACHABLE at once, with the words of C(pct).
  - Files are streamed, compared by SHA-256 and renamed into place.
extends_documentation_fragment:
  - kpro.sglang.core_ssh
options:
  proxmox_vmid:
    description: Number of the guest on the node.
    type: int
    required: true
    vars:
      - name: proxmox_vmid
  proxmox_node_become:
    description:
      - Run C(pct) with C(sudo -n) when O(node_user) is not root. Needs a sudoers line for the program of O(method), and no more.
    type: bool
    default: false
    vars:
      - name: proxmox_node_become
  method:
    description:
      - How the guest is entered.
      - V(pct) asks Proxmox VE's own tool, which starts Perl for each call (about one second on a busy node).
      - V(lxc-attach) calls what C(pct) itself calls in the end, without that start; the effect in the guest is the same.
    type: str
    choices: [pct, lxc-attach]
    default: pct
    vars:
      - name: proxmox_pct_method
  pct_executable:
    description: Path on the node of the program that O(method) names, where it is not the usual one.
    type: str
    vars:
      - name: proxmox_pct_executable
  start_timeout:
    description:
      - Seconds until the guest must have started a command; after that the host is UNREACHABLE.
      - A guest that the node shows as frozen is given up after 10 seconds, or this value where it is smaller.
      - It does not limit how long a command runs.
    type: int
    default: 30
    vars:
      - name: proxmox_start_timeout
  remote_user:
    description:
      - User in the guest. C(pct) enters as root; another user is taken on with C(runuser) (or C(su)), in the user's home and without
        a password.
      - C(become) works inside the guest from there, as on any host.
    type: str
    default: root
    vars:
      - name: proxmox_guest_user
  node_user:
    description: User of the SSH login on the node. Left to SSH when it is not set.
    type: str
    vars:
      - name: ansible_user
      - name: ansible_ssh_user
    env:
      - name: ANSIBLE_REMOTE_USER
    ini:
      - section: defaults
        key: remote_user
    cli:
      - name: user
    keyword:
      - name: remote_user
  pipelining:
    description: Send a module on stdin instead of copying it into the guest first. One call of C(pct) for each task instead of six.
    type: boolean
    default: true
    env:
      - name: ANSIBLE_PIPELINING
      - name: ANSIBLE_SSH_PIPELINING
    ini:
      - section: defaults
        key: pipelining
      - section: connection
        key: pipelining
      - section: ssh_connection
        key: pipelining
    vars:
      - name: ansible_pipelining
      - name: ansible_ssh_pipelining
notes:
  - O(host) (C(ansible_host)) is the address of the node. A group of guests takes it, and the other SSH variables, from the node's host
    with C(hostvars[proxmox_node]).
  - A command gets a clean environment (PATH, HOME, USER, LOGNAME, LANG=C.UTF-8, and what the guest's configuration sets). Limits
    (ulimit) and umask are those of the SSH session on the node.
  - No terminal is ever allocated.
  - O(scp_executable), O(sftp_executable), O(ssh_transfer_method) and their like are accepted for the sake of shared settings and have no
    effect.
"""

import hashlib
import os
import secrets
import shlex

from ansible.errors import AnsibleConnectionFailure, AnsibleError, AnsibleFileNotFound
from ansible.module_utils.common.text.converters import to_bytes, to_text
from ansible.plugins.connection.ssh import Connection as SSHConnection
from ansible.utils.display import Display

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct.attach import attach_argv
from ansible_collections.kpro.sglang.plugins.module_utils._pct.exec_script import plain_words
from ansible_collections.kpro.sglang.plugins.module_utils._pct.exec_supervisor import FROZEN_LIMIT, supervised
from ansible_collections.kpro.sglang.plugins.module_utils._pct.failures import classify
from ansible_collections.kpro.sglang.plugins.module_utils._pct.marker import Report, new_token
from ansible_collections.kpro.sglang.plugins.module_utils._pct.transfer import receive_words, send_words

display = Display()

# Exit status 255 is ssh's own ("not connected": core tries again).
_SSH_FAILED = 255
# What _bare_run answers instead when the connection broke after the command had started: it must not be run twice.
_CUT_OFF = 254


class Connection(SSHConnection):
    """SSH to the node, then into the guest. Everything about SSH itself is inherited."""

    transport = "kpro.sglang.proxmox_pct"
    has_pipelining = True
    has_tty = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._token = ""

    # Ansible's interface

    def exec_command(self, cmd, in_data=None, sudoable=True):
        """Run ``cmd`` (a line for /bin/sh in the guest); return (exit status, stdout, stderr), stdout and stderr as bytes."""
        # A become password is written to stdin, so it must stay open; otherwise a reader would wait for ever.
        prompt = bool(sudoable and self.become and self.become.expect_prompt())
        self._begin()
        command = self._ssh_command(["/bin/sh", "-c", cmd], feed=bool(in_data) or prompt)
        rc, stdout, stderr = self._run(command, in_data, sudoable=sudoable)
        report = self._report(rc, stderr)
        return report.rc, stdout, report.stderr

    def put_file(self, in_path, out_path):
        """Copy the controller's file ``in_path`` to ``out_path`` in the guest."""
        display.vvv("PUT %s TO %s" % (in_path, out_path), host=self.get_option("host"))
        digest = _digest(in_path)
        self._begin()
        command = self._ssh_command(receive_words(self._token, to_text(out_path), digest), feed=True)
        rc, _dummy, stderr = self._run(self._redirected(command, "<", in_path), None, sudoable=False)
        report = self._report(rc, stderr)
        if report.rc:
            raise AnsibleError(
                "%s was not copied to %s in guest %s; it failed before its checksum was confirmed, and an older file there is untouched: %s"
                % (to_text(in_path), to_text(out_path), self.get_option("proxmox_vmid"), _words(report))
            )

    def fetch_file(self, in_path, out_path):
        """Copy the guest's file ``in_path`` to ``out_path`` on the controller."""
        display.vvv("FETCH %s TO %s" % (in_path, out_path), host=self.get_option("host"))
        self._begin()
        part = to_bytes(out_path, errors="surrogate_or_strict") + b"." + secrets.token_hex(4).encode() + b".part"
        try:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except OSError as error:
            raise AnsibleError("%s cannot be written: %s" % (to_text(out_path), error.strerror)) from error
        try:
            command = self._ssh_command(send_words(self._token, to_text(in_path)))
            rc, _dummy, stderr = self._run(self._redirected(command, ">", part), None, sudoable=False)
            report = self._report(rc, stderr)
            where = "%s in guest %s was not fetched: " % (to_text(in_path), self.get_option("proxmox_vmid"))
            if report.rc:
                raise AnsibleError(where + _words(report))
            if report.digest and report.digest != _digest(part):
                raise AnsibleError(where + "what arrived has another checksum than the file.")
            os.replace(part, to_bytes(out_path, errors="surrogate_or_strict"))
        finally:
            if os.path.exists(part):
                os.unlink(part)

    # Parts of core's plugin that are made to fit

    def _build_command(self, binary, subsystem, *other_args):
        """Core's ssh command with the node's login for its ``remote_user``; never a terminal, whatever ssh_config says."""
        inside = self.get_option("remote_user")
        self.set_option("remote_user", self.get_option("node_user"))
        try:
            return super()._build_command(binary, subsystem, "-T", *other_args)
        finally:
            self.set_option("remote_user", inside)

    def _bare_run(self, cmd, in_data, sudoable=True, checkrc=True):
        """Core's run of one ssh process. What started in the guest and then lost its connection is not tried again."""
        rc, stdout, stderr = super()._bare_run(cmd, in_data, sudoable=sudoable, checkrc=False)
        if rc == _SSH_FAILED and self._token and Report(stderr, self._token).started:
            rc = _CUT_OFF
        return rc, stdout, stderr

    # Our own

    def _begin(self):
        self.host = self.get_option("host") or self._play_context.remote_addr
        self._token = new_token()

    def _ssh_command(self, words, feed=False, method=None):
        """Return the ssh command (list of bytes) that runs ``words`` in the guest, by option ``method`` or another one."""
        vmid = self.get_option("proxmox_vmid")
        executable = self.get_option("pct_executable") if method is None else None
        try:
            inner = plain_words(self._token, self.get_option("remote_user") or "root", words)
            argv = attach_argv(vmid, inner, method or self.get_option("method"), executable)
        except KproError as error:
            raise AnsibleError(error.message) from error
        become = self.get_option("proxmox_node_become")
        line = shlex.join(supervised(argv, self._token, vmid, self.get_option("start_timeout"), feed, become))
        return self._build_command(self.get_option("ssh_executable"), "ssh", self.host, line)

    def _redirected(self, command, sign, path):
        """Return ``command`` with ``path`` as its stdin or stdout: opened again for each try, and never held in memory."""
        # sshpass, where it is used, must stay in front: core gives it a new password pipe before it tries again.
        at = command.index(to_bytes(self.get_option("ssh_executable")))
        opener = [b"/bin/sh", b"-c", b'exec "$@" ' + sign.encode() + b'"$0"', to_bytes(path, errors="surrogate_or_strict")]
        return command[:at] + opener + command[at:]

    def _report(self, rc, stderr):
        """Return the Report of a finished call, or raise AnsibleConnectionFailure in the words of who refused."""
        report = Report(stderr, self._token)
        name = "guest %s" % self.get_option("proxmox_vmid")
        if report.refused:
            raise AnsibleConnectionFailure("%s: %s" % (name, report.refused))
        if report.stalled == "frozen":
            limit = min(FROZEN_LIMIT, self.get_option("start_timeout"))
            raise AnsibleConnectionFailure("%s is frozen: it did not start the command within %d seconds." % (name, limit))
        if report.stalled:
            raise AnsibleConnectionFailure("%s did not start the command within %d seconds." % (name, self.get_option("start_timeout")))
        if not report.started:
            failure, words = classify(report.preface)
            if self.get_option("method") == "lxc-attach" and failure in ("guest_stopped", "transport"):
                words = self._words_of_pct() or words
            raise AnsibleConnectionFailure("%s: %s" % (name, words or "it could not be entered, exit status %d and no message." % rc))
        if report.rc is None:
            raise AnsibleConnectionFailure("%s: the connection broke, or the guest stopped, while the command ran." % name)
        return report

    def _words_of_pct(self):
        """Return what pct says about a guest that lxc-attach cannot enter: missing and stopped look alike to that."""
        self._begin()
        _rc, _stdout, stderr = self._run(self._ssh_command(["/bin/true"], method="pct"), None, sudoable=False)
        failure, words = classify(Report(stderr, self._token).preface)
        return words if failure.startswith("guest_") else ""


def _digest(path):
    """Return the SHA-256 in hex of the controller's file ``path``, read in blocks."""
    digest = hashlib.sha256()
    try:
        with open(to_bytes(path, errors="surrogate_or_strict"), "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except FileNotFoundError as error:
        raise AnsibleFileNotFound("file or module does not exist: %s" % to_text(path)) from error
    except OSError as error:
        raise AnsibleError("%s cannot be read: %s" % (to_text(path), error.strerror)) from error
    return digest.hexdigest()


def _words(report):
    """Return what the guest said, as one text without empty ends."""
    return to_text(report.stderr).strip() or "exit status %d and no message." % report.rc
