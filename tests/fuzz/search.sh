#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the fuzz targets that run.sh has built, in the folder of this script, on many cores:
#
#   DIR/search.sh OUT SECONDS [PROCESSES] [TARGET...]      PROCESSES: at a time, of all targets; a core each by default
#
# Targets share the processes evenly; where there are more targets than processes, they take turns. The processes of a target
# share what they find while they run, and one that found a flaw goes on. OUT gets crashes/TARGET-*, corpus/TARGET (what is new
# and small) and logs/. It prints a line per target, and ends with status 1 if there was a flaw. Read next: run.sh.

set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?usage: search.sh OUT SECONDS [PROCESSES] [TARGET...]}
seconds=${2:?usage: search.sh OUT SECONDS [PROCESSES] [TARGET...]}
processes=${3:-$(nproc)}
targets=("${@:4}")
if ((!${#targets[@]})); then
  for folder in "$here"/seeds/*; do targets+=("${folder##*/}"); done
fi
NEW_FILES=40 NEW_BYTES=4096 # of a target's new corpus, and of a file in it
work=$(mktemp -d "${TMPDIR:-/tmp}/tessera-search.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"/{crashes,corpus,logs}
out=$(cd "$out" && pwd)
export TMPDIR=$work TESSERA_CC='' XDG_CACHE_HOME=$work/cache
export TESSERA_PLUGINS=$here/plugins LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# What is freed is soon used again, threads have small stacks, and teams two members: new memory costs AddressSanitizer most.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:quarantine_size_mb=8} UBSAN_OPTIONS=print_stacktrace=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
ulimit -s 1024

# A Python with NumPy, and atheris for it; without that inputs are drawn at random.
python=
for candidate in "${PYTHON:-}" /opt/torch/.venv/bin/python3 /usr/bin/python3 python3; do
  [[ -z $python && $candidate ]] && "$candidate" -c 'import numpy' 2>/dev/null && python=$candidate
done
has_atheris=no
if [[ $python ]]; then
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  python_path=$here/python:$here/atheris/$tag
  PYTHONPATH=$python_path "$python" -c 'import atheris' 2>/dev/null && has_atheris=yes
fi

# fuzzer TARGET OPTION... : the target under libFuzzer, or what comes close.
fuzzer() {
  local target=$1
  shift
  if [[ -x $here/${target}_fuzzer ]]; then
    exec "$here/${target}_fuzzer" "$@"
  fi
  export PYTHONPATH=$python_path PYTHONDONTWRITEBYTECODE=1
  unset TESSERA_PLUGINS LD_LIBRARY_PATH
  exec "$python" "$here/python/${target}_fuzz.py" --libfuzzer "$@"
}

# One process of a target, until the end.
search() {
  local target=$1 number=$2 end=$3 left status
  while left=$((end - $(date +%s))) && ((left > 0)); do
    if [[ ! -x $here/${target}_fuzzer && $has_atheris == no ]]; then
      (unset TESSERA_PLUGINS LD_LIBRARY_PATH
        PYTHONPATH=$python_path exec timeout "$left" "$python" "$here/python/${target}_fuzz.py" --random 2000 "$RANDOM$number" "$here/seeds/$target")
      status=$?
      ((status == 0 || status == 124)) || echo "CRASHED with $status"
      continue
    fi
    (fuzzer "$target" -max_total_time="$left" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -max_len=65536 \
      -artifact_prefix="$out/crashes/$target-" "$work/corpus/$target" "$here/seeds/$target") &
    local child=$!
    (sleep $((left + 30)) && kill -9 $child) 2>/dev/null &
    local watch=$!
    wait $child
    status=$?
    kill $watch 2>/dev/null
    case $status in
      0) ;;
      137) echo "WAS ENDED, as it did not by itself" ;;
      *) echo "CRASHED with $status" ;;
    esac
  done >"$out/logs/$target.$number" 2>&1
}

# The new inputs that reach something that seeds do not. In Python libFuzzer cannot start itself again, so they are not merged.
keep_new() {
  local target=$1 file name size kept=0 merged=$work/corpus/$1
  mkdir -p "$work/merged/$target" "$out/corpus/$target"
  if [[ -x $here/${target}_fuzzer ]]; then
    merged=$work/merged/$target
    cp "$here/seeds/$target"/* "$merged"
    (fuzzer "$target" -merge=1 -max_total_time=60 -rss_limit_mb=2048 "$merged" "$work/corpus/$target") >"$out/logs/$target.merge" 2>&1
  fi
  while read -r size file; do
    name=${file##*/}
    [[ ! -e $here/seeds/$target/$name ]] || continue
    ((size <= NEW_BYTES && kept < NEW_FILES)) || continue
    cp "$file" "$out/corpus/$target/"
    kept=$((kept + 1))
  done < <(find "$merged" -type f -printf '%s %p\n' | sort -n)
}

# tell TARGET PROCESSES
tell() {
  local executions coverage crashes logs=("$out/logs/$1".[0-9]*)
  executions=$(cat "${logs[@]}" | awk '/^stat::number_of_executed_units:/ { n += $2 } /^[0-9]+ inputs$/ { n += $1 } END { print n + 0 }')
  coverage=$(cat "${logs[@]}" | grep -o ' cov: [0-9]*' | awk '$2 > most { most = $2 } END { print most + 0 }')
  crashes=$(cat "${logs[@]}" | grep -c '^CRASHED')
  found=$((found + crashes))
  echo "$1: $(($2 * seconds)) core seconds, $executions executions, $coverage edges," \
    "$(find "$out/corpus/$1" -type f 2>/dev/null | wc -l) new inputs, $crashes crashes"
}

share=$((processes / ${#targets[@]}))
((share)) || share=1
found=0
for ((first = 0; first < ${#targets[@]}; first += processes / share)); do
  now=("${targets[@]:first:processes/share}")
  end=$(($(date +%s) + seconds))
  running=()
  for target in "${now[@]}"; do
    mkdir -p "$work/corpus/$target"
    [[ -x $here/${target}_fuzzer || $python ]] || continue
    for ((i = 0; i < share; i++)); do
      search "$target" $i $end &
      running+=($!)
    done
  done
  wait "${running[@]}"
  running=()
  for target in "${now[@]}"; do
    [[ -x $here/${target}_fuzzer || $has_atheris == yes ]] || continue
    keep_new "$target" &
    running+=($!)
  done
  ((!${#running[@]})) || wait "${running[@]}"
  for target in "${now[@]}"; do tell "$target" $share; done
done
for log in "$out"/logs/*; do # their ends say enough
  tail -c 20000 "$log" >"$log.end" && mv "$log.end" "$log"
done
if ((found)); then
  echo "search.sh: $found crashes; the inputs are in $out/crashes" >&2
  exit 1
fi
echo "nothing was found"
