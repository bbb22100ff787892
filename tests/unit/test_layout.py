"""What holds for the repository as a whole: where things are, who may import whom, and what must not be in it."""

from __future__ import annotations

import ast
import fnmatch
import functools
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
UTILS = ROOT / "plugins" / "module_utils"
# The files that git knows or would take: caches and environments are not looked at.
_GIT = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
_LISTED = subprocess.run(_GIT, cwd=ROOT, check=True, capture_output=True).stdout.split(b"\0")
FILES = sorted({os.fsdecode(name) for name in _LISTED if name and (ROOT / os.fsdecode(name)).is_file()})
MODULES = [name for name in FILES if fnmatch.fnmatch(name, "plugins/modules/*.py") and not name.endswith("__init__.py")]
OTHER_PLUGINS = [name for name in FILES if re.match(r"plugins/(action|callback|connection|filter|lookup|test)/[a-z_]+\.py$", name)]
UTIL_FILES = [name for name in FILES if name.startswith("plugins/module_utils/") and name.endswith(".py")]
ROLES = sorted({name.split("/")[1] for name in FILES if name.startswith("roles/")})
# Data that tests read (recorded logs, answers of tools) may hold anything.
DATA = re.compile(
    r"^tests/\w+/(.*/)?((data|fixtures|cases|logs)/|cases\.yml$)|^tests/corpus/(?!.*\.(py|md)$)|^sandbox/(model|replay)/.*\.(json|txt|log)$|^LICENSE$"
)


@functools.cache
def read(name):
    """Text of a file of the repository; empty for one that is not text."""
    data = (ROOT / name).read_bytes()
    return "" if b"\0" in data else data.decode("utf-8")


@functools.cache
def load(name):
    """A YAML file of the repository (do not change what it returns)."""
    return yaml.safe_load(read(name))


def lines_matching(pattern, names):
    """["file:line: text", ...] of the lines that match, for a message that can be acted on."""
    found = []
    for name in names:
        for number, line in enumerate(read(name).splitlines(), 1):
            if pattern.search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    return found


def test_the_repository_has_what_the_checks_below_look_at():
    assert MODULES and OTHER_PLUGINS and UTIL_FILES and ROLES


# --- roles


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_complete(role):
    for part in ("README.md", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml", "defaults/main.yml"):
        assert f"roles/{role}/{part}" in FILES, f"roles/{role}/{part} is missing"
    assert role in read(f"roles/{role}/README.md").splitlines()[0], "a role's README begins with its name"


@pytest.mark.parametrize("role", ROLES)
def test_defaults_of_a_role_are_those_of_its_argument_specs(role):
    """The specs' defaults are documentation only (the values come from defaults/main.yml), so nothing but this keeps them equal."""
    documented = {}
    for entry in load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"].values():
        documented.update(entry.get("options") or {})
    actual = load(f"roles/{role}/defaults/main.yml") or {}
    unknown = sorted(set(actual) - set(documented))
    assert not unknown, f"in defaults/main.yml but not in meta/argument_specs.yml: {unknown}"
    for name, option in sorted(documented.items()):
        if name not in actual:
            assert option.get("default") is None, f"{name} has a default in the specs and none in defaults/main.yml"
        elif isinstance(actual[name], str) and "{{" in actual[name] and "default" not in option:
            assert not option.get("required"), f"{name} is required and has a default"  # computed: its description says how
        else:
            said = option.get("default")
            assert said == actual[name], f"{name}: the specs say {said!r}, defaults/main.yml says {actual[name]!r}"
            assert not option.get("required"), f"{name} is required and has a default"


@pytest.mark.parametrize("role", ROLES)
def test_variables_of_a_role_carry_its_name(role):
    for folder, prefix in (("defaults", role), ("vars", f"_{role}")):
        for name in [name for name in FILES if fnmatch.fnmatch(name, f"roles/{role}/{folder}/*.yml")]:
            wrong = sorted(key for key in load(name) or {} if not key.startswith(f"{prefix}_") and key != "sglang_servers")
            assert not wrong, f"{name}: {wrong} do not begin with {prefix}_"


# --- plugins


@pytest.mark.parametrize("name", MODULES + OTHER_PLUGINS)
def test_a_plugin_has_unit_tests(name):
    """Some file of tests/unit imports it (or loads it by its full name) and holds tests."""
    kind, stem = name.split("/")[1], pathlib.PurePath(name).stem
    imported = re.compile(rf"plugins\.{kind}(\.| import )([\w, ]*\b)?{stem}\b|plugins/{kind}/{stem}\.py|kpro\.sglang\.{stem}\b")
    tests = [test for test in FILES if re.match(r"tests/unit/.*/?test_\w+\.py$", test) and test != "tests/unit/test_layout.py"]
    found = [test for test in tests if imported.search(read(test)) and re.search(r"^\s*def test_", read(test), re.M)]
    assert found, f"no file below tests/unit imports plugins.{kind}.{stem}"


def test_the_action_group_names_every_module():
    assert sorted(load("meta/runtime.yml")["action_groups"]["all"]) == [pathlib.PurePath(name).stem for name in MODULES]


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("plugins/") and name.endswith(".py")])
def test_a_plugin_file_is_small_and_carries_its_header(name):
    text = read(name)
    if name.endswith("__init__.py"):
        assert text == "", "an __init__.py is empty"
        return
    assert text.count("\n") <= 450, f"{text.count(chr(10))} lines: split it by idea"
    head = text[:700]
    for part in ("Copyright (c)", "GNU General Public License v3.0+", "SPDX-License-Identifier: GPL-3.0-or-later"):
        assert part in head, f"the header lacks '{part}'"
    assert "from __future__ import annotations" in text
    if name in UTIL_FILES:
        assert "This module_utils is PRIVATE to the collection." in head


