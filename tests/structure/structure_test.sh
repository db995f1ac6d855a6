#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The house rules that no compiler checks: who may include whom, that the core knows no plugin, that each header stands
# alone, first lines, the ABI number. The rules are in rules.sh; here they are applied to the checkout, and each of them
# to a checkout that breaks it.

# shellcheck source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
# shellcheck source=rules.sh
source "$(dirname "${BASH_SOURCE[0]}")/rules.sh"

cd "$root" || exit 1

# no_breach FUNCTION ARGUMENT...: each line is one.
no_breach() {
  local line
  while IFS= read -r line; do fail "$line"; done < <("$@")
}

case_of "P-20: includes follow the arrows between folders"
(($(sources_in plugins "${plugin_folders[@]}" core tools | wc -l) > 50)) || fail "few sources were found"
no_breach breaches_of_arrows

case_of "no file of the core includes, by whatever way, one that includes it"
no_breach breaches_of_circles

case_of "the core names no plugin"
(($(list_plugins | wc -l) >= 5)) || fail "few plugins were found"
no_breach breaches_of_names

case_of "P-45: probing schemes speak of buckets alone"
no_breach breaches_of_schemes

case_of "what all lanes of a warp do together stands behind no condition of some"
no_breach breaches_of_collectives

case_of "every source starts with its licence"
no_breach breaches_of_licences

case_of "a release links all sets of steps of no table"
no_breach breaches_of_sets

