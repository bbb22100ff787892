#!/usr/bin/env bash
# The main job, end to end: raise the sandbox, deploy to guest 129, show that it serves. Called by `make demo`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '>>> %s\n' "$*"; }

# Whatever the caller's shell has set for another project must not steer this one.
unset ANSIBLE_CONFIG ANSIBLE_INVENTORY ANSIBLE_COLLECTIONS_PATH
PATH="$PWD/.venv/bin:$PATH"
export PATH

sandbox/sandbox up
say "ansible-playbook deploy.yml -l kpro5"
ansible-playbook deploy.yml -l kpro5
say "asking the server"
ansible-playbook sandbox/show.yml -l kpro5
say "done. To go on by hand:  source .venv/bin/activate && ansible-playbook deploy.yml -l kpro5"
say "The default inventory is the sandbox (ansible.cfg). \`make clean\` takes it away again."
