# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""One transaction on a guest: create or change it, start, restart or stop it, wait for its systemd, bring Python."""

from __future__ import annotations

from .._errors import KproError
from . import guest_bring, guest_inside, guest_node, guest_reasons
from .attach import PCT
from .guest_desired import build_desired
from .guest_pct import Pct, PctFailed
from .guest_plan import creation_keys, make_plan
from .guest_predict import predict_creation, predict_update


def ensure_guest(options, check_mode=False):
    """Bring the guest into the state that ``options`` (dict, the module's options) describe.

    Returns {changed, guest, diff, warnings}; see the module's documentation for ``guest``. With ``check_mode`` nothing is
    written or started and the result says what would be. A KproError carries the same fields: what was done until then.
    """
    transaction = _Transaction(options, check_mode)
    try:
        transaction.carry_out()
    except KproError as error:
        known = transaction.result(failed=True)
        raise KproError(error.message, **{**known, "failure": None, **error.result}) from error
    return transaction.result()


def _for_a_new_guest(options):
    """The options with those of ``initial`` put in where they are not given themselves."""
    initial = options.get("initial") or {}
    return {**options, **{name: value for name, value in initial.items() if value is not None and options.get(name) is None}}


class _Transaction:
    def __init__(self, options, check_mode):
        self.desired = build_desired(options)
        self.desired_new = build_desired(_for_a_new_guest(options))
        self.options = options
        self.check_mode = check_mode
        self.vmid = options["vmid"]
        self.state = options.get("state") or "present"
        self.pct = Pct(self.vmid, options.get("pct_executable") or PCT)
        self.exact = tuple(options.get("exact") or ())
        self.warnings = []
        self.changed = False
        self.changes = []
        self.conf = None
        self.before_text = self.after_text = ""
        self.inside = None
        self.reasons = []
        self.guest = {
            "vmid": self.vmid,
            "node": None,
            "exists": False,
            "created": False,
            "running": None,
            "started": False,
            "stopped": False,
            "restarted": False,
            "python_installed": False,
            "hosts_entry_added": False,
        }

    # The order of things

    def carry_out(self):
        self.guest["node"] = guest_node.node_name()
        now = self._read()
        self.before_text = self.after_text = now.text
        if not now.exists:
            guest_node.refuse_foreign(self.vmid)
            self.desired = self.desired_new
            self._create()
            running = False
        else:
            self.guest["exists"] = True
            running = self.pct.running()
            self.guest["running"] = running
            known = guest_reasons.recall(self.pct, running, self.check_mode)
            self.reasons = sorted({*(guest_reasons.pending_reasons(now.conf) if running else ()), *known})
            self._update(now, running)
        running = self._power(running)
        self.guest["running"] = running
        if running:
            self._look_inside()
        if self.reasons:
            self.warnings.append(
                f"Guest {self.vmid} needs a restart before everything asked for is in effect, and restart does not allow it now: "
                + "; ".join(self.reasons)
            )

    def result(self, failed=False):
        """The module's result as far as it is known."""
        guest = dict(self.guest, changes=self.changes, restart_needed=self.reasons, conf=self.conf.as_dict() if self.conf else None)
        seen = self.inside
        guest["system"] = seen.system if seen else None
        guest["failed_units"] = seen.failed_units if seen else []
        guest["addresses"] = seen.addresses if seen else []
        guest["python"] = seen.python if seen else None
        path = guest_node.conf_path(self.vmid)
        diff = {"before": self.before_text, "after": self.after_text, "before_header": path, "after_header": path}
        if failed and not self.check_mode and self.changed:
            try:
                diff["after"] = guest_node.read_conf(self.vmid).text
            except KproError:
                pass
        noise = [f"pct: {text}" for text in self.pct.warnings]
        return {"changed": self.changed, "guest": guest, "diff": diff, "warnings": self.warnings + noise}

    # Configuration

    def _read(self):
        now = guest_node.read_conf(self.vmid)
        self.conf = now.conf if now.exists else None
        return now

    def _check_node(self):
        """Devices and directories that the node lacks: a failure, or a warning in check mode, where an earlier task may bring them."""
        missing = guest_node.missing_on_node(self.desired)
        if missing and not self.check_mode:
            raise KproError(" ".join(missing), failure=None)
        self.warnings += missing

    def _create(self):
        template = self.desired.ostemplate
        if not template:
            raise KproError(
                f"Guest {self.vmid} does not exist on node {self.guest['node']}, and without ostemplate it cannot be created; "
                "name one, such as local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst (pveam list local shows them).",
                failure="guest_missing",
            )
        self._check_node()
        self.changed = True
        self.guest["created"] = True
        keys = creation_keys(self.desired)
        raw = self.desired.raw_lxc
        self.changes = [{"key": key, "before": None, "after": keys[key]} for key in sorted(keys)]
        self.changes += [{"key": key, "before": None, "after": "\n".join(raw[key])} for key in sorted(raw)]
        if self.check_mode:
            self.conf = predict_creation(self.vmid, self.desired)
            self.after_text = self.conf.render()
            return
        try:
            self.pct.create(template, keys)
        except KproError:
            self.guest["created"] = self.changed = guest_node.read_conf(self.vmid).exists
            self.guest["exists"] = self.changed
            raise
        self.guest["exists"] = True
        if raw:
            guest_node.write_raw_lxc(self.vmid, raw)
        self.after_text = self._read().text
        if self.conf is None:
            raise KproError(f"pct create reported success, but guest {self.vmid} has no configuration file.", failure=None)

    def _update(self, now, running):
        plan = make_plan(self.desired, now.conf, self.exact)
        self.warnings += plan.notes
        if plan.empty:
            return
        self._refuse_lock(now.conf, "be changed")
        self._check_node()
        self.changes = plan.changes
        self.changed = True
        if self.check_mode:
            self.conf = predict_update(now.conf, plan, running)
            self.after_text = self.conf.render()
        else:
            self._write(plan, now, running)
        if running:
            known = guest_reasons.without(self.reasons, plan.raw_lxc)
            fresh = guest_reasons.raw_reasons(plan.raw_lxc)
            self.reasons = sorted({*guest_reasons.pending_reasons(self.conf), *known, *fresh})

    def _write(self, plan, now, running):
        """Carry out the plan; whatever fails, the file is read again, for pct may save a change and fail afterwards."""
        self.changed = False
        try:
            if plan.sets or plan.deletes:
                self._pct_set(plan, now)
            if plan.grow_gib is not None:
                done = self.pct.grow(plan.grow_gib)
                if make_plan(self.desired, self._read().conf, self.exact).grow_gib is not None:
                    raise PctFailed(f"The root file system of guest {self.vmid} was not grown to {plan.grow_gib} GiB", done, None)
            if plan.raw_lxc:
                guest_node.write_raw_lxc(self.vmid, plan.raw_lxc)
                if running:
                    guest_reasons.remember(self.pct, plan.raw_lxc)
        finally:
            after = self._read()
            self.after_text = after.text
            self.changed = after.text != self.before_text
        left = [change["key"] for change in make_plan(self.desired, self.conf, self.exact).changes]
        if left:
            raise KproError(f"pct said nothing, but guest {self.vmid} did not take the wanted {', '.join(left)}.", failure=None)

    def _pct_set(self, plan, now):
        try:
            self.pct.set(plan.sets, plan.deletes, now.digest)
        except PctFailed as failed:
            if "detected modified configuration" in failed.words:
                failed.message += f" (somebody else changed guest {self.vmid} at the same time; run the task again)"
                raise
            pending = self._read().conf.pending_keys()
            # A device that could not be hot-plugged is saved as pending: it waits for the restart, and pct's words say why.
            if "unable to hotplug" not in failed.words or not set(plan.sets) & set(pending):
                raise
            left = make_plan(self.desired, self.conf, self.exact)
            if left.sets or left.deletes:
                raise
            self.pct.warnings.append(failed.words)

    def _refuse_lock(self, conf, what):
        lock = conf and conf.main.keys.get("lock")
        if lock:
            raise KproError(
                f"Guest {self.vmid} is locked ({lock}), so it cannot {what} now; wait until that is done. A lock left over from a crash is "
                f"taken away with pct unlock {self.vmid}, which this module never does by itself.",
                failure="guest_locked",
            )

    # Power

    def _power(self, running):
        """Start, stop or restart as asked for; returns whether the guest runs afterwards (would run, in check mode)."""
        if self.state == "stopped":
            if running:
                self._refuse_lock(self.conf, "be stopped")
                if not self.check_mode:
                    self.pct.stop()
                self._status("running", "stopped", "stopped")
                self._settled()
            return False
        if running and self.reasons and self.options.get("restart") == "when_needed":
            self._refuse_lock(self.conf, "be restarted")
            if not self.check_mode:
                self.pct.stop()
                self.changed = True
                self.guest["running"] = False
                self.pct.start()
            self._status("running", "restarted", "restarted")
            self._settled()
            return True
        if self.state == "started" and not running:
            self._refuse_lock(self.conf, "be started")
            if self.conf and self.conf.main.keys.get("template") == "1":
                raise KproError(f"Guest {self.vmid} is a template, which cannot start; clone it (pct clone).", failure="guest_stopped")
            if not self.guest["created"]:
                self._check_node()
            if self.check_mode or self.pct.start():
                self._status("stopped", "running", "started")
            self._settled()
            return True
        return running

    def _status(self, before, after, what):
        self.changed = True
        self.guest[what] = True
        self.changes = self.changes + [{"key": "status", "before": before, "after": after}]

    def _settled(self):
        """After a stop or start: nothing waits for a restart any more, and Proxmox has merged what was pending."""
        self.reasons = []
        if self.check_mode:
            return
        guest_reasons.forget(self.vmid)
        self.after_text = self._read().text

    # Inside

    def _look_inside(self):
        """See the guest's state, and bring what is missing; in check mode only a guest that runs already is looked at."""
        if self.check_mode and (not self.guest["exists"] or self.guest["started"] or self.guest["restarted"]):
            return
        self.inside = guest_bring.visit(self.pct, self.options, self.check_mode)
        if self.inside.failed_units:
            self.warnings.append(f"systemd of guest {self.vmid} is degraded; failed: {', '.join(self.inside.failed_units)}.")
        for name, key, after in guest_bring.bring(self.pct, self.inside, self.options, self.check_mode):
            self.guest[name] = self.changed = True
            self.changes = self.changes + [{"key": key, "before": None, "after": after}]
        if self.guest["python_installed"] and not self.check_mode:
            self.inside, _done = guest_inside.look(self.pct)
