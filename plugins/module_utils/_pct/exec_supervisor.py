# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""The small program on the node through which the connection plugin runs pct: bounded start, no exit status 255.

It is Perl because pct is: a node that has pct has perl, and a bare perl starts in 4 ms. It relays stdout and stderr, so a pct
that hangs for ever (a frozen guest leaves lxc-attach in state D, which no signal ends) holds no pipe of ssh's, and it can give
up: when the guest was frozen for FROZEN_LIMIT seconds, or the start marker did not come within the start limit. Until the
start it writes a marker every 5 s, so that Ansible's own wait for a become prompt (12 s) does not end first.
"""

from __future__ import annotations

from .attach import LOCALE

# seconds; a guest that a backup froze for a moment is waited for
FROZEN_LIMIT = 10
START_LIMIT = 30

# Arguments: token, start limit and frozen limit in seconds, 1 to pass stdin on, 1 to use sudo when not root, vmid, then the argv.
# Exit status 255 belongs to ssh ("could not connect", which Ansible retries), so the program never uses it: the guest's end marker
# carries the true one.
SUPERVISOR = r"""
my ($token, $limit, $patience, $feed, $become, $vmid) = splice @ARGV, 0, 6;
unshift @ARGV, "sudo", "-n" if $become && $> != 0;
sub say2 { syswrite STDERR, "\n$token @_\n" }
sub frozen {
  for my $g ("lxc/$vmid", "lxc/$vmid/ns", "lxc.payload.$vmid", "lxc.payload/$vmid") {
    for my $f ("freezer/$g/freezer.state", "$g/cgroup.events", "unified/$g/cgroup.events") {
      open my $h, "<", "/sys/fs/cgroup/$f" or next;
      return 1 if join("", <$h>) =~ /^(?:FREEZING|FROZEN|frozen 1)$/m;
    }
  }
  return 0;
}
pipe(my $or, my $ow) && pipe(my $er, my $ew) or die "pipe: $!\n";
$SIG{CHLD} = sub {};
my $pid = fork;
defined $pid or die "fork: $!\n";
if (!$pid) {
  setpgrp;
  open STDIN, "<", "/dev/null" unless $feed;
  open STDOUT, ">&", $ow; open STDERR, ">&", $ew;
  exec { $ARGV[0] } @ARGV or syswrite STDERR, "$ARGV[0]: $!\n";
  exit 127;
}
close $ow; close $ew;
open STDIN, "<", "/dev/null";
my %relay = (fileno $or, [$or, \*STDOUT], fileno $er, [$er, \*STDERR]);
my ($began, $beat, $cold, $started, $head, $status) = (time, time, 0, 0, "", undef);
while (1) {
  # Both streams are closed: it is about to end, and nothing else is left to wait for.
  $status = $? if !defined $status && waitpid($pid, $started && !%relay ? 0 : 1) == $pid;
  last if defined $status && !%relay;
  my $wanted = "";
  vec($wanted, $_, 1) = 1 for keys %relay;
  my $ready = select(my $r = $wanted, undef, undef, defined $status ? 0.3 : %relay ? 0.5 : 0.01);
  last if $ready == 0 && defined $status;
  for my $n ($ready > 0 ? grep { vec $r, $_, 1 } keys %relay : ()) {
    my ($in, $out) = @{$relay{$n}};
    my $got = sysread $in, my $block, 131072;
    next if !defined $got && $!{EINTR};
    if (!$got) { delete $relay{$n}; close $in; next }
    if (!$started && $out == \*STDERR) {
      $head = substr $head . $block, -65536;
      $started = 1 if $head =~ /^\Q$token\E start /m;
    }
    for (my $at = 0; $at < $got;) {
      my $put = syswrite $out, $block, $got - $at, $at;
      next if !defined $put && $!{EINTR};
      defined $put or exit 254;
      $at += $put;
    }
  }
  next if $started || defined $status;
  my $now = time;
  if ($now - $beat >= 5) { say2 "wait"; $beat = $now }
  $cold = frozen() ? $cold || $now : 0;
  my $stalled = $cold && $now - $cold >= $patience ? "frozen" : $now - $began >= $limit ? "hung" : next;
  say2 "stalled $stalled";
  kill "KILL", -$pid;
  exit 254;
}
say2 "killed ", $status & 127 if $status & 127;
exit($status & 127 || $status >> 8 == 255 ? 254 : $status >> 8);
"""


def supervised(argv, token, vmid, limit=START_LIMIT, feed=False, become=False):
    """Return the argv for the node's login shell that runs ``argv`` (of ``attach_argv``) under the supervisor.

    ``feed``: pass ssh's stdin on (else /dev/null: a reader of stdin would wait for ever). ``become``: sudo -n unless root.
    """
    return [
        "/usr/bin/env", "LC_ALL=" + LOCALE, "perl", "-e", SUPERVISOR, "--",
        token, str(limit), str(min(limit, FROZEN_LIMIT)), "1" if feed else "0", "1" if become else "0", str(vmid), *argv,
    ]  # fmt: skip
