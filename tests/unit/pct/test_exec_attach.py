"""The command line that enters a guest."""

from __future__ import annotations

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._pct import attach


def test_options_stand_between_the_number_and_the_dashes():
    assert attach.attach_argv(129, ["ls", "-la"]) == ["/usr/sbin/pct", "exec", "129", "--keep-env", "0", "--", "ls", "-la"]
    assert attach.attach_argv(129, ["ls"], "lxc-attach") == ["/usr/bin/lxc-attach", "-n", "129", "--clear-env", "--", "ls"]
    assert attach.attach_argv("129", ["ls"], executable="/opt/pct")[:2] == ["/opt/pct", "exec"]


@pytest.mark.parametrize("vmid", ["abc", None, 99, 0, -100, 1000000000, "12 3"])
def test_a_number_that_no_guest_has(vmid):
    with pytest.raises(KproError, match="100 and 999999999"):
        attach.attach_argv(vmid, ["ls"])


def test_unknown_method():
    with pytest.raises(KproError, match="pct, lxc-attach"):
        attach.attach_argv(100, ["ls"], "docker")


def test_words_that_are_no_argv():
    with pytest.raises(KproError, match="argv is empty"):
        attach.check_words([], "argv")
    with pytest.raises(KproError, match="argument 1 contains a NUL"):
        attach.check_words(["a", "b\0"], "argv")
    with pytest.raises(KproError, match="argument 1 is 131072 bytes"):
        attach.check_words(["a", "é" * 65536], "argv")
    attach.check_words(["a", "b" * 131071, ""], "argv")
