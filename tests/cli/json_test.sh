#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# --json of list, describe, check and sweep, read by Python: docs/command_line.md says what the objects hold.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cd "$work" || exit 1
export PYTHONDONTWRITEBYTECODE=1
version=$("$tessera" version | cut -d ' ' -f 2)

# holds EXPRESSION [FILE...]: true of the object `o` on standard output, whose version is right; `texts` are the files'.
holds() {
  expect_status 0
  python3 -c 'import json, sys
o = json.load(sys.stdin)
texts = [open(path).read() for path in sys.argv[3:]]
assert o["tessera"] == sys.argv[1], o["tessera"]
assert eval(sys.argv[2]), (sys.argv[2], str(o)[:2000])' "$version" "$@" <"$work/out" 2>python.err ||
    fail "tessera $command_line: $(tail -n 1 python.err)"
}

if ! command -v python3 >/dev/null; then
  case_of "JSON"
  echo "skipped: python3 is not installed"
  finish
fi

case_of "list --json has the plugins and recipes that list prints"
run list
cp out listed
run list --json
holds '[p["role"] + "/" + p["name"] for p in o["plugins"]] == [l.split()[0] for l in texts[0].splitlines()[:-1]]' listed
holds 'all(p["summary"] and p["source"] and p["file"].endswith(".so") for p in o["plugins"])'
run list layout --json
holds '{p["role"] for p in o["plugins"]} == {"layout"}'
run list recipes
cp out listed
run list recipes --json
holds '[r["name"] for r in o["recipes"]] == [l.split()[0] for l in texts[0].splitlines()[:-1]]' listed
holds 'all(open(r["file"]).read().startswith(";") and r["summary"] for r in o["recipes"])'

case_of "describe --json has parameters, settings and pairs"
run describe layout/packed --json
holds '[(p["name"], p["type"], p["default"]) for p in o["plugins"][0]["parameters"]][0] == ("bucket_slots", "u32", 8)'
holds 'len(o["plugins"]) == 1 and "kinds" not in o["plugins"][0]'
run describe probing --json
holds 'len(o["plugins"]) >= 5 and all(("map" in p["kinds"]) != (p["name"] == "cuckoo_filter") for p in o["plugins"])'
run describe table --json
holds 'o["section"] == "table"'
holds '{s["key"]: s for s in o["settings"]}["kind"]["is_required"] is True'
holds '{s["key"]: s for s in o["settings"]}["kind"]["default"] is None'
holds '{s["key"]: s for s in o["settings"]}["seed"]["default"] == "1"'
run describe compatible
count=$(tail -n 1 out | cut -d ' ' -f 1)
run describe compatible --json
holds "len(o['pairs']) == $count and all(p['feature'] and p['other'] and p['way_out'] for p in o['pairs'])"
refuses '--json and --markdown are two forms' describe table --json --markdown
refuses 'did you mean layout/packed' describe layout/paked --json

case_of "check --json has the entries, the sizes and the report"
run check quickstart --set table.backend=cpu --set table.capacity=1000
cp out report
run check quickstart --set table.backend=cpu --set table.capacity=1000 --json
holds 'o["spec"] == "quickstart" and o["entries"]["table"]["layout"] == "packed" and o["entries"]["table"]["capacity"] == "1000"'
holds 'o["capacity"] == 1000 and o["slots"] >= 1250 and o["bytes"] > 8 * o["slots"] and o["backend"] == "cpu" and o["sm"] == 0'
holds 'o["load_factor"] == 0.8 and o["bucket_slots"] == 8 and "probing=cuckoo" in o["composition"]'
holds 'o["report"] == texts[0].splitlines()' report
printf '[table]\nallocator = slab\ncapacity = 1000\nbackend = cpu\n' >pool.ini
run check pool.ini --json
holds '"capacity" not in o and any("slab" in line for line in o["report"])'
refuses 'did you mean packed' check quickstart --set table.layout=paked --json

case_of "sweep --json has the plan and the front"
cat >sweep.ini <<'END'
[table]
kind = map
key_bits = 32
value_bits = 32
layout = packed
probing = double_hashing
hasher = murmur3
backend = cpu
[sweep]
layout.bucket_slots = 4, 8
[bench]
n = 1000
repeat = 1
loads = 0.5
ops = insert,find100
END
run sweep sweep.ini --plan yes --json
holds '[p["table"] for p in o["plan"]] and len(o["plan"]) == 2 and all(p["bytes_per_pair"] > 8 for p in o["plan"])'
run sweep sweep.ini
sed -n 's/^ *0\.5 .*  \([^ ].*\)$/\1/p' out >tables
run sweep sweep.ini --json
holds '[t["table"] for t in o["front"]] == texts[0].splitlines() and o["front"]' tables
holds 'all(t["n"] == 1000 and t["load"] == 0.5 and t["insert"] > 0 and t["find0"] is None for t in o["front"])'
finish
