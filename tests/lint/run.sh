#!/usr/bin/env bash
# All static checks; each is named, all run, and the exit status says if any failed.
#
#     tests/lint/run.sh            all of them
#     tests/lint/run.sh ruff mypy  only these
#
# They look at a physical copy (tools/copy_collection.py), so nothing is written into the checkout and caches of it are not looked at.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
bin=${KPRO_VENV:-$root/.venv}/bin
[[ -x $bin/python ]] || {
    echo "lint: there is no environment at ${bin%/bin}: run 'make setup' first" >&2
    exit 1
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
copy=$("$bin/python" "$root/tools/copy_collection.py" "$work") || exit 1
cd "$copy" || exit 1
# Tools call one another by name; the user's own Ansible settings must not decide.
for name in $(compgen -e | grep -E '^ANSIBLE_'); do unset "$name"; done
export PATH="$bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$work" ANSIBLE_HOME="$work/ansible-home" ANSIBLE_LOCALHOST_WARNING=false \
    ANSIBLE_INVENTORY_UNPARSED_WARNING=false XDG_CACHE_HOME="$work/cache" PYTHONDONTWRITEBYTECODE=1

names=(ruff mypy yamllint ansible-lint changelog shellcheck syntax inventory build importable action-groups)
wanted=("${@:-${names[@]}}")

do_ruff() { ruff check --no-cache --output-format concise .; }
do_mypy() { mypy --cache-dir "$work/mypy"; }
do_yamllint() { yamllint --strict .; }
do_ansible-lint() { ansible-lint --offline --profile production --nocolor; }
do_changelog() { antsibull-changelog lint; }

do_shellcheck() {
    local scripts=() file
    while IFS= read -r -d '' file; do
        case $(head -n 1 "$file" | tr -d '\0') in
            '#!'*sh | '#!'*sh\ *) scripts+=("$file") ;;
        esac
    done < <(git ls-files -z | grep -zv '\.j2$')
    echo "${#scripts[@]} scripts"
    shellcheck -x "${scripts[@]}"
}

# Every playbook of the collection, by path with both inventories, and by its full name as a user without this checkout would call it.
do_syntax() {
    local rc=0 book inventory
    for inventory in inventories/*/; do
        for book in deploy.yml playbooks/*.yml; do
            ansible-playbook -i "$inventory" "$book" --syntax-check >"$work/out" 2>&1 || { echo "$book with $inventory:" && cat "$work/out" && rc=1; }
        done
    done
    for book in playbooks/*.yml; do
        book=kpro.sglang.$(basename "$book" .yml)
        (cd "$work" && ansible-playbook -i localhost, "$book" --syntax-check) >"$work/out" 2>&1 || { echo "$book:" && cat "$work/out" && rc=1; }
    done
    return $rc
}

do_inventory() {
    local rc=0 inventory
    for inventory in inventories/*/; do
        ansible-inventory -i "$inventory" --list >"$work/out" 2>"$work/err" || { echo "$inventory:" && cat "$work/err" && rc=1; }
        # core only warns of a source that it cannot read, and goes on with an empty inventory.
        grep -E 'WARNING|ERROR' "$work/err" && echo "($inventory)" && rc=1
    done
    return $rc
}

do_build() {
    ansible-galaxy collection build --output-path "$work/dist" --force >"$work/out" 2>&1 || { cat "$work/out" && return 1; }
    local archive list
    archive=$(ls "$work"/dist/*.tar.gz)
    list=$(tar -tzf "$archive")
    echo "$(basename "$archive"): $(wc -l <<<"$list") files, $(du -k "$archive" | cut -f1) KiB"
    # What must never be shipped, by its first folder.
    if grep -E '^(\.|sandbox/|tests/(corpus|sandbox|output)/|collections/|dist/)' <<<"$list"; then
        echo "the paths above must not be in the archive: see build_ignore in galaxy.yml"
        return 1
    fi
}

# The archive alone, installed elsewhere, with all but what may be needed at run time deleted: every plugin's documentation still reads
# and every playbook still parses.
do_importable() {
    local place=$work/installed rc=0 plugin kind
    compgen -G "$work/dist/*.tar.gz" >/dev/null || do_build >/dev/null
    # --force: the copy in our own collections path would count as installed already.
    ansible-galaxy collection install --force --offline --no-deps -p "$place" "$work"/dist/*.tar.gz >"$work/out" 2>&1 || { cat "$work/out" && return 1; }
    (cd "$place/ansible_collections/kpro/sglang" && find . -mindepth 1 -maxdepth 1 ! -name meta ! -name plugins ! -name roles ! -name playbooks \
        ! -name MANIFEST.json ! -name FILES.json -exec rm -rf {} +)
    for kind in module connection; do
        for plugin in "$copy/plugins/${kind/module/modules}"/*.py; do
            [[ -e $plugin && $(basename "$plugin") != __init__.py ]] || continue
            plugin=kpro.sglang.$(basename "$plugin" .py)
            ANSIBLE_COLLECTIONS_PATH=$place ansible-doc -t "$kind" --json "$plugin" >"$work/out" 2>&1 || { echo "$plugin:" && cat "$work/out" && rc=1; }
        done
    done
    for plugin in "$copy"/playbooks/*.yml; do
        plugin=kpro.sglang.$(basename "$plugin" .yml)
        (cd "$work" && ANSIBLE_COLLECTIONS_PATH=$place ansible-playbook -i localhost, "$plugin" --syntax-check) >"$work/out" 2>&1 \
            || { echo "$plugin:" && cat "$work/out" && rc=1; }
    done
    return $rc
}

# module_defaults: group/kpro.sglang.all must reach every module.
do_action-groups() {
    diff <(find plugins/modules -name '*.py' ! -name __init__.py -printf '%f\n' | sed 's/\.py$//' | sort) \
        <(python -c 'import yaml; print("\n".join(sorted(yaml.safe_load(open("meta/runtime.yml"))["action_groups"]["all"])))') \
        && return
    echo "< is in plugins/modules only, > is in meta/runtime.yml only"
    return 1
}

failed=()
for name in "${wanted[@]}"; do
    declare -F "do_$name" >/dev/null || {
        echo "lint: there is no check named '$name'; there are: ${names[*]}" >&2
        exit 2
    }
    printf -- '--- %s\n' "$name"
    begin=$SECONDS
    if "do_$name"; then
        printf -- '--- %s: good (%s s)\n' "$name" $((SECONDS - begin))
    else
        printf -- '--- %s: FAILED\n' "$name"
        failed+=("$name")
    fi
done
if [[ ${#failed[@]} -gt 0 ]]; then
    echo "lint: FAILED: ${failed[*]}"
    exit 1
fi
echo "lint: all ${#wanted[@]} checks passed"
