#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera count on the cpu backend, against a count in awk. The histograms of a larger file, in histograms/, were made
# once by Debian's jellyfish 2.3.0 (`jellyfish count -m K [-C]`, `jellyfish histo -h 1000000`; those of the file as
# FASTQ are the same), which nothing needs here.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

here=$PWD/tests/cli
cpu=(--set table.backend=cpu)
table=("${cpu[@]}" --set table.capacity=1000) # which asks for a table; without, bins count
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

for k in 1 5 16 17 31 32 33 47 63 64; do
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
    run count random.fq --kmers "$k" $turn --quiet "${table[@]}"
    expect_status 0
    cmp out expected.histogram || fail "another histogram of the FASTQ file than awk's of the FASTA file"
    ! grep -v 'were skipped for other letters' err || fail "--quiet says: $(cat err)" # of long ones one in ten
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
  for k in 16 21 31 33 47 63; do
    run count "$file" --kmers "$k" --quiet "${cpu[@]}"
    cmp out "$here/histograms/$k.txt" || fail "$file, k = $k"
    run count "$file" --kmers "$k" --canonical --quiet "${table[@]}"
    cmp out "$here/histograms/${k}_canonical.txt" || fail "$file, k = $k, canonical, in a table"
    run count "$file" --kmers "$k" --canonical --quiet "${cpu[@]}"
    cmp out "$here/histograms/${k}_canonical.txt" || fail "$file, k = $k, canonical"
  done
done

case_of "one sample that is too short among others"
printf '>a\nACGTA\n' >a.fa
printf '>b\nAC\n' >b.fa
run count b.fa a.fa b.fa --kmers 4 --out - --sorted "${cpu[@]}"
expect_status 0
expect_rows out 'ACGT 1' 'CGTA 1'
expect_err '^tessera: b.fa: holds no k-mer of 4 letters A, C, G or T .records: 1, letters: 2.$'
run count b.fa --kmers 4 "${cpu[@]}"
expect_status 0
[[ ! -s out ]] || fail "a histogram of nothing: $(cat out)"
run count a.fa b.fa --kmers 4 --out none.tsv --strict "${cpu[@]}"
expect_status 1
expect_err 'b.fa: holds no k-mer of 4 letters A, C, G or T'
[[ ! -e none.tsv ]] || fail "counts were written"

case_of "published inputs on which other counters were wrong"
printf '>p\nAACTGACATGTCAGTT\n' >palindrome.fa
run count palindrome.fa --kmers 5 --canonical --out counts.tsv --sorted "${cpu[@]}"
oracle 5 --canonical <palindrome.fa | cmp - counts.tsv || fail "a palindrome"
grep -q '^TGACA.2$' counts.tsv || fail "no TGACA"
for end in '' '\n' '\r\n'; do
  printf "AAACCCAACCAC$end" | sed '1s/^/>r\n/' >short.fa
  for k in 1 3 12 13 32; do
    run count short.fa --kmers $k --out counts.tsv --sorted --quiet "${cpu[@]}"
    expect_status 0
    tr -d '\r' <short.fa | oracle $k "" | cmp - counts.tsv || fail "k = $k, end '$end'"
  done
done
printf '@a\n\n+\n\n@b\nACGTA\n+\nIIIII\n@c\n\n+\n' >empty_reads.fq
run count empty_reads.fq --kmers 5 --out - --quiet "${cpu[@]}"
expect_rows out 'ACGTA 1'
printf '@x\tec:Z:0_0\nacgtN\n+\nIIIII\n' >bfc.fq
run count bfc.fq --kmers 4 --out - --quiet "${cpu[@]}"
expect_rows out 'ACGT 1'

case_of "sequences by content, whatever their names' endings"
for ending in fas ffn fsa mfa faa frn txt fq fa.txt FSA; do
  cp random.fa "any.$ending"
  run count "any.$ending" --kmers 9 --out counts.tsv --sorted --quiet "${cpu[@]}"
  expect_status 0
  oracle 9 "" <random.fa | cmp - counts.tsv || fail "$ending: other counts"
done
cp random.fq fastq.fa
run count fastq.fa --kmers 9 --out counts.tsv --sorted --quiet "${cpu[@]}"
oracle 9 "" <random.fa | cmp - counts.tsv || fail "FASTQ in a .fa file"
printf '\xef\xbb\xbf>r\nACGUU\n' >marked.fa
run count marked.fa --kmers 4 --out - --sorted --quiet "${cpu[@]}"
expect_rows out 'ACGT 1' 'CGTT 1'
printf '@HD\tVN:1.6\n' >alignments.txt
run count alignments.txt --kmers 4 "${cpu[@]}"
expect_status 1
expect_err 'alignments.txt: looks like SAM, and k-mers are read from FASTA and FASTQ: convert it: .samtools fasta'
refuses "'calls.vcf.gz': its name says VCF, which holds no sequences" count calls.vcf.gz --kmers 4
printf '>a\rACGT\rACGT\r' >mac.fa
run count mac.fa --kmers 4 "${cpu[@]}"
expect_status 1
expect_err 'mac.fa:1: its lines end with CR alone'

