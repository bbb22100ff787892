#!/bin/sh
# Copyright (c) 2026, kpro.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: build.sh OUTDIR
# Compiles the fake NVML and its nvidia-smi into OUTDIR: libnvidia-ml.so.1 and nvidia-smi. Silent on success.
# Both need only the C library, 2.34 or later, so that what is built on the controller runs in the guests.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: build.sh OUTDIR" >&2
    exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mkdir -p -- "$1"
flags="-std=gnu11 -O2 -Wall -Wextra -Werror=implicit-function-declaration"
# shellcheck disable=SC2086
"${CC:-gcc}" $flags -shared -fPIC -Wl,-soname,libnvidia-ml.so.1 -o "$1/libnvidia-ml.so.1.new" "$here/nvml.c"
# shellcheck disable=SC2086
"${CC:-gcc}" $flags -o "$1/nvidia-smi.new" "$here/nvidia-smi.c" -ldl
mv -f -- "$1/libnvidia-ml.so.1.new" "$1/libnvidia-ml.so.1"
mv -f -- "$1/nvidia-smi.new" "$1/nvidia-smi"
