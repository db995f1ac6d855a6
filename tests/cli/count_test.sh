#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera count on the cpu backend, against a count in awk. The histograms of a larger file, in histograms/, were made
# once by Debian's jellyfish 2.3.0 (`jellyfish count -m K [-C]`, `jellyfish histo -h 1000000`; those of the file as
# FASTQ are the same), which nothing needs here.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

here=$PWD/tests/cli
cpu=(--set table.backend=cpu --set table.capacity=1000)
cd "$work" || exit 1

# random_fasta SEED LETTERS RECORDS LINES: records of pieces of one random sequence, in lines of any length, with small
# letters, N and empty records; the same everywhere, unlike awk's own rand().
random_fasta() {
  awk -v seed="$1" -v letters="$2" -v records="$3" -v lines="$4" '
    function random(n) { seed = seed * 16807 % 2147483647; return seed % n }
    BEGIN {
      for (i = 0; i < letters; i++) piece = piece substr("ACGT", 1 + random(4), 1)
      for (r = 0; r < records; r++) {
        print ">r" r
        for (l = random(lines); l; l--) {
          line = substr(piece, 1 + random(letters), 1 + random(80))
          print (random(5) == 0 ? tolower(line) : random(9) == 0 ? line "N" : line)
        }
      }
    }'
}

# oracle K CANONICAL <FASTA: lines "kmer<tab>count", sorted.
oracle() {
  awk -v k="$1" -v canonical="$2" '
    function turned(s,  i, t) { for (i = length(s); i; i--) t = t pair[substr(s, i, 1)]; return t }
    function cut(  i, s, t) {
      for (i = 1; i + k - 1 <= length(text); i++) {
        s = substr(text, i, k)
        if (s ~ /[^ACGT]/) continue
        if (canonical && (t = turned(s)) < s) s = t
        count[s]++
      }
      text = ""
    }
    BEGIN { pair["A"] = "T"; pair["C"] = "G"; pair["G"] = "C"; pair["T"] = "A" }
    /^>/ { cut(); next }
    { text = text toupper($0) }
    END { cut(); for (s in count) print s "\t" count[s] }' | LC_ALL=C sort
}

histogram_of() { cut -f 2 "$1" | sort -n | uniq -c | awk '{print $2, $1}'; }

# fastq_of <FASTA: the same records, but empty ones.
fastq_of() { awk '/^>/ { if (s) print "@r\n" s "\n+\n" s; s = ""; next } { s = s $0 } END { print "@r\n" s "\n+\n" s }'; }

random_fasta 11 300 30 20 >random.fa
fastq_of <random.fa >random.fq

for k in 1 5 16 17 31 32; do
  for turn in "" --canonical; do
    case_of "count of $k letters $turn"
    oracle "$k" "$turn" <random.fa >expected.tsv
    histogram_of expected.tsv >expected.histogram
    # shellcheck disable=SC2086
    run count random.fa --kmers "$k" $turn --out counts.tsv --sorted "${cpu[@]}"
    expect_status 0
    cmp counts.tsv expected.tsv || fail "other counts than awk's"
    expect_err "^tessera: 30 records, .* $(wc -l <expected.tsv) distinct; "
    # shellcheck disable=SC2086
    run count random.fq --kmers "$k" $turn --quiet "${cpu[@]}"
    expect_status 0
    cmp out expected.histogram || fail "another histogram of the FASTQ file than awk's of the FASTA file"
    [[ ! -s err ]] || fail "--quiet says: $(cat err)"
  done
done

case_of "count of several files, of pipes and of standard input"
oracle 9 "" < <(cat random.fa random.fa) >expected.tsv
gzip -c random.fa >random.FA.GZ
run count random.fa random.FA.GZ --kmers 9 --out - --sorted "${cpu[@]}"
expect_status 0
cmp out expected.tsv || fail "other counts than awk's"
"$tessera" count - random.fa --kmers 9 --out piped.tsv --sorted --quiet "${cpu[@]}" <random.FA.GZ || fail "status $?"
cmp piped.tsv expected.tsv || fail "other counts from standard input"
cat random.fq | "$tessera" count - random.fq --kmers 9 --out piped.tsv --sorted --quiet "${cpu[@]}" || fail "status $?"
cmp piped.tsv expected.tsv || fail "other counts of a FASTQ file from a pipe"

case_of "--min leaves out what is rare"
run count random.fa --kmers 9 --min 3 --out counts.tsv --sorted --histogram "${cpu[@]}"
expect_status 0
oracle 9 "" <random.fa | awk '$2 >= 3' >expected.tsv
cmp counts.tsv expected.tsv || fail "other counts than awk's"
histogram_of expected.tsv | cmp out || fail "another histogram than awk's"

