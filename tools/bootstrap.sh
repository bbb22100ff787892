#!/usr/bin/env bash
# The system packages that the sandbox and the tests need, on Debian and Ubuntu, as root. Does nothing when all are there.
#
#     tools/bootstrap.sh            check, then install what is missing
#     tools/bootstrap.sh --check    only say what is missing; exit 1 if anything is
#
# Nothing is changed before everything was checked and every package has been downloaded. No service is started: a policy-rc.d that
# forbids it is in place while packages are installed, and units that came with them are disabled again where systemd is at hand.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${KPRO_CACHE_DIR:-/var/cache/kpro-sglang}
policy=/usr/sbin/policy-rc.d
mark='# written by kpro.sglang tools/bootstrap.sh, removed when it ends'
# Rootfs, wheels, SGLang's environment (2.6 GB) and the guests' disks, with room for tests.
need_gib=12

say() { printf '>>> %s\n' "$*"; }

faults=()
fault() { faults+=("$*"); }
stop_on_faults() {
    [[ ${#faults[@]} -eq 0 ]] && return
    printf 'bootstrap: %s\n' "${faults[@]}" >&2
    echo "bootstrap: nothing was changed" >&2
    exit 1
}

# One line for each requirement: the package, and a file or program (first of several, by |) that shows that it is there already.
requirements() {
    cat <<'LIST'
ca-certificates /etc/ssl/certs/ca-certificates.crt
debian-archive-keyring /usr/share/keyrings/debian-archive-keyring.gpg
gcc gcc
git git
iproute2 ip
libc6-dev /usr/include/stdio.h
lxc lxc-start
lxcfs lxcfs
make make
mmdebstrap mmdebstrap
nftables nft
openssh-client ssh
openssh-server sshd
procps ps
shellcheck shellcheck
uidmap newuidmap
util-linux nsenter
zstd zstd
LIST
}

present() {
    case $1 in
        /*) [[ -e $1 ]] ;;
        # Programs of the system may lie in folders that a user's PATH lacks.
        *) PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

good_python() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_missing() {
    local package sign python
    missing=()
    while read -r package sign; do
        present "$sign" || missing+=("$package")
    done < <(requirements)
    for python in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        good_python "$python" && return
    done
    # Debian's python3 comes without ensurepip; python3-venv brings it. An older Python is not helped by that.
    if /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || [[ ! -e /usr/bin/python3 ]]; then
        missing+=(python3-venv)
    else
        fault "Python 3.11 or newer is needed and $(python3 -V 2>&1) is here: name a newer one in PYTHON, or use Debian 12, Ubuntu 24.04 or newer"
    fi
}

# Free GiB on the file system that a path (or its nearest parent that exists) is on.
free_gib() {
    local path=$1
    while [[ ! -e $path ]]; do path=$(dirname "$path"); done
    echo $(($(df --output=avail -k "$path" | tail -n 1) / 1024 / 1024))
}

check_disk() {
    local have used=0
    [[ -d $cache ]] && used=$(($(du -sk "$cache" 2>/dev/null | cut -f1) / 1024 / 1024))
    have=$(free_gib "$cache")
    # What lies in the cache already need not find room again; below 4 GiB no guest can be trusted to run.
    local need=$((need_gib - used))
    [[ $need -ge 4 ]] || need=4
    [[ $have -ge $need ]] || fault "$cache needs $need GiB of free disk and has $have: make room, or set KPRO_CACHE_DIR to a larger disk"
}

# shellcheck source=/dev/null
is_debian() { [[ -r /etc/os-release ]] && (. /etc/os-release && [[ " ${ID:-} ${ID_LIKE:-} " == *" debian "* ]]); }

check_machine() {

    [[ $(uname -s) == Linux ]] || fault "Linux is needed, this is $(uname -s)"
    find_missing
    check_disk
    # LXC guests, mounts and network namespaces are made by root; so are the tests that use them.
    [[ $EUID -eq 0 ]] || fault "root is needed (packages, LXC guests, network namespaces) and this is user $(id -un): use sudo, or a root shell"
    [[ ${#missing[@]} -gt 0 ]] || return 0
    is_debian || fault "packages are installed by apt on Debian and Ubuntu only; install these yourself: ${missing[*]}"
}

restore_policy() {
    [[ -e $policy && $(head -n 2 "$policy" | tail -n 1) == "$mark" ]] && rm -f "$policy"
    [[ -e $policy.kpro-saved || -L $policy.kpro-saved ]] && mv -f "$policy.kpro-saved" "$policy"
    return 0
}

forbid_starts() {
    restore_policy # what a run that was killed may have left
    [[ -e $policy || -L $policy ]] && mv -f "$policy" "$policy.kpro-saved"
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
    chmod 755 "$policy"
}

installed_packages() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u; }

disable_new_units() {
    local package unit units=()
    command -v systemctl >/dev/null || return 0
    for package in "$@"; do
        while read -r unit; do
            [[ $(systemctl is-enabled "$unit" 2>/dev/null) == enabled ]] && units+=("$unit")
        done < <(dpkg -L "$package" 2>/dev/null | sed -n 's,^\(/usr\)\?/lib/systemd/system/\([^/@]*\.\(service\|socket\|timer\|path\)\)$,\2,p')
    done
    [[ ${#units[@]} -gt 0 ]] || return 0
    say "disabling the units that came along, so that nothing starts at the next boot: ${units[*]}"
    systemctl disable --quiet "${units[@]}" 2>/dev/null || say "systemctl could not disable all of them: ${units[*]}"
}

main() {
    missing=()
    case ${1:-} in
        '' | --check) ;;
        *) echo "usage: tools/bootstrap.sh [--check]" >&2 && exit 2 ;;
    esac
    check_machine
    [[ ${1:-} != --check || ${#missing[@]} -eq 0 ]] || fault "packages are missing: ${missing[*]}"
    stop_on_faults
    if [[ ${#missing[@]} -eq 0 ]]; then
        say "system packages: all there"
        return
    fi

    say "system packages to install: ${missing[*]}"
    work=$(mktemp -d)
    trap 'restore_policy; rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    # Lists and archives of our own: apt's stay as they are, and what cannot be fetched is known before anything is unpacked.
    apt=(apt-get -qq -y --no-install-recommends -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::archives=$work/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Sandbox::User=root -o Acquire::Retries=2 -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold)
    export DEBIAN_FRONTEND=noninteractive
    say "fetching package lists"
    "${apt[@]}" -o APT::Update::Error-Mode=any update || fault "apt cannot fetch package lists: is there a network, and a proxy if one is needed? (packages wanted: ${missing[*]})"
    stop_on_faults
    say "downloading packages"
    "${apt[@]}" install --download-only "${missing[@]}" || fault "apt cannot download ${missing[*]} (see above)"
    stop_on_faults

    say "installing packages, without starting any service"
    installed_packages >"$work/before"
    forbid_starts
    "${apt[@]}" install "${missing[@]}" >"$work/apt.log" 2>&1 || {
        cat "$work/apt.log" >&2
        echo "bootstrap: apt could not install ${missing[*]}; its output is above ('apt-get -f install' finishes what is half done)" >&2
        exit 1
    }
    restore_policy
    installed_packages >"$work/after"
    mapfile -t fresh < <(comm -13 "$work/before" "$work/after")
    disable_new_units "${fresh[@]}"
    find_missing
    [[ ${#missing[@]} -eq 0 ]] || { echo "bootstrap: still missing after the installation: ${missing[*]}" >&2 && exit 1; }
    say "installed ${#fresh[@]} packages"
}

cd "$root"
main "$@"
