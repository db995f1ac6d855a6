/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera bench`: how fast tables are, with every answer checked.
 *
 *   bench SPEC [SPEC2 ...] [--n 2^24] [--loads 0.8,0.9] [--ops insert,find100,find50,find0,erase] [--repeat 5]
 *         [--batch 32Ki] [--keys distinct] [--mix 0.2,0.2,0.3,0.3]
 *         [--set section.key=value]... [--plugins DIRECTORIES] [--seed N] [--csv] [--out FILE] [--append FILE]
 *         [--json FILE] [--vs SPEC] [--devices 0,1] [--raw yes] [--compile no]
 *         [--beside RIVAL.so]... [--regret]
 *
 * For each load n keys go into a table that they fill to this load; then finds ask n queries in another order
 * (find50: every second of them, by a coin, for a key that is not there) and erase removes all. --keys says how often
 * each comes (distribution.h): the table is sized for the distinct ones, unless it keeps every pair, and is asked for
 * each as often as it was inserted. Each operation runs once to warm up and --repeat times, with code that was made
 * before; the median counts. Several specs take turns in every repetition, and their ratios follow the rows as lines
 * that start with '#'. Only the operation is between the two events.
 *
 * Further operations:
 *   incremental  inserts the n keys in batches of --batch, one call each; timed from before the first to after the last
 *   rebuild      for each batch clears the table and inserts all keys so far; timed in total
 *   grow         inserts the n keys into a table with growth = double that was made for n / 1000: against insert, which
 *                has a table of the right size, what growing costs
 *   mixed        a batch of n inserts, erases and finds in shares of --mix, shuffled, by one call, on a table that has
 *                been filled to the load; no key is named twice
 *   apply        inserts the n keys by tsr_apply, in a table with concurrency = mixed: against insert, what it costs that
 *                each operation says what it is
 *   find_all, count_all  ask for all values of each key, or how many they are: once for each, as erase does. --keys
 *                repeat:M makes n pairs with n / M distinct keys
 *   join         counts the pairs whose key the table holds, by joining it with itself: mops are its pairs
 *   number       numbers the n keys with an index: mops are the keys of the batch
 *   unique, unique_counts, unique_inverse  the distinct keys of the batch, by tsr_unique of an index; with how often each comes;
 *                with the number of each of the n keys
 *
 *   hits         a cache finds or inserts the n keys, in calls of --batch: mops are the keys, and hit_rate the share of the
 *                second half that was there. A load is the cache's slots as a share of n
 *
 * allocate, release and churn measure the allocators of the specs instead: bench_pool.h. --devices measures the specs on
 * several devices, whatever they say of them: bench_devices.h.
 *
 * Columns (only ever appended): spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok,utilization,
 * keys,distinct,composition,not_placed,bytes,registers,link_ms,mops_min,mops_max,limit_mops,devices,stage,split_ms,
 * exchange_ms,work_ms,answer_ms,pct_link,scaling,scaling_net,model_mops,version,parts_hash,composition_hash,seed,compiler,
 * threads,code,driver,clock_mhz,memory_mhz,date,repeat,ratio,ratio_low,ratio_high,mops_each,warp_probes
 *   mops       millions a second: of pairs inserted (by rebuild as well: of new ones), of keys asked for or erased, of
 *              values that find_all gets, of operations of mixed
 *   probes     mean buckets looked at for a key, from an untimed run with statistics = yes
 *   pct_limit  of what the device's memory allows at the table's size: random reads of one bucket for finds, a read and
 *              a compare-and-swap for insert, incremental and erase; '-' where no limit is known (the cpu backend,
 *              other operations). Of a table that is in the host's memory (device_bytes): of the time in which the bus
 *              moves its pages, to the device for finds, from it for inserts, both ways for erase
 *   ok         yes; or no or refused: a sentence on standard error says why
 *   utilization  bytes of the pairs over those of the buckets and of the units that continue them, when all pairs are
 *              there; '-' for pools
 *   keys, distinct  the distribution, as it was written, and how many of the n keys are distinct; '-' for pools
 *   composition  parts, their parameters and what else the table is made of, as words that --set takes
 *                (tsr_resolution.text); '-' for pools
 *   not_placed pairs that found no place in the table that the operation fills, or works on: the most of any measurement;
 *              '-' for pools
 *   bytes      of the table's memory, or the pool's
 *   registers  of a thread of the operation's code; link_ms: what linking it took; '-' on the cpu backend, and where
 *              the code was in the cache
 *   mops_min, mops_max  of the slowest and the fastest measurement
 *   limit_mops what pct_limit is a share of
 *   devices, stage  of --devices, as the rest; '-' elsewhere. split_ms, exchange_ms, work_ms, answer_ms  tsr_phases of the
 *              last measurement
 *   pct_link   how much of what one device's memory sends to another's, as measured, the exchange has reached; where kernels
 *              write and read the other's memory: splitting, and answering where the work does not send answers
 *   scaling    the time of stage `one`, of strong its part for a device, over this time. scaling_net  over this time
 *              without that in which the link could have carried the exchange
 *   model_mops what is expected from stage `split` and the link (core/design/0016)
 *   version to repeat  where the row comes from (origin.h): the version and the commit of the program; hashes of the files of
 *              the parts and of `composition`; the compiler with its flags; the threads of the cpu backend; the path of its
 *              code; NVIDIA's driver, or the system's kernel; the clocks after the last measurement; date and time; how many
 *              measurements
 *   ratio, ratio_low, ratio_high  as in the line '# ratio', with the interval; '-' for the spec of --vs
 *   mops_each  of each measurement, in turn, where --raw asks for them
 *   warp_probes  as probes, but the most for one of 32 keys that follow each other, on average: what a warp waits for. On the
 *              cpu backend, of insert with at most 2^14 keys and of finds
 *   hit_rate   of hits
 * A '-' is what is not known. A spec that is refused has one row a load, with op '-' and ok refused, and its sentence on
 * standard error; so has an operation that a table refuses. The others go on.
 * Lines '# ratio' say how many times as fast the spec of --vs, else the first one, is as each other one: the median of
 * the ratios that all repetitions have, their least and greatest, and the 95 % confidence interval of the median, by the
 * bootstrap, as in 1.250 (1.100 to 1.300), 95 % interval 1.190 to 1.270. It says 'no difference' where that interval holds 1.
 * 'ratio keys' says how
 * many times as fast each further distribution is as the first; distributions are measured one after the other, so these
 * are ratios of medians, as those of the first spec's allocator to the others' and to malloc. In JSON they are notes.
 * With --regret each spec with pages, and each filter, is also measured with no batch put in order (page_batch = 0, find_batch =
 * 0), and with every one. Lines '# regret' say by how much the fastest of these is faster than what the spec chooses.
 * Read next: bench_session.h, bench_run.h (what is checked), distribution.h and keys.h (the keys), roofline.h (the limits).
 */
#ifndef TSR_BENCH_H
#define TSR_BENCH_H

#include "tools/lab/words.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tsr_synopsis tsr_bench_synopsis; /* bench_options.c */

/* argv[0] is the command's name. Returns the exit status: 0; 1 if a job failed or an answer was wrong; 2 for a command
 * line that is wrong, or if no spec could be measured. */
int tsr_bench_command(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
