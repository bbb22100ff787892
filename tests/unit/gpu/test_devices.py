"""Device nodes and driver files."""

from __future__ import annotations

import os

import pytest

from ansible_collections.kpro.sglang.plugins.module_utils._gpu import problems

CONTAINER = {"run/systemd/container": "lxc\n"}


def test_cards_in_order_and_nothing_else(nodes):
    here = nodes("nvidia10", "nvidia2", "nvidia-modeset", "nvidiactl", "nvidia-uvm")
    assert (here.cards, here.control, here.uvm, here.any_present) == ([2, 10], True, True, True)
    assert here.denied == {}


def test_nothing(nodes):
    here = nodes()
    assert (here.cards, here.any_present, here.kernel_version, here.container, here.uvm_state()) == ([], False, None, False, None)


@pytest.mark.parametrize(
    "text",
    [
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version:  gcc version 12.2.0\n",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (dvs-builder@U16-I1-N07-12-3)\n",
    ],
)
def test_kernel_version_in_both_wordings(nodes, text):
    assert nodes(files={"proc/driver/nvidia/version": text}).kernel_version == "550.54.14"


@pytest.mark.parametrize("files", [CONTAINER, {".dockerenv": ""}, {"proc/1/environ": "PATH=/bin\0container=lxc\0"}])
def test_containers(nodes, files):
    assert nodes(files=files).container


def test_a_node_is_no_guest(nodes):
    assert not nodes(files={**CONTAINER, "etc/pve/lxc/129.conf": ""}).container


def test_uvm_missing_matters_in_a_guest_only(nodes):
    assert problems.uvm(nodes("nvidiactl", "nvidia0")) is None
    problem = problems.uvm(nodes("nvidiactl", "nvidia0", files=CONTAINER))
    assert problem.cause == "nvidia_uvm_missing"
    assert "is missing" in problem.text


def test_uvm_with_another_major(nodes):
    # /dev/null's major is 1; a symlink stands for the node that a guest was given before the driver changed its number
    here = nodes("nvidiactl", "nvidia0", files={"proc/devices": "Character devices:\n195 nvidia\n511 nvidia-uvm\n"})
    os.symlink("/dev/null", os.path.join(here._dev, "nvidia-uvm"))
    here.uvm = True
    assert here.uvm_state() == "has major number 1, the loaded driver has 511"


def test_denied_nodes_are_named_with_mode_and_owner(nodes, monkeypatch):
    nodes("nvidiactl", "nvidia0", modes={"nvidiactl": 0o660})

    def refuse(path, _flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)  # root may open everything
    here = nodes()
    assert sorted(here.denied) == ["/dev/nvidia0", "/dev/nvidiactl"]
    problem = problems.no_device(here)
    assert problem.cause == "gpu_not_passed_through"
    assert "/dev/nvidiactl: Permission denied, mode 0660, owner" in problem.text
    assert "gid=" in problem.remedy


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "no NVIDIA device node"),
        (("nvidia0",), "/dev/nvidiactl is missing"),
        (("nvidiactl",), "no /dev/nvidiaN"),
        (("nvidiactl", "nvidia0"), "no driver answers"),
    ],
)
def test_no_device_says_which_node_is_missing(nodes, names, words):
    assert words in problems.no_device(nodes(*names)).text


@pytest.mark.parametrize(("names", "cause"), [(("nvidiactl",), "gpu_memory_query_failed"), ((), "gpu_not_passed_through")])
def test_nobody_to_ask(nodes, names, cause):
    assert problems.no_reader("looked", nodes(*names)).cause == cause
