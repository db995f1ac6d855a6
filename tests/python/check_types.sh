#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What mypy and pyright find in typed.py with the package's types: the lines that it marks, and the types that it says. ../run.sh calls
# this.
#
#   check_types.sh FOLDER      FOLDER keeps both checkers, from PyPI, and what they have passed; status 77: they cannot be installed
#
# A new FOLDER takes a minute. Until the package changes, nothing is checked again.

set -euo pipefail

folder=$1
cd "$(dirname "${BASH_SOURCE[0]}")"
package=$(cd ../../python && pwd)
python=$folder/bin/python

if ! "$folder/bin/pyright" --version >/dev/null 2>&1 || ! "$folder/bin/mypy" --version >/dev/null 2>&1; then
  rm -rf "$folder"
  mkdir -p "${folder%/*}"
  python3 -m venv "$folder" >"$folder.log" 2>&1 && "$python" -m pip install -q mypy 'pyright[nodejs]' numpy >>"$folder.log" 2>&1 || {
    rm -rf "$folder"
    exit 77
  }
fi
state=$(cat "$package"/tessera/*.py typed.py check_types.sh <("$python" -m pip freeze) | sha256sum)
[[ ! -r $folder/passed || $(<"$folder/passed") != "$state" ]] || exit 0
export MYPYPATH=$package

failed=0
fail() {
  echo "check_types.sh: $*"
  failed=1
}

# The types that LOG reveals have the words that typed.py says.
reveals() { # LOG
  local line word
  while IFS=: read -r line word; do
    grep "typed.py:$line:.*$word" "$1" >/dev/null || fail "line $line reveals no $word: $(grep "typed.py:$line:" "$1")"
  done < <(sed -n '/^    reveal_type/{=;s/.*# //p}' typed.py | paste -d: - -)
}

finds() { # PROGRAM PATTERN-OF-A-LINE LOG
  diff <(sed -n "$2" "$3" | sort -nu) <(grep -n '# error$' typed.py | cut -d: -f1) || fail "$1 finds errors on other lines: $(cat "$3")"
  reveals "$3"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$folder/bin/mypy" --python-executable "$python" --cache-dir "$folder/mypy_cache" --ignore-missing-imports typed.py \
  >"$scratch/mypy" 2>&1 || true
finds mypy 's/^typed.py:\([0-9]*\): error.*/\1/p' "$scratch/mypy"
cp typed.py "$scratch"
(cd "$scratch" && PYTHONPATH=$package "$folder/bin/pyright" --pythonpath "$python" typed.py) >"$scratch/pyright" 2>&1 || true
finds pyright 's/^.*typed.py:\([0-9]*\):[0-9]* - error.*/\1/p' "$scratch/pyright"
((failed == 0)) || exit 1
echo "$state" >"$folder/passed"