case_of "many skipped k-mers are told under --quiet, a few are not"
printf '>r\nACGTNNNNNNACGT\n' >gaps.fa
run count gaps.fa --kmers 4 --out - --quiet "${cpu[@]}"
expect_rows out 'ACGT 2'
expect_err '^tessera: gaps.fa: 9 of 11 4-mers were skipped for other letters than A, C, G, T and U$'

case_of "compressed files whose end is missing"
awk 'BEGIN { s = 7; print ">r"; for (i = 0; i < 3000; i++) { s = s * 16807 % 2147483647; print substr("ACGTACGGTCATTGCAGCTA", 1 + s % 12, 8) } }' >many_lines.fa
for tool in gzip bzip2 xz zstd; do
  command -v $tool >/dev/null || continue
  ending=$(case $tool in gzip) echo gz ;; bzip2) echo bz2 ;; xz) echo xz ;; zstd) echo zst ;; esac)
  $tool -c many_lines.fa >whole
  bytes=$(stat -c %s whole)
  for cut in 1 2 3 4 7 8 9 12 16 31 64; do
    head -c $((bytes - cut)) whole >"cut.fa.$ending"
    run count "cut.fa.$ending" --kmers 4 --out none.tsv "${cpu[@]}"
    expect_status 1
    [[ ! -e none.tsv ]] || fail "$tool: counts of a file without its last $cut bytes"
  done
  { : | $tool -c && cat whole && : | $tool -c && cat whole; } >"parts.fa.$ending"
  cat many_lines.fa many_lines.fa >twice.fa
  run count "parts.fa.$ending" --kmers 9 --out parts.tsv --sorted --quiet "${cpu[@]}"
  expect_status 0
  run count twice.fa --kmers 9 --out twice.tsv --sorted --quiet "${cpu[@]}"
  cmp parts.tsv twice.tsv || fail "$tool: other counts of two parts and empty ones"
done
if command -v zstd >/dev/null; then
  { printf '\x50\x2a\x4d\x18\x03\x00\x00\x00abc' && cat whole; } >skippable.fa.zst
  run count many_lines.fa --kmers 9 --out whole.tsv --sorted --quiet "${cpu[@]}"
  run count skippable.fa.zst --kmers 9 --out parts.tsv --sorted --quiet "${cpu[@]}"
  expect_status 0
  cmp parts.tsv whole.tsv || fail "other counts behind a skippable frame"
  "$tessera" count - --kmers 9 --out - --sorted --quiet "${cpu[@]}" <skippable.fa.zst | cmp - whole.tsv ||
    fail "from standard input: other counts behind a skippable frame"
fi

case_of "no more room than there can be k-mers"
run count a.fa --kmers 4 --out - --sorted --set table.backend=cpu --set table.capacity=100G
expect_status 0
expect_rows out 'ACGT 1' 'CGTA 1'
expect_err '^tessera: capacity = 100G: only 256 4-mers can exist, and the table has room for these$'
run run "$specs/u64_map.ini" --set table.backend=cpu --set table.capacity=100G --kmers 4 --insert a.fa
expect_status 0
expect_out 'capacity 256, as many as there can be k-mers$'

case_of "counts of 8 bits stop at 255"
run count many.fa --kmers 3 --quiet --out all.tsv --sorted "${cpu[@]}"
run count many.fa --kmers 3 --quiet --out few.tsv --sorted --set table.value_bits=8 "${cpu[@]}"
awk -F '\t' -v OFS='\t' '{ if ($2 > 255) { $2 = 255; over++ } print } END { exit !over }' all.tsv >stopped.tsv ||
  fail "no count was above 255"
cmp few.tsv stopped.tsv || fail "other counts"

case_of "count refuses what would be wrong"
refuses 'needs --kmers' count random.fa
refuses '--kmers 65: must be a whole number from 1 to 64' count random.fa --kmers 65
refuses '--kmers 2e1: must be a whole number from 1 to 64; write 20' count random.fa --kmers 2e1
refuses '--min x: must be' count random.fa --kmers 3 --min x
refuses '--min 1,000: must be a whole number below 2\^64; write 1000 or 1K' count random.fa --kmers 3 --min 1,000
refuses '--min 18446744073709551616: must be a whole number below 2\^64' count random.fa --kmers 3 --min 18446744073709551616
refuses 'count needs more: usage: tessera count FILE\.\.\.' count --kmers 3
refuses "'absent.fa': cannot be opened" count random.fa absent.fa --kmers 3
refuses 'is not a FASTA or FASTQ file' count x.tsv --kmers 3
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
