# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Causes of the contract: host_and_container. Id, group, severity, stages, ids easily reported instead, first advice."""

from __future__ import annotations

# fmt: off
TABLE = (
    (
        "cache_dir_not_writable", "host_and_container", "fault", ("imports", "attention_backend", "cuda_graph", "warmup"),
        ("disk_full", "model_path_permission", "mandatory_access_denied"),
        "Give the service user a writable cache directory (HOME or XDG_CACHE_HOME, TRITON_CACHE_DIR, FLASHINFER_WORKSPACE_BASE) and"
        " allow it in the unit (ReadWritePaths=).",
    ),
    (
        "clock_skew", "host_and_container", "warning", ("tokenizer", "weights_load", "distributed_init", "warmup"),
        ("hub_unreachable", "nccl_collective_timeout"),
        "Set up time synchronisation on the host, then start again.",
    ),
    (
        "cuda_visible_devices_empty", "host_and_container", "fault", ("launch", "args", "distributed_init"),
        ("gpu_not_passed_through", "nvidia_uvm_missing", "invalid_device_ordinal"),
        "Remove CUDA_VISIBLE_DEVICES from the environment of the service or set it to existing indices or UUIDs.",
    ),
    (
        "disk_full", "host_and_container", "fault", ("tokenizer", "weights_load", "attention_backend", "cuda_graph", "warmup", "serving"),
        ("shm_too_small", "cache_dir_not_writable", "still_loading"),
        "Free or enlarge the named volume, remove incomplete downloads, or point --download-dir or the cache elsewhere.",
    ),
    (
        "driver_library_mismatch", "host_and_container", "fault", ("launch", "args", "distributed_init"),
        ("driver_too_old", "gpu_not_passed_through", "gpu_cgroup_lost"),
        "Install in the container exactly the version of the host module (user-space part only); after a driver update reboot the "
        "host first.",
    ),
    (
        "driver_library_missing", "host_and_container", "fault", ("launch", "imports"),
        ("gpu_not_passed_through", "cuda_major_mismatch", "missing_system_library"),
        "Install the user-space part of the driver in the version of the host, or start the container with the NVIDIA runtime that "
        "mounts it.",
    ),
    (
        "driver_too_old", "host_and_container", "fault", ("launch", "args", "imports", "distributed_init"),
        ("driver_library_mismatch", "sgl_kernel_abi_mismatch", "gpu_not_passed_through", "cuda_major_mismatch"),
        "Update the driver on the host (and its libraries in the container), or install software for an older CUDA.",
    ),
    (
        "fabric_manager_not_running", "host_and_container", "fault", ("distributed_init", "launch", "args"),
        ("driver_library_mismatch", "nvidia_uvm_missing", "nccl_p2p_hang"),
        "Start the fabric manager on the host in exactly the driver version, then start again.",
    ),
    (
        "fd_limit", "host_and_container", "fault", ("weights_load", "serving"),
        ("disk_full", "process_limit", "port_in_use"),
        "Raise LimitNOFILE= of the unit (and the limit of the container), and bound the number of client connections.",
    ),
    (
        "gpu_cgroup_lost", "host_and_container", "fault", ("serving",),
        ("gpu_fell_off_bus", "driver_library_mismatch", "illegal_memory_access"),
        "Restart the container; lastingly enter the devices where the service manager knows them and avoid daemon-reload by "
        "automatic updates.",
    ),
    (
        "gpu_exclusive_mode", "host_and_container", "fault", ("distributed_init", "weights_load"),
        ("gpu_busy_by_other_process", "gpu_not_passed_through"),
        "Set the compute mode to Default on the host, or stop the process that holds the GPU.",
    ),
    (
        "gpu_fell_off_bus", "host_and_container", "fault", ("weights_load", "cuda_graph", "serving"),
        ("gpu_hardware_ecc", "illegal_memory_access", "gpu_cgroup_lost"),
        "Reboot the host; check power, riser, link speed and temperature. Restarting the service cannot help.",
    ),
    (
        "gpu_hardware_ecc", "host_and_container", "fault", ("weights_load", "cuda_graph", "serving"),
        ("illegal_memory_access", "gpu_fell_off_bus", "weights_oom"),
        "Take the GPU out of service, reset it or reboot the host so that rows are remapped, replace it when it recurs.",
    ),
    (
        "gpu_kernel_exception", "host_and_container", "fault", ("cuda_graph", "warmup", "serving"),
        ("illegal_memory_access", "xid_application_fault", "gpu_hardware_ecc"),
        "Update kernels and driver and find the kernel with CUDA_LAUNCH_BLOCKING=1; run diagnostics when one card repeats it.",
    ),
    (
        "gpu_memory_query_failed", "host_and_container", "fault", ("args", "launch"),
        ("gpu_not_passed_through", "mig_mode_mismatch", "driver_library_mismatch"),
        "Update SGLang (newer versions ask CUDA directly), or set --mem-fraction-static and related sizes by hand.",
    ),
    (
        "gpu_not_passed_through", "host_and_container", "fault", ("launch", "args", "distributed_init"),
        ("driver_library_missing", "driver_too_old", "nvidia_uvm_missing", "torch_cpu_only_build"),
        "Load the driver on the host, pass /dev/nvidia0, nvidiactl and nvidia-uvm to the container with their device rules, and "
        "restart it.",
    ),
    (
        "mandatory_access_denied", "host_and_container", "fault", ("launch", "imports", "distributed_init", "weights_load"),
        ("model_path_permission", "cache_dir_not_writable", "nested_container_cgroup_denied", "shm_permission"),
        "Label or allow the path or call in the policy (for mounts the :z label or a profile of the container) instead of switching"
        " the protection off.",
    ),
    (
        "memlock_limit", "host_and_container", "fault", ("distributed_init", "memory_pool"),
        ("hicache_host_memory", "shm_too_small"),
        "Set LimitMEMLOCK=infinity in the unit (and the same limit for the container).",
    ),
    (
        "mig_mode_mismatch", "host_and_container", "fault", ("launch", "args", "distributed_init"),
        ("gpu_memory_query_failed", "cuda_visible_devices_empty", "invalid_device_ordinal"),
        "Create and name a compute instance and use --tp-size 1 on it, or switch MIG off on the host.",
    ),
    (
        "nested_container_cgroup_denied", "host_and_container", "fault", ("launch",),
        ("gpu_not_passed_through", "driver_library_missing", "mandatory_access_denied"),
        "Set no-cgroups = true in the NVIDIA container runtime, or run SGLang without the inner container.",
    ),
    (
        "numa_binding_failed", "host_and_container", "warning", ("launch", "distributed_init"),
        ("missing_system_library", "mandatory_access_denied"),
        "Drop or correct the NUMA setting (--numa-node), or allow the call and the CPUs in the container.",
    ),
    (
        "nvidia_uvm_missing", "host_and_container", "fault", ("launch", "args", "distributed_init"),
        ("gpu_not_passed_through", "cuda_visible_devices_empty", "driver_library_mismatch"),
        "Load nvidia-uvm on the host at boot, pass /dev/nvidia-uvm and nvidia-uvm-tools with their present major number, and "
        "restart the container.",
    ),
    (
        "process_limit", "host_and_container", "fault", ("launch", "imports", "weights_load", "serving"),
        ("fd_limit", "host_oom_killed"),
        "Raise TasksMax= and LimitNPROC= of the unit and the pids limit of the container, or lower the number of threads "
        "(OMP_NUM_THREADS).",
    ),
    (
        "shm_permission", "host_and_container", "fault", ("distributed_init",),
        ("shm_too_small", "mandatory_access_denied", "cache_dir_not_writable"),
        "Set /dev/shm to mode 1777 and remove segments of other users; run all ranks as one user.",
    ),
    (
        "shm_too_small", "host_and_container", "fault", ("distributed_init", "warmup", "serving"),
        ("disk_full", "shm_permission", "triton_shared_memory_limit"),
        "Enlarge /dev/shm (docker --shm-size or --ipc=host; a larger tmpfs entry in LXC) and remove stale segments.",
    ),
    (
        "xid_application_fault", "host_and_container", "fault", ("cuda_graph", "warmup", "serving"),
        ("gpu_kernel_exception", "illegal_memory_access", "gpu_hardware_ecc", "gpu_fell_off_bus"),
        "Treat it as a software fault: look for the first server error, update SGLang and driver; suspect the card only if one "
        "repeats it.",
    ),
)
