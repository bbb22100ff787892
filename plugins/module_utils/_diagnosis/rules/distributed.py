# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the collection. It can change at any time, without a deprecation.

"""Rules about ranks, nodes and the connections between them."""

from __future__ import annotations

from ..record import ANY, WEAK, Rule

RULES = (
    Rule(
        "gloo",
        "gloo_wrong_interface",
        r"Gloo connectFullMesh failed|connectFullMesh failed|[Uu]nable to (?:find|resolve) (?:an? )?(?:address|interface).*(?:gloo|"
        r"Gloo|hostname)|Unable to find address for: |makeDeviceFor\w+\(\)|"
        r"gloo.*(?:SO_ERROR|connect).*(?:Connection refused|timed out|no route)|Failed to connect.*127\.0\.\d+\.\d+.*gloo",
        scope=ANY,
        strength=6,
        ends=False,
        stage="distributed_init",
        say="The control connections (Gloo) between ranks could not be built: a host name or network interface is wrong.",
        source="torch ProcessGroupGloo, gloo",
    ),
    Rule(
        "internal-port",
        "internal_port_in_use",
        r"EADDRINUSE|failed to listen on any local network address|ZMQError: Address already in use|NCCL WARN .*Address already in use|"
        r"is not available in \d+ seconds|"
        r"engine_info_bootstrap_port \d+ is already in use|Port is already in use\. dist_init_port|dist_init_port.*already in use",
        scope=ANY,
        strength=7,
        stage="distributed_init",
        stages=("launch", "distributed_init"),
        say="A port that SGLang chose for its own processes is taken; the port for clients is another one.",
        source="torch TCPStore, pyzmq, server_args.py PortArgs, engine.py",
    ),
    Rule(
        "peer-missing",
        "peer_rank_missing",
        r"Timed out after \d+ seconds waiting for clients\.(?: (?P<joined>\d+)/(?P<all>\d+) clients joined)?|"
        r"Timeout waiting for worker ports|Failed to receive worker ports|"
        r"The client socket has (?:timed out|failed to connect)|DistStoreError: (?:Socket Timeout|wait timeout|Timed out)|"
        r"wait timeout after \d+ms, keys",
        scope=ANY,
        strength=6,
        stage="distributed_init",
        say="At least one rank or node never joined the rendezvous.",
        source="torch TCPStore, data_parallel_controller.py",
    ),
    Rule(
        "p2p",
        "p2p_unsupported",
        r"peer access is not supported between these two devices|cudaErrorPeerAccessUnsupported|peer access is not supported",
        unless=r"Setup Custom allreduce failed|[Dd]isabl",
        scope=ANY,
        strength=7,
        stage="distributed_init",
        say="A step demands direct access between GPUs that do not have it.",
        source="CUDA runtime in custom_all_reduce",
    ),
    Rule(
        "nccl-timeout",
        "nccl_collective_timeout",
        r"[Ww]atchdog caught collective operation timeout|collective operation timeout: WorkNCCL|"
        r"Some NCCL operations have failed or timed out",
        scope=ANY,
        weight=WEAK,
        ends=True,
        stage="serving",
        say="A collective operation of NCCL did not finish in time, and no rank reports an earlier error.",
        source="torch ProcessGroupNCCL",
    ),
    Rule(
        "peer-died",
        "peer_rank_died",
        r"pair\.cc:\d+\] (?:Connection closed by peer|(?:Read|Write) (?:error|timeout)|Connection reset|Broken pipe)|"
        r"Connection closed by peer \[|remote process exited or there was a network error|"
        r"ncclRemoteError|(?:recvValue|sendBytes|recvBytes|sendValue) failed|TCPStore.*(?:was closed|reset by peer|Broken pipe)|"
        r"Socket closed by remote|"
        r"[Gg]loo.*(?:Connection (?:closed|reset) by peer|Application timeout)|NCCL WARN .*[Cc]onnection (?:closed|reset) by",
        scope=ANY,
        weight=WEAK,
        strength=6,
        stage="distributed_init",
        when=lambda match, context: (
            not context.saw("scheduler-exit-9") and not context.saw("native") and not context.saw("oom-kill-kernel")
        ),
        say="The connection to another rank or node broke; the first failure is in that peer's log.",
        source="gloo, NCCL, torch TCPStore",
    ),
)
