#!/usr/bin/env bash
# All tests of this checkout, one after the other; every part runs even if one before it failed. Called by `make test`.
# What pytest runs comes last and in one go, so that the output ends with its summary line.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

failed=()
part() {
    local name=$1
    shift
    printf '>>> %s\n' "$name"
    "$@" || failed+=("$name")
}

part "lint" tests/lint/run.sh
part "ansible-test sanity" .venv/bin/python tests/sanity/run.py
folders=()
for folder in tests/unit tests/corpus tests/sandbox; do
    if [[ -d $folder ]]; then folders+=("$folder"); else failed+=("$folder is missing"); fi
done
part "pytest ${folders[*]}" .venv/bin/python -m pytest "${folders[@]}"

if [[ ${#failed[@]} -gt 0 ]]; then
    printf '>>> FAILED: %s\n' "${failed[@]}"
    exit 1
fi
