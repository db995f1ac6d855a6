#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What shells offer for the last word of a command line: `tessera complete`, and the scripts that ask it, in the shells.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

scripts=$PWD/tools/cli
mkdir "$work/bin" && ln -s "$tessera" "$work/bin/tessera"
export PATH=$work/bin:$PATH
cd "$work" || exit 1
touch 'a spec.ini' keys.tsv

# offers EXPECTED WORD...: the candidates are these, with blanks between; FILES stands for names of files.
offers() {
  local expected=$1 got
  shift
  got=$("$tessera" complete -- "$@" | cut -f 1 | sed 's/^$/FILES/' | paste -s -d ' ')
  [[ $got == "$expected" ]] || fail "$*: $got"
}

case_of "commands, and those of help"
offers 'run report roofline' r
offers 'run' help ru
offers '' zzz
offers '' zzz --x
(($("$tessera" complete | wc -l) == $("$tessera" help | grep -cE '^  [a-z]+ '))) || fail "not all commands: $("$tessera" complete)"

case_of "every option of every command, from the rows of its help"
for word in $("$tessera" complete | cut -f 1); do
  "$tessera" help "$word" | sed -nE 's/^  (-[^ ]+)( .*)?$/\1/p' | sort >expected
  "$tessera" complete -- "$word" - | cut -f 1 | grep -vx -e --help | sort >got
  cmp -s expected got || fail "$word: $(diff expected got)"
done

case_of "options that are given once are not offered again"
offers '--insert' run x --insert a --ins
offers '' run x --out a --out
offers '' run x -- --ou

case_of "values to choose from"
offers 'grow report stop' run x --on-full ''
offers '--on-full=report' run x --on-full=r
offers 'inner intersect' join a b --kind in
offers 'yes no' bench x --probes ''
offers 'insert incremental' bench x --ops in
offers 'insert,find100 insert,find50 insert,find0 insert,find_all' bench x --ops insert,find
offers '--ops=find0,churn' bench x --ops=find0,ch
offers 'tab' run x --separator t
offers '' run x --kmers ''
offers 'ordinal one' run x --value ''

case_of "recipes, plugins, roles, experiments, entries of a spec"
offers 'quickstart FILES' run quick
offers 'quickstart FILES' count a.fa --spec quick
offers 'quickstart FILES' bench linear quick
offers 'FILES' run x --insert ''
offers 'layout probing hasher allocator eviction recipes' list ''
offers '' list layout ''
offers 'probing/cuckoo probing/cuckoo_filter' describe probing/cuc
offers 'compatible' describe comp
offers 'probing' new pr
offers 'S7 S7b' experiment S7
offers 'S7 S7b' experiment B1 S7
offers 'table.load_factor=' run x --set table.load
offers 'layout.bucket_slots=' run x --set layout.bucket_sl
offers 'table.growth=none table.growth=double table.growth=split' run x --set table.growth=
offers '--set=table.probing=cuckoo --set=table.probing=cuckoo_filter' run x --set=table.probing=cuc

# ---- The shells ------------------------------------------------------------------------------------------------------

# in_bash LINE: what its function leaves in COMPREPLY.
in_bash() {
  bash --norc -c 'source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _tessera tessera; printf "%s\n" "${COMPREPLY[@]}"' bash \
    "$scripts/completion.bash" "$1" 2>&1 | paste -s -d ' '
}

case_of "bash"
[[ $(in_bash 'tessera r') == 'run report roofline' ]] || fail "r: $(in_bash 'tessera r')"
[[ $(in_bash 'tessera run quick') == quickstart ]] || fail "run quick: $(in_bash 'tessera run quick')"
[[ $(in_bash 'tessera run a') == 'a spec.ini' ]] || fail "run a: $(in_bash 'tessera run a')"
[[ $(in_bash 'tessera run x --set table.growth=d') == double ]] || fail "growth: $(in_bash 'tessera run x --set table.growth=d')"
[[ $(in_bash 'tessera run x --on-full=g') == grow ]] || fail "on-full: $(in_bash 'tessera run x --on-full=g')"
[[ $(in_bash 'tessera run x --out=key') == keys.tsv ]] || fail "out: $(in_bash 'tessera run x --out=key')"

# in_fish LINE: its candidates for the last word.
in_fish() {
  HOME=$work fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$scripts/completion.fish" "$1" 2>&1 | cut -f 1 | paste -s -d ' '
}

case_of "fish"
if ! command -v fish >/dev/null; then
  echo "skipped: fish is not installed"
else
  [[ $(in_fish 'tessera ro') == 'roofline' ]] || fail "ro: $(in_fish 'tessera ro')"
  [[ $(in_fish 'tessera run quick') == quickstart ]] || fail "run quick: $(in_fish 'tessera run quick')"
  [[ $(in_fish 'tessera run a') == 'a spec.ini' ]] || fail "run a: $(in_fish 'tessera run a')"
  [[ $(in_fish 'tessera run x --on-full ') == 'grow report stop' ]] || fail "on-full: $(in_fish 'tessera run x --on-full ')"
  [[ $(in_fish 'tessera run x --out=key') == '--out=keys.tsv' ]] || fail "out: $(in_fish 'tessera run x --out=key')"
  HOME=$work fish --no-config -c 'source $argv[1]; complete -C "tessera run --inse"' "$scripts/completion.fish" |
    grep -q "^--insert	[A-Z]" || fail "no description"
fi

# in_zsh WORD...: what its function hands to zsh for the last word, with stand-ins for the functions of zsh's own.
in_zsh() {
  zsh -f -c '
    compdef() { :; }
    _describe() { print -rl -- "${(@)${(@P)2}%%:*}"; }
    compadd() { print -rl -- "${(@)@[4,-1]}"; }
    compset() { PREFIX=${PREFIX#*=}; }
    _files() { local -a found=($PREFIX*(N)); (($#found == 0)) || print -rl -- $found; }
    source $1
    shift
    words=("$@") CURRENT=$# PREFIX=${@[-1]}
    _tessera' zsh "$scripts/completion.zsh" tessera "$@" 2>&1 | paste -s -d ' '
}

case_of "zsh"
if ! command -v zsh >/dev/null; then
  echo "skipped: zsh is not installed"
else
  [[ $(in_zsh rep) == report ]] || fail "rep: $(in_zsh rep)"
  [[ $(in_zsh run quicks) == quickstart ]] || fail "run quicks: $(in_zsh run quicks)"
  [[ $(in_zsh run key) == keys.tsv ]] || fail "run key: $(in_zsh run key)"
  [[ $(in_zsh run 'a sp') == 'a spec.ini' ]] || fail "run 'a sp': $(in_zsh run 'a sp')"
  [[ $(in_zsh run x --set table.load) == 'table.load_factor=' ]] || fail "load: $(in_zsh run x --set table.load)"
  [[ $(in_zsh run x --set table.growth=d) == 'table.growth=double' ]] || fail "d: $(in_zsh run x --set table.growth=d)"
  [[ $(in_zsh run x --out=key) == keys.tsv ]] || fail "out: $(in_zsh run x --out=key)"
fi

finish
