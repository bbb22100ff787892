#!/usr/bin/python
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_memory_facts
short_description: Who holds how much memory of which NVIDIA GPU
version_added: 0.1.0
author:
  - kpro.sglang contributors (@kpro-sglang)
description:
  - Returns one record of all NVIDIA GPUs that this machine or guest sees, whether NVML or C(nvidia-smi) was asked.
  - Every process that holds memory is resolved to its program, its systemd unit and, on a Proxmox VE node, the guest it runs in.
  - Can wait until enough memory is free, and names the holders when it does not become free.
  - A machine without a GPU, without a driver, or with libraries of another version than the kernel module is an answer, not a failure.
    RV(ansible_facts.gpu_memory.problem) then names the cause.
attributes:
  check_mode:
    description: Can run in check mode and return what it would return otherwise.
    support: full
  diff_mode:
    description: Returns details on what has changed in diff mode.
    support: N/A
    details: The module changes nothing.
  facts:
    description: Action returns an C(ansible_facts) dictionary that will update existing host facts.
    support: full
options:
  backend:
    description:
      - Who is asked. V(auto) asks NVML through nvidia-ml-py where that can be loaded and gives an answer, and C(nvidia-smi) otherwise.
    type: str
    choices: [auto, nvml, nvidia_smi]
    default: auto
  python:
    description:
      - A virtual environment, or the Python interpreter in it, where nvidia-ml-py is looked for first. SGLang installs it beside itself.
      - Without it only the Python that runs this module is looked at.
    type: path
  gpus:
    description:
      - The GPUs to report and to wait for, each by index, UUID (its beginning is enough), MIG UUID or PCI address.
      - All of them when left out. A name that fits no GPU fails the task when there are GPUs at all.
    type: list
    elements: str
  links:
    description:
      - Also return how each pair of GPUs is joined. Told by NVML only.
    type: bool
    default: false
  wait_for_free_mib:
    description:
      - Wait until each of the chosen GPUs has this much free memory, in MiB.
      - The task fails with the names of the holders when O(timeout) is over, and at once when there is no GPU or one is smaller than that.
    type: int
  timeout:
    description:
      - How long O(wait_for_free_mib) waits, in seconds. This is not the task keyword of the same name.
    type: float
    default: 60
notes:
  - Inside a guest the driver lists only processes of that guest. What others hold is in RV(ansible_facts.gpu_memory.gpus[].unowned_mib);
    run the module on the node to learn their names.
  - Memory is counted as C(nvidia-smi) counts it. What the driver keeps for itself is in C(reserved_mib), not in C(used_mib).
  - Kernel messages (Xid) can be read by root outside of guests only.
"""

EXAMPLES = r"""
- name: See what the GPUs hold
  kpro.sglang.gpu_memory_facts:
    python: /opt/sglang/venvs/current

- name: Stop when no GPU is usable
  ansible.builtin.fail:
    msg: "{{ ansible_facts.gpu_memory.problem_detail.text }} {{ ansible_facts.gpu_memory.problem_detail.remedy }}"
  when: ansible_facts.gpu_memory.problem is not none

- name: Wait until the stopped server has given its memory back
  kpro.sglang.gpu_memory_facts:
    gpus: [GPU-6b70726f-0000-4000-8000-000000000000]
    wait_for_free_mib: 46000
    timeout: 30

- name: Ask the node which guest holds the memory
  kpro.sglang.gpu_memory_facts:
  delegate_to: "{{ proxmox_node }}"
  delegate_facts: true