# --- module_utils: pure, one way


def package_of(name):
    """The package of module_utils that a file belongs to: ``_pct`` of plugins/module_utils/_pct/conf.py, ``_errors`` of .../_errors.py."""
    return pathlib.PurePath(name).relative_to("plugins/module_utils").parts[0].removesuffix(".py")


def imports_of(name):
    """Full dotted names of what a file of module_utils imports, its own packages as ``.<package>.<rest>``."""
    here = pathlib.PurePath(name).relative_to("plugins/module_utils").parent.parts
    prefix = "ansible_collections.kpro.sglang.plugins.module_utils"
    for node in ast.walk(ast.parse(read(name), name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - (node.level - 1)]
            for alias in node.names:
                yield "." + ".".join([*base, *([node.module] if node.module else []), alias.name])
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == prefix or module.startswith(prefix + "."):
                for alias in node.names:
                    yield f"{module[len(prefix):] or '.'}.{alias.name}".replace("..", ".")
            else:
                yield module


def graph():
    """{package: packages that it imports} of module_utils."""
    found = {}
    for name in UTIL_FILES:
        own = found.setdefault(package_of(name), set())
        own.update(dotted.split(".")[1] for dotted in imports_of(name) if dotted.startswith("."))
        own.discard(package_of(name))
    return found


# Who may import the diagnosis: the transaction that starts a server ends with one. Everything else hands its records to it.
READERS_OF_DIAGNOSIS = {"_server"}
# Besides the two that everybody may use (journalctl is run by _process).
READ_BY_DIAGNOSIS = {"_errors", "_process", "_launch_log", "_memory", "_gpu"}


def test_dependencies_between_packages_go_one_way():
    edges = graph()
    assert edges["_errors"] == set()
    assert edges["_process"] <= {"_errors"}
    assert edges["_diagnosis"] <= READ_BY_DIAGNOSIS
    assert {package for package, used in edges.items() if "_diagnosis" in used} <= READERS_OF_DIAGNOSIS
    done = set()
    while len(done) < len(edges):
        free = {package for package, used in edges.items() if package not in done and used <= done}
        circle = {package: sorted(used - done) for package, used in edges.items() if package not in done}
        assert free, f"these import one another in a circle: {circle}"
        done |= free


@pytest.mark.parametrize("name", UTIL_FILES)
def test_module_utils_are_pure(name):
    for dotted in imports_of(name):
        top = dotted.split(".")[0]
        assert top in ("", "pynvml") or top in sys.stdlib_module_names, f"{dotted} is neither ours nor of the standard library"
        if top in ("subprocess", "pty", "multiprocessing"):
            assert package_of(name) == "_process", f"{dotted}: processes are run by _process/runner.py only"
    for node in ast.walk(ast.parse(read(name), name)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            started = re.match(r"system$|popen$|spawn|posix_spawn", node.attr)
            assert not started, f"line {node.lineno}: os.{node.attr}: use _process/runner.py"
        if isinstance(node, ast.Name):
            assert node.id not in ("AnsibleModule", "print"), f"line {node.lineno}: {node.id} has no place in module_utils"
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            by_name = called in ("import_module", "__import__", "iter_modules", "walk_packages")
            # NVIDIA's library is the one thing that is taken from the target, where it has it.
            allowed = not by_name or name.endswith("/_gpu/binding.py")
            assert allowed, f"line {node.lineno}: {called}: only what is imported by name travels to the target"


# --- playbooks, metadata, packaging


def plays():
    """(file, play) of every playbook."""
    for name in FILES:
        if re.match(r"(playbooks/)?[a-z_]+\.ya?ml$", name) and name != "galaxy.yml":
            content = load(name)
            for play in content if isinstance(content, list) else []:
                yield name, play


def test_no_play_reaches_hosts_that_were_not_meant():
    found = list(plays())
    assert [play for _name, play in found if "hosts" in play], "no playbook found"
    for name, play in found:
        hosts = play.get("hosts", [])
        words = re.split(r"[,:\s]+", hosts) if isinstance(hosts, str) else hosts
        assert not {"all", "*", "ungrouped"} & set(words), f"{name}: hosts: {hosts}"


def ignored_by_build(name):
    """True if galaxy.yml's build_ignore leaves a file out: patterns are matched with its path and with that of each folder above it."""
    parts = name.split("/")
    paths = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return any(fnmatch.fnmatch(path, pattern) for path in paths for pattern in load("galaxy.yml")["build_ignore"])


def test_the_archive_holds_what_is_needed_at_run_time_and_no_settings_of_tools():
    needed = [name for name in FILES if re.match(r"(meta|plugins|roles|playbooks)/|(README\.md|LICENSE|CHANGELOG\.rst)$", name)]
    lost = [name for name in needed if ignored_by_build(name)]
    assert not lost, f"build_ignore in galaxy.yml leaves out what is needed at run time: {lost}"
    shipped = [name for name in FILES if re.match(r"(\.|sandbox/|tests/corpus/|tests/sandbox/)", name) and not ignored_by_build(name)]
    assert not shipped, f"build_ignore in galaxy.yml lets these through: {shipped}"


def test_requirements_and_dependency_groups_are_one_list():
    groups = tomllib.loads(read("pyproject.toml"))["dependency-groups"]

    def listed(name):
        return {line for line in read(f"requirements/{name}.txt").splitlines() if line and line[0] not in "#-"}

    assert set(groups["run"]) == listed("run")
    assert {entry for entry in groups["dev"] if isinstance(entry, str)} == listed("test")


# --- what must not be in the tree

# Written in pieces, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    "|".join(["/wo" + r"rk/(main|shared|\.)", "/tmp" + "/w/", r"\.\./sha" + "red", "/root/" + r"\.(pyenv|cargo)"])
)
REGISTRIES = re.compile(
    "|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "download" + r"\.pytorch\.org", "ghcr" + r"\.io", "docker" + r"\.io"])
)


def test_nothing_names_a_folder_of_one_machine_or_a_registry():
    names = [name for name in FILES if not DATA.search(name)]
    assert not lines_matching(MACHINE_PATHS, names)
    assert not lines_matching(REGISTRIES, names)


def strings_of(name):
    """(line, text) of the strings in a Python file that are not documentation, and of the lines of other files that are not comments."""
    if not name.endswith(".py"):
        for number, line in enumerate(read(name).splitlines(), 1):
            yield number, "" if line.lstrip().startswith(("#", "//", "*", "/*", "{#")) else line
        return
    tree = ast.parse(read(name), name)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_processes_are_never_ended_by_a_name_pattern():
    by_name = re.compile(r"\b(pki" + "ll|kill" + "all)\\b")
    places = re.compile(r"(plugins|roles|playbooks|sandbox|tools|tests/sandbox)/|Makefile$|deploy\.yml$")
    code = [name for name in FILES if places.match(name) and not DATA.search(name)]
    assert code
    found = [f"{name}:{number}: {text.strip()[:100]}" for name in code for number, text in strings_of(name) if by_name.search(text)]
    assert not found


# --- what people read

PAGES = [name for name in FILES if name.endswith(".md") and not DATA.search(name)]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_only_files_and_targets_that_exist(name):
    text = read(name)
    targets = set(re.findall(r"^([a-z][a-z-]*(?: [a-z][a-z-]*)*):", read("Makefile"), re.M))
    targets = {word for group in targets for word in group.split()}
    unknown = sorted(set(re.findall(r"`make ([a-z-]+)", text)) - targets)
    assert not unknown, f"{name} names make targets that do not exist: {unknown}"
    folder = r"(?:changelogs|docs|inventories|meta|playbooks|plugins|requirements|roles|sandbox|tests|tools)"
    for path in re.findall(rf"`({folder}/[\w./-]+)`", text):
        here = (ROOT / name).parent / path
        assert (ROOT / path).exists() or here.exists(), f"{name} names {path}, which does not exist"
    for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
        assert (ROOT / name).parent.joinpath(link).exists(), f"{name} links to {link}, which does not exist"


def test_the_build_machine_calls_make_test():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.search(r"^exec make .*\btest$", read(".ci/run"), re.M)


def test_shell_scripts_can_be_run_and_stop_at_errors():
    scripts = [name for name in FILES if not DATA.search(name) and re.match(r"#!.*\b(ba|da)?sh\b", read(name)[:40])]
    assert scripts
    for name in scripts:
        assert os.access(ROOT / name, os.X_OK), f"{name} is not executable"
        assert re.search(r"^set -[a-z]*u", read(name), re.M), f"{name} lets unset variables pass: set -u"
