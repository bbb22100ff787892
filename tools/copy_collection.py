"""A physical copy of the checkout at <folder>/ansible_collections/kpro/sglang, as a git repository of its own.

ansible-test refuses a path that leads through a symbolic link, and ansible-lint and ansible-test both decide by git what belongs
to the collection. The copy holds what git would commit here (tracked and new files, nothing that .gitignore names), so that caches,
environments and another tool's leftovers cannot slow down or change a result, and no tool writes into the checkout.

    python tools/copy_collection.py FOLDER     prints the path of the copy
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def _git(folder, *argv):
    """Run git in ``folder`` whoever owns it and whatever the user's own git settings are; return its stdout (bytes)."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
    return subprocess.run(["git", "-c", "safe.directory=*", *argv], cwd=folder, env=env, check=True, stdout=subprocess.PIPE).stdout


def listed_files(root=ROOT):
    """Paths below ``root`` that git would commit, relative, sorted; files deleted but still in the index are left out."""
    names = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")
    paths = {os.fsdecode(name) for name in names if name}
    return sorted(path for path in paths if os.path.lexists(os.path.join(root, path)))


def copy_collection(folder, root=ROOT, keep=lambda name: True):
    """Copy the collection below ``folder`` and return the copy's path. Symbolic links stay links, modes are kept.

    ``keep``: a function that says of a relative path whether it is copied.
    """
    copy = pathlib.Path(folder).resolve() / "ansible_collections" / "kpro" / "sglang"
    copy.mkdir(parents=True)
    for name in filter(keep, listed_files(root)):
        source, target = root / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir() and not source.is_symlink():
            continue  # a repository inside the repository: git lists the folder only
        shutil.copy2(source, target, follow_symlinks=False)
    _git(copy, "init", "--quiet")
    _git(copy, "add", "--all")
    return copy


def main(argv):
    """Command line: one argument, the folder."""
    if len(argv) != 2:
        sys.exit("usage: python tools/copy_collection.py FOLDER")
    try:
        print(copy_collection(argv[1]))
    except FileNotFoundError as error:
        sys.exit(f"copy_collection: cannot run {error.filename}: install git (tools/bootstrap.sh does)")
    except subprocess.CalledProcessError:
        sys.exit(f"copy_collection: {ROOT} is not a git checkout; clone the repository instead of unpacking an archive")


if __name__ == "__main__":
    main(sys.argv)
