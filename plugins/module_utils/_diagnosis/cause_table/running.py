# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Causes of the contract: distributed, serving, process, none. Id, group, severity, stages, ids easily reported instead, first advice."""

from __future__ import annotations

# fmt: off
TABLE = (
    (
        "gloo_wrong_interface", "distributed", "fault", ("distributed_init",),
        ("peer_rank_missing", "peer_rank_died", "port_in_use"),
        "Set GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME to the right interface, correct /etc/hosts so that the own name resolves to "
        "the reachable address, and open the ports between the nodes.",
    ),
    (
        "internal_port_in_use", "distributed", "fault", ("launch", "distributed_init"),
        ("port_in_use", "peer_rank_missing"),
        "Set --nccl-port or --dist-init-addr to a port outside of the ephemeral range, or reserve the range in "
        "net.ipv4.ip_local_reserved_ports.",
    ),
    (
        "nccl_collective_timeout", "distributed", "fault", ("distributed_init", "weights_load", "cuda_graph", "serving"),
        ("scheduler_hang_watchdog", "nccl_p2p_hang", "peer_rank_died", "illegal_memory_access"),
        "Find the rank that did not take part (its log, network, GPU); try NCCL_P2P_DISABLE=1; raise --dist-timeout only for a "
        "known slow step.",
    ),
    (
        "nccl_p2p_hang", "distributed", "fault", ("distributed_init",),
        ("still_loading", "p2p_unsupported", "scheduler_hang_watchdog"),
        "Set NCCL_P2P_DISABLE=1 and --disable-custom-all-reduce, or correct IOMMU and ACS on the host.",
    ),
    (
        "p2p_unsupported", "distributed", "fault", ("distributed_init",),
        ("nccl_p2p_hang", "no_fault"),
        "Start with --disable-custom-all-reduce (or --enable-p2p-check).",
    ),
    (
        "peer_rank_died", "distributed", "fault", ("distributed_init", "weights_load", "cuda_graph", "serving"),
        ("cuda_graph_oom", "gloo_wrong_interface", "peer_rank_missing", "nccl_collective_timeout"),
        "Read the log of the named peer; the advice about memory printed around the message does not apply.",
    ),
    (
        "peer_rank_missing", "distributed", "fault", ("distributed_init",),
        ("internal_port_in_use", "gloo_wrong_interface", "peer_rank_died"),
        "Find out why the other rank did not start or cannot reach --dist-init-addr; check --nnodes and --node-rank.",
    ),
    (
        "api_key_missing", "serving", "warning", ("ready", "serving"),
        ("gated_model_no_token", "no_fault"),
        "Give the client or probe the key of --api-key, or start without --api-key on a closed network.",
    ),
    (
        "kv_pool_smaller_than_context", "serving", "warning", ("serving",),
        ("context_length_exceeds_model", "kv_cache_oom", "no_fault"),
        "Raise the KV capacity (--mem-fraction-static, --kv-cache-dtype fp8_e4m3, more GPUs), or lower --context-length to what "
        "fits.",
    ),
    (
        "mtp_degenerate_output", "serving", "fault", ("serving",),
        ("invalid_speculative_config", "no_fault"),
        "Switch speculative decoding off, restart and update; check with a request whose answer is known.",
    ),
    (
        "scheduler_hang_watchdog", "serving", "fault", ("warmup", "serving"),
        ("scheduler_stalled", "nccl_collective_timeout", "host_oom_killed", "still_loading"),
        "Find where the ranks stand (py-spy, GPU load); try --disable-custom-all-reduce, NCCL_P2P_DISABLE=1 or another --attention-"
        "backend; raise --watchdog-timeout only for known slow compilation.",
    ),
    (
        "scheduler_stalled", "serving", "fault", ("serving",),
        ("scheduler_hang_watchdog", "no_fault", "still_loading"),
        "Compare the age of the last heartbeat with the load: raise SGLANG_HEALTH_CHECK_TIMEOUT and the patience of the probe for "
        "long prefills, restart after minutes without a heartbeat.",
    ),
    (
        "killed_by_session_end", "process", "fault", ("shutdown",),
        ("stopped_by_operator", "host_oom_killed", "start_timeout_by_supervisor"),
        "Run it as a system service (or enable lingering for a user service) instead of as a child of an SSH session.",
    ),
    (
        "launch_never_started", "process", "fault", ("launch",),
        ("no_log", "insufficient_evidence", "killed_by_session_end"),
        "Look at what should have executed the command (missing script, interpreter or user, a shell that ended with its SSH "
        "session) and start through a supervisor that confirms the process.",
    ),
    (
        "native_crash", "process", "fault", ("imports", "distributed_init", "weights_load", "cuda_graph", "serving"),
        ("shm_too_small", "p2p_unsupported", "gloo_wrong_interface", "host_oom_killed"),
        "Start again with PYTHONFAULTHANDLER=1 and CUDA_LAUNCH_BLOCKING=1 to get a stack, and update the library in its top frame.",
    ),
    (
        "port_in_use", "process", "fault", ("launch", "ready"),
        ("internal_port_in_use", "no_fault", "fd_limit"),
        "Find the holder (ss -ltnp), stop it or choose another --port; check the port before the model is loaded.",
    ),
    (
        "start_timeout_by_supervisor", "process", "fault", ("weights_load", "cuda_graph", "warmup", "shutdown"),
        ("still_loading", "host_oom_killed", "scheduler_hang_watchdog", "killed_by_session_end"),
        "Raise TimeoutStartSec= or the waiting time of the deployer, and keep kernel caches over restarts.",
    ),
    (
        "stopped_by_operator", "process", "info", ("shutdown",),
        ("killed_by_session_end", "host_oom_killed"),
        "Nothing; start it again when it is wanted.",
    ),
    (
        "insufficient_evidence", "none", "warning", ("launch", "weights_load", "memory_pool", "cuda_graph", "serving"),
        ("still_loading", "host_oom_killed", "kv_cache_oom"),
        "Fetch the rest (journal, rotated file, exit status, kernel log), or start again.",
    ),
    (
        "no_fault", "none", "none", ("ready", "serving"),
        ("still_loading", "p2p_unsupported", "memory_balance_check", "kv_pool_smaller_than_context"),
        "No action is needed.",
    ),
    (
        "no_log", "none", "warning", ("launch",),
        ("unreadable_log", "still_loading", "insufficient_evidence"),
        "Check that the service was started and writes to this file, and look at its exit status.",
    ),
    (
        "still_loading", "none", "info",
        ("launch", "tokenizer", "distributed_init", "weights_load", "memory_pool", "attention_backend", "cuda_graph", "warmup"),
        ("no_fault", "nccl_p2p_hang", "insufficient_evidence", "scheduler_hang_watchdog", "disk_full"),
        "Wait and look again; the progress must have moved.",
    ),
    (
        "unreadable_log", "none", "warning", ("launch",),
        ("no_log", "no_fault"),
        "Check the path and which file the service writes.",
    ),
)