"""

RETURN = r"""
ansible_facts:
  description: Facts to add.
  returned: always
  type: dict
  contains:
    gpu_memory:
      description: What the GPUs of this machine or guest hold. Also returned as C(gpu_memory) when the task fails after reading.
      returned: always
      type: dict
      contains:
        backend:
          description: Who answered, V(nvml) or V(nvidia_smi); null when nobody could be asked.
          type: str
          returned: always
        driver_version:
          description: Version of the NVIDIA driver as its libraries tell it.
          type: str
          returned: always
          sample: 580.159.04
        kernel_driver_version:
          description: Version of the loaded kernel module from C(/proc/driver/nvidia/version), null where that file is missing.
          type: str
          returned: always
        cuda_version:
          description: The newest CUDA version that this driver serves.
          type: str
          returned: always
          sample: "13.0"
        problem:
          description: The cause id of what stands in the way of using the GPUs, or null.
          type: str
          returned: always
          sample: gpu_not_passed_through
        problem_detail:
          description: The same in full, or null.
          type: dict
          returned: always
          contains:
            cause:
              description: The cause id.
              type: str
              returned: always
            text:
              description: One sentence that says what was seen.
              type: str
              returned: always
            remedy:
              description: What to do.
              type: str
              returned: always
            evidence:
              description: The words of the driver or of C(nvidia-smi), or null.
              type: str
              returned: always
        gpus:
          description: The GPUs, in the order of O(gpus) or of their index. What a GPU does not tell is null.
          type: list
          elements: dict
          returned: always
          contains:
            index:
              description: The driver's number for it here; may differ between guests and after a boot.
              type: int
              returned: always
            uuid:
              description: The lasting name.
              type: str
              returned: always
            name:
              description: The product.
              type: str
              returned: always
            pci_bus_id:
              description: PCI address with eight digits of domain.
              type: str
              returned: always
              sample: 00000000:21:00.0
            minor:
              description: N of C(/dev/nvidiaN).
              type: int
              returned: always
            total_mib:
              description: All memory in MiB.
              type: int
              returned: always
            used_mib:
              description: Memory in use, in MiB, without RV(ansible_facts.gpu_memory.gpus[].reserved_mib).
              type: int
              returned: always
            free_mib:
              description: Free memory in MiB.
              type: int
              returned: always
            reserved_mib:
              description: What the driver and firmware keep for themselves, in MiB.
              type: int
              returned: always
            unowned_mib:
              description: Used memory in MiB that no visible process accounts for. Inside a guest it is held from outside of the guest.
              type: int
              returned: always
            compute_capability:
              description: CUDA compute capability.
              type: str
              returned: always
              sample: "8.6"
            persistence_mode:
              description: Whether the driver stays initialised without a client.
              type: bool
              returned: always
            ecc_enabled:
              description: Whether the memory is protected by ECC.
              type: bool
              returned: always
            ecc_uncorrected:
              description: Uncorrectable errors since the driver was loaded.
              type: int
              returned: always
            mig:
              description: Null when the GPU cannot do MIG; else whether it is enabled, and its instances with UUID and memory in MiB.
              type: dict
              returned: always
            processes:
              description: Processes that hold memory of this GPU and can be seen from here, by pid.
              type: list
              elements: dict
              returned: always
              contains:
                pid:
                  description: Process id as seen from here.
                  type: int
                  returned: always
                name:
                  description: The program, or the title that it gave itself. Arguments are never returned.
                  type: str
                  returned: always
                used_mib:
                  description: Memory that it holds, in MiB; null when the driver does not tell.
                  type: int
                  returned: always
                kind:
                  description: V(compute), V(graphics) or V(mps).
                  type: str
                  returned: always
                unit:
                  description: Its systemd unit (inside its guest), or null.
                  type: str
                  returned: always
                vmid:
                  description: On a node, the guest it runs in, or null.
                  type: int
                  returned: always
        hints:
          description: What speaks against a GPU although it answers; Xid messages, uncorrectable ECC errors, MIG without an instance.
          type: list
          elements: dict
          returned: always
          contains:
            gpu:
              description: Index of the GPU, or null when it is not listed any more.
              type: int
              returned: always
            cause:
              description: A cause id, or null.
              type: str
              returned: always
            text:
              description: One sentence.
              type: str
              returned: always
        links:
          description: One entry for each pair of GPUs with O(links=true) and NVML, else null.
          type: list
          elements: dict
          returned: always
          contains:
            gpus:
              description: The two indexes.
              type: list
              elements: int
              returned: always
            level:
              description: Their nearest common ancestor on PCIe, such as V(host_bridge), V(numa_node) or V(system).
              type: str
              returned: always
            p2p_read:
              description: Whether each may read the other's memory.
              type: bool
              returned: always
            p2p_write:
              description: Whether each may write the other's memory.
              type: bool
              returned: always
            p2p_nvlink:
              description: Whether that goes over NVLink.
              type: bool
              returned: always
            nvlinks_active:
              description: Active NVLinks of the first GPU.
              type: int
              returned: always
        waited:
          description: With O(wait_for_free_mib), what was wanted and how long it took; else null.
          type: dict
          returned: always
          contains:
            wanted_mib:
              description: O(wait_for_free_mib).
              type: int
              returned: always
            satisfied:
              description: Whether it was reached.
              type: bool
              returned: always
            seconds:
              description: Time waited.
              type: float
              returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kpro.sglang.plugins.module_utils._errors import KproError
from ansible_collections.kpro.sglang.plugins.module_utils._gpu.facts import BACKENDS, gather


def main():
    module = AnsibleModule(
        argument_spec={
            "backend": {"type": "str", "choices": list(BACKENDS), "default": "auto"},
            "python": {"type": "path"},
            "gpus": {"type": "list", "elements": "str"},
            "links": {"type": "bool", "default": False},
            "wait_for_free_mib": {"type": "int"},
            "timeout": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    try:
        facts = gather(**module.params)
    except KproError as error:
        module.fail_json(msg=error.message, **error.result)
    module.exit_json(changed=False, ansible_facts={"gpu_memory": facts})


if __name__ == "__main__":
    main()