case_of "counts as an array, compressed and with names of columns"
run count random.fa --kmers 9 --out counts.csv.gz --sorted "${cpu[@]}"
expect_status 0
oracle 9 "" <random.fa >expected.tsv
{ echo key,value && tr '\t' ',' <expected.tsv; } | cmp - <(gzip -dc counts.csv.gz) || fail "counts.csv.gz"
run count random.fa --kmers 9 --out counts.npy --sorted "${cpu[@]}"
expect_status 0
(($(stat -c %s counts.npy) == 128 + 16 * $(wc -l <expected.tsv))) || fail "counts.npy has $(stat -c %s counts.npy) bytes"
refuses '--out c.xz: rows are not written as .xz' count random.fa --kmers 9 --out c.xz
refuses '--out c.parquet: rows are not written as .parquet' count random.fa --kmers 9 --out c.parquet

case_of "histograms are those of jellyfish"
random_fasta 7 20000 200 40 >many.fa
fastq_of <many.fa >many.fq
for file in many.fa many.fq; do
  for k in 16 21 31; do
    run count "$file" --kmers "$k" --quiet "${cpu[@]}"
    cmp out "$here/histograms/$k.txt" || fail "$file, k = $k"
    run count "$file" --kmers "$k" --canonical --quiet "${cpu[@]}"
    cmp out "$here/histograms/${k}_canonical.txt" || fail "$file, k = $k, canonical"
  done
done

case_of "counts of 8 bits stop at 255"
run count many.fa --kmers 3 --quiet --out all.tsv --sorted "${cpu[@]}"
run count many.fa --kmers 3 --quiet --out few.tsv --sorted --set table.value_bits=8 "${cpu[@]}"
awk -F '\t' -v OFS='\t' '{ if ($2 > 255) { $2 = 255; over++ } print } END { exit !over }' all.tsv >stopped.tsv ||
  fail "no count was above 255"
cmp few.tsv stopped.tsv || fail "other counts"

case_of "count refuses what would be wrong"
refuses 'needs --kmers' count random.fa
refuses '--kmers 33: must be a whole number from 1 to 32' count random.fa --kmers 33
refuses '--kmers 2e1: must be a whole number from 1 to 32; write 20' count random.fa --kmers 2e1
refuses '--min x: must be' count random.fa --kmers 3 --min x
refuses '--min 1,000: must be a whole number below 2\^64; write 1000 or 1K' count random.fa --kmers 3 --min 1,000
refuses '--min 18446744073709551616: must be a whole number below 2\^64' count random.fa --kmers 3 --min 18446744073709551616
refuses 'count needs more: usage: tessera count FILE\.\.\.' count --kmers 3
refuses "'absent.fa': cannot be opened" count random.fa absent.fa --kmers 3
refuses 'is no FASTA or FASTQ file' count x.tsv --kmers 3
refuses 'counting needs kind = counter' count random.fa --kmers 3 --set table.kind=map
refuses 'a counter adds up what it counts' count random.fa --kmers 3 --set table.duplicates=first
refuses 'both would go to standard output' count random.fa --kmers 3 --out - --histogram
refuses '--sorted is about the lines' count random.fa --kmers 3 --sorted

case_of "--out over an input is refused before anything is read"
cp random.fa kept.fa
ln kept.fa linked.fa
ln -s kept.fa named.fa
refuses 'kept.fa' count random.fa kept.fa --kmers 3 --out kept.fa
refuses 'linked.fa' count kept.fa --kmers 3 --out linked.fa
refuses 'named.fa' count kept.fa --kmers 3 --out named.fa
cmp random.fa kept.fa || fail "the input was written over"

case_of "a damaged file fails, and nothing is written"
printf '>r\nACGTACGT\n>s\nACG!T\n' >bad.fa
run count random.fa bad.fa --kmers 3 --out none.tsv "${cpu[@]}"
expect_status 1
expect_err 'bad.fa:4: byte 0x21 is no letter'
[[ ! -e none.tsv ]] || fail "counts were written"

case_of "a table that cannot grow and is too small fails"
run count random.fa --kmers 9 --out none.tsv --set table.backend=cpu --set table.capacity=8 --set table.growth=none
expect_status 1
expect_err 'found no room in the table, so that counts would be wrong'
[[ ! -e none.tsv ]] || fail "counts were written"

case_of "Ctrl-C says what was done"
mkfifo endless.fa
env --default-signal=INT "$tessera" count endless.fa --kmers 9 --out none.tsv "${cpu[@]}" 2>err &
counting=$!
{
  cat random.fa
  sleep 1
  kill -INT "$counting"
  wait "$counting"
  status=$?
} >endless.fa
((status == 130)) || fail "status $status"
grep -q 'stopped by Ctrl-C' err || fail "said: $(cat err)"
[[ ! -e none.tsv ]] || fail "counts were written"

finish
