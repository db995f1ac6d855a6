#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# //:wheel as a user installs it: by pip, into a fresh environment, with no network. Then what the Python package says
# and does, and a plugin built against it without Bazel. Needs Debian's python3, its NumPy, pandas, venv and pip. PyTorch
# from 1.13 on (Debian's python3-torch) and JAX are tried where they can be imported.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

here=$PWD
wheels=(tessera_tables-*.whl)
wheel=$here/${wheels[0]}
unset TESSERA_PLUGINS TESSERA_SPECS TESSERA_SDK PYTHONPATH PYTHONHOME
export PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=
venv=$work/"a venv"
python="$venv/bin/python"

case_of "the same inputs make the same wheel"
again=$work/${wheels[0]}
/usr/bin/python3 -I "$here/python/make_wheel.py" "$again" "$here/tessera.tar.gz" "$here/LICENSE" \
  "$here"/python/README.md "$here"/python/tessera/* >log 2>&1 || fail "$(cat log)"
cmp "$wheel" "$again" || fail "it differs"
! /usr/bin/python3 -I "$here/python/make_wheel.py" "$work/other.whl" "$here/tessera.tar.gz" >log 2>&1 ||
  fail "makes a wheel of a name that pip does not read"
grep -q "call it ${wheels[0]}" log || fail "$(cat log)"

case_of "pip installs it without a network"
/usr/bin/python3 -m venv --system-site-packages "$venv" >log 2>&1 || fail "$(cat log)"
"$python" -m pip install --no-index --no-cache-dir --disable-pip-version-check "$wheel" >log 2>&1 || fail "$(cat log)"
site=$("$python" -c 'import tessera; print(tessera.__path__[0])')
[[ $site == "$venv"/* ]] || fail "it is in $site"
[[ -f $site/py.typed ]] || fail "it has no py.typed"
"$python" -c 'from importlib.metadata import metadata as m; d = m("tessera-tables"); assert "Typing :: Typed" in d.get_all("Classifier")' \
  >log 2>&1 || fail "$(cat log)"

# What imports it must not find the sources of the checkout.
for test in structs table arrays types wide_keys key_columns texts verbs device_verbs torch embedding docstrings nonsense; do
  case_of "${test}_test.py"
  "$python" "$here/tests/python/${test}_test.py" >log 2>&1 || fail "$(tail -n 60 log)"
  grep -qE '^Ran [1-9][0-9]* tests?' log || fail "runs no test"
done

for target in arrow pickle; do
  case_of "inputs of ${target}_fuzz.py"
  "$python" "$here/tests/fuzz/${target}_fuzz.py" "$here/tests/fuzz/corpus/$target"/* >log 2>&1 || fail "$(tail -n 30 log)"
  "$python" "$here/tests/fuzz/${target}_fuzz.py" --random 500 1 "$here/tests/fuzz/corpus/$target" >log 2>&1 || fail "$(tail -n 30 log)"
  grep -qx '500 inputs' log || fail "$(tail -n 3 log)"
done

ranks_are_right() { # N: that all of them said so
  [[ $(sort out) == "$(for ((i = 0; i < $1; i++)); do echo "rank $i of $1 is right"; done)" ]] || fail "said: $(cat out log)"
}

case_of "processes that meet at a path share tables"
for ((i = 0; i < 3; i++)); do "$python" "$here/tests/python/group_ranks.py" path $i 3 "$work/meet" & done >out 2>log
wait
ranks_are_right 3

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for size in 2 4; do
  case_of "$size processes that mpi4py started share tables"
  if "$python" -c 'from mpi4py import MPI' 2>/dev/null; then
    TMPDIR=/tmp OMP_NUM_THREADS=1 timeout 120 mpirun.openmpi -n $size --oversubscribe "$python" "$here/tests/python/group_ranks.py" mpi4py \
      >out 2>log || fail "status $?: $(cat log)"
    ranks_are_right $size
  else
    skip "mpi4py cannot be imported (Debian: python3-mpi4py, openmpi-bin)"
  fi
  case_of "$size processes of torch.distributed share tables"
  if "$python" -c 'import torch.distributed' 2>/dev/null; then
    for ((i = 0; i < size; i++)); do "$python" "$here/tests/python/group_ranks.py" torch $i $size "$work/torch$size" & done >out 2>log
    wait
    ranks_are_right $size
  else
    skip "torch cannot be imported (Debian: python3-torch)"
  fi
done

case_of "the tutorial is right"
"$python" "$here/tests/python/tutorial_test.py" "$here/python/README.md" >log 2>&1 || fail "$(tail -n 60 log)"

for example in kmers group_by join two_columns; do
  case_of "pandas finds that the example $example has the right answers"
  "$python" "$here/python/examples/$example.py" >log 2>&1 || fail "$(cat log)"
  grep -q 'as pandas has them$' log || fail "pandas has not checked them: $(cat log)"
done

case_of "the notebook of ten jobs prints what it says, and pandas agrees"
"$python" "$here/tests/python/notebook_test.py" "$here/python/examples/ten_jobs.ipynb" >log 2>&1 || fail "$(tail -n 60 log)"

# python_on_gpu.py runs the example on machines that have a GPU.
case_of "the example for PyTorch has the right answers, where that can be imported"
if "$python" -c 'import torch' 2>/dev/null; then
  "$python" "$here/python/examples/embedding.py" >log 2>&1 || fail "$(cat log)"
  grep -q 'rows as a dict has them$' log || fail "$(cat log)"
fi

case_of "the sparse convolution has the result of the dense one, where PyTorch can be imported"
if "$python" -c 'import torch' 2>/dev/null; then
  "$python" "$here/python/examples/sparse_convolution.py" >log 2>&1 || fail "$(cat log)"
  grep -q 'the result is that of the dense grid$' log || fail "$(cat log)"
fi

case_of "the example of neighbours numbers them as a dict does, where PyTorch can be imported"
if "$python" -c 'import torch' 2>/dev/null; then
  "$python" "$here/python/examples/neighbours.py" 2000 >log 2>&1 || fail "$(cat log)"
  grep -q 'numbers as a dict has them$' log || fail "$(cat log)"
fi

case_of "the example that trains has the loss of torch.nn.Embedding, where PyTorch 2.4 can be imported"
if "$python" -c 'import torch; torch.library.custom_op' 2>/dev/null; then
  "$python" "$here/python/examples/train_embedding.py" >log 2>&1 || fail "$(cat log)"
  grep -q 'as with torch.nn.Embedding$' log || fail "$(cat log)"
fi

case_of "what is run on machines with a GPU works with NumPy"
"$python" "$here/tests/device/python_on_gpu.py" --backend cpu numpy >log 2>&1 || fail "$(cat log)"
tail -n 1 log | grep -qE '^[0-9]+ passed, 0 failed, 0 skipped$' || fail "$(cat log)"
"$python" "$here/tests/device/python_soak.py" --backend cpu --rounds 4 >log 2>&1 || fail "$(cat log)"

case_of "the verbs that are run on machines with a GPU work on tensors of the host, where PyTorch can be imported"
if "$python" -c 'import torch; torch.uint64' 2>/dev/null; then
  "$python" "$here/tests/device/python_verbs.py" --backend cpu --sizes 16 torch >log 2>&1 || fail "$(cat log)"
  tail -n 1 log | grep -qE '^[0-9]+ passed, 0 failed, 0 skipped$' || fail "$(cat log)"
fi

case_of "what a call costs beside the same call from C is measured, with NumPy"
"$python" "$here/tests/device/python_calls.py" --backend cpu numpy >out 2>log || fail "$(cat log)"
for call in find get contains count insert insert_wait_False erase; do
  grep -qE "^numpy,[^,]+,$call,[0-9.]+,[0-9.]+$" out || fail "no row of $call: $(cat out)"
done

case_of "a release has code ahead for all that Python chooses"
(source "$here/tools/ahead/tables.sh" && list_tables "$here"/specs/*.ini && list_cpu_tables "$here"/specs/*.ini) >tables 2>log || fail "$(cat log)"
"$python" "$here/tests/python/chosen.py" tables >log 2>&1 || fail "$(cat log)"

case_of "its program works, by both names"
version=$("$python" -c 'import tessera; print(tessera.__version__)')
[[ $("$venv/bin/tessera" version) == "tessera $version" ]] || fail "tessera: $("$venv/bin/tessera" version 2>&1)"
[[ $("$python" -m tessera version) == "tessera $version" ]] || fail "-m tessera: $("$python" -m tessera version 2>&1)"
[[ $(TESSERA_PROGRAM=$venv/bin/tessera timeout 60 "$venv/bin/tessera" version) == "tessera $version" ]] ||
  fail "TESSERA_PROGRAM that names the command itself"
printf '1 10\n2 20\n' >pairs.tsv
"$venv/bin/tessera" run "$site/dist/share/tessera/specs/quickstart.ini" --set table.backend=cpu --insert pairs.tsv \
  --find pairs.tsv --out rows.tsv >log 2>&1 || fail "$(cat log)"
expect_rows rows.tsv '1 10' '2 20'
status=0
"$python" -m tessera run absent.ini >log 2>&1 || status=$?
((status == 2)) || fail "status $status of a spec that is not there"

case_of "a plugin is built against it without Bazel, and Python uses it"
"$venv/bin/tessera" new probing mine --at "$work/mine" >log 2>&1 || fail "$(cat log)"
sdk=$("$python" -c 'import tessera; print(tessera.prefix)')/share/tessera/sdk
TSR_NVCC='' bash "$sdk/plugins/build_plugin.sh" --role probing --name mine --widths key_payload \
  --out "$work/mine/probing_mine.so" "$work/mine/mine.c" "$work/mine/mine.cuh" >log 2>&1 || fail "$(cat log)"
"$python" - "$work/mine" >log 2>&1 <<'PROGRAM' || fail "$(cat log)"
import sys
import numpy as np
import tessera

settings = {"table.probing": "mine", "table.backend": "cpu", "table.capacity": 1000}
with tessera.Table(tessera.recipe("quickstart"), settings=settings, plugins=sys.argv[1]) as table:
    keys = np.arange(1000, dtype=np.uint32)
    table.insert(keys, keys)
    assert table.find(keys)[1].all()
assert "mine" in [plugin.name for plugin in tessera.plugins(sys.argv[1])]
PROGRAM

case_of "a C program is built against it"
printf '#include <tessera.h>\nint main(void) { return !tsr_version()[0]; }\n' >program.c
prefix=$site/dist
flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs tessera) &&
  eval "gcc -o program program.c $flags" >log 2>&1 && env -i ./program || fail "$(cat log)"

case_of "a library that is not there is told"
TESSERA_LIBRARY=$work/absent.so "$python" -c 'import tessera' >log 2>&1 && fail "imports without a library"
grep -q 'ImportError: .*/absent.so cannot be loaded' log || fail "$(cat log)"

case_of "it goes away as a whole"
"$python" -m pip uninstall -y --disable-pip-version-check tessera-tables >log 2>&1 || fail "$(cat log)"
[[ ! -e $site && ! -e $venv/bin/tessera ]] || fail "left $(find "$site" | head -n 5)"

finish python
