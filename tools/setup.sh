#!/usr/bin/env bash
# The virtual environment .venv of this checkout, and the link that makes it resolvable as kpro.sglang.
#
#     tools/setup.sh run     what a deploy needs (requirements/run.txt)
#     tools/setup.sh test    what the tests need too (requirements/test.txt)
#
# Does nothing when both are there already: a stamp holds a digest of the requirements, the Python and the checkout's path.
# PYTHON=/path/to/python3 picks the interpreter (3.11 or newer); otherwise python3 is taken, or the newest python3.N found.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"

say() { printf '>>> %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

kind=${1:-test}
case $kind in
    run | test) ;;
    *) fail "'$kind' is no kind of environment: say run or test" ;;
esac

good_python() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

python=
for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
    if good_python "$candidate"; then
        python=$(command -v "$candidate")
        break
    fi
    [[ -z ${PYTHON:-} ]] || fail "PYTHON=$PYTHON cannot make an environment: name a Python 3.11 or newer with venv and ensurepip"
done
[[ -n $python ]] || fail "no Python 3.11 or newer with venv and ensurepip found (Debian, Ubuntu: the package python3-venv, tools/bootstrap.sh installs it)"

mkdir -p .collections/ansible_collections/kpro
if [[ $(readlink .collections/ansible_collections/kpro/sglang 2>/dev/null) != ../../.. ]]; then
    say "linking .collections/ansible_collections/kpro/sglang to the checkout"
    rm -f .collections/ansible_collections/kpro/sglang
    ln -s ../../.. .collections/ansible_collections/kpro/sglang
fi

# The test environment holds all of the other one: with its stamp good, "run" has nothing to do.
stamp_of() { { cat requirements/run.txt; [[ $1 == run ]] || cat requirements/test.txt; "$python" -VV; echo "$root"; } | sha256sum | cut -d' ' -f1; }
wanted=$(stamp_of "$kind")
have=$(cat .venv/.kpro-stamp 2>/dev/null || true)
if "$root/.venv/bin/python" -c '' 2>/dev/null && [[ $have == "$wanted" || $have == "$(stamp_of test)" ]]; then
    say "the environment $root/.venv is up to date"
    exit 0
fi

# An environment is tied to its path and its Python: one that was moved or outlived its interpreter is made anew.
if [[ -e .venv ]] && ! { .venv/bin/python -m pip --version >/dev/null 2>&1 && [[ $(.venv/bin/python -VV) == "$("$python" -VV)" ]] \
    && [[ $(head -n 1 .venv/bin/pip) == "#!$root/.venv/bin/python"* ]]; }; then
    say "removing $root/.venv: it was made by another Python or for another place"
    rm -rf .venv
fi
rm -f .venv/.kpro-stamp
if [[ ! -e .venv ]]; then
    say "making $root/.venv with $("$python" -V) ($python)"
    "$python" -m venv .venv
fi
say "installing requirements/$kind.txt (up to a minute)"
# -qq: pip's warnings about package indexes of the machine are not about us; errors are shown.
.venv/bin/python -m pip install -qq --disable-pip-version-check -r "requirements/$kind.txt" \
    || fail "pip could not install requirements/$kind.txt (see above); is the package index reachable?"
printf '%s\n' "$wanted" >.venv/.kpro-stamp
say "ready: source .venv/bin/activate"