case_of "few files know a feature"
((${#spread_rows[@]} >= 3)) || fail "few features are listed"
no_breach breaches_of_spread

case_of "words that were retired do not come back"
((${#retired_rows[@]} >= 8)) || fail "few words are listed"
no_breach breaches_of_words

case_of "functions and structs can be read at once: 60 lines, 8 parameters, 20 members"
no_breach python3 tests/structure/sizes.py

case_of "the map in core/README.md names files that exist"
(($(list_mapped_files | wc -l) >= 60)) || fail "few files were found in it"
no_breach breaches_of_the_map

# ---- Headers alone -------------------------------------------------------------------------------

# compiles NAME COMMAND...
compiles() {
  local name=$1
  shift
  "$@" >"$work/log" 2>&1 || fail "$name does not compile alone: $(head -n 3 "$work/log")"
}

warnings=(-Wall -Wextra -Werror -fsyntax-only -I.)
for header in plugins/*.h core/tessera.h core/tessera_tools.h core/tessera_kernels.h core/tessera_devices.h core/tessera_rival.h core/kernels/bulk.h; do
  echo "#include \"$header\"" >"$work/alone.c"
  cp "$work/alone.c" "$work/alone.cc"
  case_of "$header compiles alone as C11"
  compiles "$header" gcc -std=c11 -pedantic "${warnings[@]}" "$work/alone.c"
  case_of "$header compiles alone as C++17"
  compiles "$header" g++ -std=c++17 "${warnings[@]}" "$work/alone.cc"
done
for header in plugins/*.cuh; do
  echo "#include \"$header\"" >"$work/alone.c"
  cp "$work/alone.c" "$work/alone.cu"
  case_of "$header compiles alone as C11"
  compiles "$header" gcc -std=c11 "${warnings[@]}" "$work/alone.c"
  [[ ${TSR_NVCC:-} ]] || continue
  case_of "$header compiles alone under nvcc"
  compiles "$header" bash plugins/build_device.sh --out "$work/alone.fatbin" "$work/alone.cu" \
    --sdk-root . -DTSR_KEY_BITS=64 -DTSR_PAYLOAD_BITS=64 # the parts include them at all widths
done

# ---- The rules themselves ------------------------------------------------------------------------

# A checkout in which exactly what is written is wrong.
broken=$work/broken
fresh_checkout() {
  rm -rf "$broken"
  mkdir -p "$broken"/{plugins/template/layout,layouts,probing,hashers,tools/cli,tools/lab,core/cuda}
  cd "$broken" || exit 1
  write plugins/plugin.h '#include "plugins/table.h"' '#include <stdint.h>'
  write plugins/table.h 'enum { TSR_ROLES = 4 };'
  write layouts/tiny.c '#include "tiny.cuh"' '#include <string.h>'
  write layouts/tiny.cuh '#include "plugins/plugin.h"'
  write core/core.c '#include "core/tessera.h"' '#include "plugins/plugin.h"' '/* a tiny remark */ int tiny_bit;'
  write core/tessera.h '#include "plugins/plugin.h"'
  write tools/lab/bench.c '#include "tools/lab/bench.h"' '#include "core/spec/number.h"'
  write tools/cli/main.c '#include "tools/lab/bench.h"' '#include "core/tessera.h"' '#include "tools/cli/job.h"'
}
write() {
  local file=$1
  shift
  printf '%s\n' '/* SPDX-License-Identifier: Apache-2.0 */' "$@" >"$file"
}
# finds PATTERN FUNCTION ARGUMENT...: one breach, which matches. finds_none FUNCTION ARGUMENT...
finds() {
  local pattern=$1 found
  shift
  found=$("$@")
  [[ $(wc -l <<<"$found") == 1 ]] && grep -q -- "$pattern" <<<"$found" || fail "no '$pattern' alone in: $found"
}
finds_none() {
  local found
  found=$("$@")
  [[ -z $found ]] || fail "found: $found"
}

case_of "the rules find nothing where nothing is wrong"
fresh_checkout
finds_none breaches_of_arrows
finds_none breaches_of_circles
finds_none breaches_of_names
finds_none breaches_of_schemes
finds_none breaches_of_collectives
finds_none breaches_of_licences
finds_none breaches_of_spread
finds_none breaches_of_words

case_of "a wrong arrow is found"
while read -r file header; do
  fresh_checkout
  write "$file" "#include $header"
  finds "$file: must not include" breaches_of_arrows
done <<'ARROWS'
plugins/plugin.h "core/tessera.h"
plugins/plugin.h "tiny.cuh"
plugins/plugin.h <core/tessera.h>
plugins/template/layout/template.c "core/tessera.h"
layouts/tiny.c "core/tessera.h"
layouts/tiny.c "other.cuh"
layouts/tiny.cuh "probing/cuckoo.cuh"
core/core.c "layouts/tiny.cuh"
core/core.c "tools/cli/job.h"
core/core.c "tools/lab/bench.h"
core/core.c "tests/oracle.h"
core/cuda/link.c "link.h"
tools/lab/bench.c "core/spec/spec.h"
tools/lab/bench.c "tools/cli/job.h"
tools/lab/bench.c "plugins/error.h"
tools/cli/main.c "core/cuda/link.h"
tools/cli/main.c "layouts/tiny.cuh"
ARROWS
fresh_checkout
write core/core.c '#include HEADER'
finds 'core/core.c: cannot tell' breaches_of_arrows

case_of "a set of steps that no release links is found"
fresh_checkout
mkdir -p core/table
printf '%s\n' '    symbol = "tsr_scan_images",' '    widths = "none",' '    symbol = "tsr_bulk_images",' '    widths = "key_payload",' >core/BUILD
write core/table/steps.c '&tsr_scan_steps, NULL'
finds_none breaches_of_sets
write core/table/steps.c '&tsr_scan2_steps, NULL'
finds 'tsr_sets_of_no_table has no tsr_scan_steps' breaches_of_sets

case_of "a circle of includes is found"
fresh_checkout
write core/a.h '#include "core/b.h"'
write core/b.h '#include "core/tessera.h"'
finds_none breaches_of_circles
write core/b.c '#include "core/b.h"' '#include <core/c.h>'
write core/c.h '#include "core/a.h"'
finds 'a circle of includes:.* core/b' breaches_of_circles

case_of "a plugin's name in the core is found"
while IFS= read -r line; do
  fresh_checkout
  write core/core.c "$line"
  finds 'core/core.c: .*tiny' breaches_of_names
done <<'NAMES'
int tiny;
const char *text = "use layout = tiny";
/* see layout_tiny.so */
// is it "tiny"?
NAMES

case_of "a scheme that knows lanes is found"
while IFS= read -r line; do
  fresh_checkout
  write probing/scheme.cuh '/* no lane, no __ballot_sync in here */' 'int planes, baseline;'
  finds_none breaches_of_schemes
  write probing/scheme.cuh "$line"
  finds 'probing/scheme.cuh: a probing scheme must not use' breaches_of_schemes
done <<'WORDS'
int a = c->lane;
int a = TSR_FACT(c, tile_lanes);
int a = tsr_ballot(c, 1);
int a = tsr_shuffle32(c, 1, 0);
int a = __popc(5);
int a = threadIdx.x;
WORDS

case_of "a collective of a warp behind a condition is found"
while read -r line; do
  fresh_checkout
  mkdir -p core/kernels
  write core/kernels/fine.cuh 'int rank = value_list_group_of(c, key, mine).rank; int leads = mine && rank == 0;' \
    'while (value_list_any(c, waits && late)) unit = 0;'
  finds_none breaches_of_collectives
  write core/kernels/wrong.cuh "$line"
  finds 'core/kernels/wrong.cuh: not all lanes of a warp may come to value_list_' breaches_of_collectives
done <<'COLLECTIVES'
int leads = mine && value_list_group_of(c, key, mine).rank == 0;
int same = mine || value_list_from_leader(c, &group, 1);
int any = mine ? value_list_any(c, 1) : 0;
COLLECTIVES

case_of "a feature that many files know is found"
fresh_checkout
for name in a b c; do write core/$name.c 'int x = HAS_VALUE_LISTS(c);'; done
finds_none breaches_of_spread
write core/d.c 'int x = HAS_VALUE_LISTS(c);'
finds 'in a list .*: 4 files of core/ know, at most 3 may' breaches_of_spread

case_of "a retired word is found, in the files and places that its row names"
while IFS='|' read -r file line; do
  fresh_checkout
  write "$file" "$line"
  finds "$file:2:.*: write: " breaches_of_words
done <<'RETIRED'
core/core.c|int x = HAS_CHAINS(c);
core/core.c|/* At most so many bytes. */
core/core.c|const char *text = "the file lies elsewhere";
page.md|14 thousand million a second
page.md|at load .8
page.md|and one more, too.
RETIRED
while IFS='|' read -r file line; do
  fresh_checkout
  write "$file" "$line"
  finds_none breaches_of_words
done <<'ALLOWED'
core/core.c|const double load = {.8};
core/core.c|/* One bucket more, too many for a page; underlies. */
page.md|at load 0.8, in `core/core.c`
ALLOWED

case_of "what is too large is found"
while IFS= read -r line; do
  fresh_checkout
  mkdir -p tools
  write core/core.c "$line" "$(yes '  int line;' | head -n 70)" '}'
  finds 'core/core.c:2: .* at most ' python3 "$root/tests/structure/sizes.py"
done <<'LARGE'
int long_one(void) {
struct many {
LARGE
fresh_checkout
write core/core.c 'int asks(int a, int b, int c, int d, int e, int f, int g, int h,' '         int i) {' '  return 0;' '}'
finds 'core/core.c:2: asks has 9 parameters' python3 "$root/tests/structure/sizes.py"

case_of "a kernel's argument has at most 15 members"
fresh_checkout
mkdir -p core/batch
write core/batch/step.h 'struct argument {' "$(yes '  int member;' | head -n 16)" '};'
finds 'core/batch/step.h:2: .* has 16 members: at most 15' python3 "$root/tests/structure/sizes.py"

case_of "a file that the map names and that is gone is found"
fresh_checkout
mkdir -p core/table
write core/table/there.h '#define THERE'
printf '%s\n' '## `table/`: tables' '| file | does |' '|---|---|' '| `there.h`, `gone.h` | text |' >core/README.md
finds 'core/table/gone.h' breaches_of_the_map

case_of "a missing licence is found"
fresh_checkout
echo 'int main;' >core/core.c
finds 'core/core.c: has no SPDX' breaches_of_licences
fresh_checkout
printf '#!/bin/sh\n# no licence\n' >script
chmod +x script
finds 'script: has no SPDX' breaches_of_licences

finish structure
