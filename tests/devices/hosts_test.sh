#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Groups of processes on two hosts (two_hosts.sh): by sockets of the library's own, and by MPI where it is installed. Read
# next: mpi_ranks.c.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

root=$PWD
ranks=$root/tests/devices/mpi_ranks
hosts=$root/tests/devices/two_hosts.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# MPICH would find the other host's shared memory, and waits by polling: two ranks have a core each.
export MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self UCX_NET_DEVICES=cable
export TMPDIR=/tmp OMP_NUM_THREADS=1 TSR_HOSTS=$work TSR_RANKS=$ranks

# on_hosts COMMAND...: leaves status, out, err and the bytes that crossed the link.
on_hosts() {
  status=0
  rm -f "$work/bytes"
  timeout 120 bash "$hosts" "$work" "$@" >"$work/out" 2>"$work/err" || status=$?
}

expect_right() { # SIZE BYTES: that all ranks are right, and that at least these bytes crossed the link
  ((status == 0)) || fail "status $status: $(cat "$work/out" "$work/err")"
  [[ $(sort "$work/out") == "$(for ((i = 0; i < $1; i++)); do echo "rank $i of $1 is right"; done)" ]] ||
    fail "said: $(cat "$work/out" "$work/err")"
  (($(cat "$work/bytes") >= $2)) || fail "only $(cat "$work/bytes") bytes crossed the link"
}

case_of "two network namespaces can be made here"
for program in unshare nsenter ip; do
  command -v $program >/dev/null || missing="there is no $program (Debian: util-linux, iproute2)"
done
on_hosts true
((status == 0)) || missing=${missing:-"user and network namespaces are not permitted: $(head -n 1 "$work/err")"}
if [[ ${missing:-} ]]; then
  skip "$missing"
  finish
fi

# shellcheck disable=SC2016 # expanded on the hosts
by_sockets='for rank in 0 1 2 3; do
  "$TSR_HOSTS/on" 10.77.0.$((rank % 2 + 1)) "$TSR_RANKS $0 $rank 4 tcp://10.77.0.1:7311" & pids="$pids $!"
done
for pid in $pids; do wait $pid || exit 1; done'
case_of "4 ranks on two hosts share a table by sockets"
on_hosts bash -c "$by_sockets" table
expect_right 4 1000000

case_of "a failure of one rank is told on both hosts"
for what in other_call leaves no_memory; do
  on_hosts bash -c "$by_sockets" $what
  expect_right 4 1
done

case_of "where the cable is out, both hosts hear that the other is silent"
on_hosts bash -c "$by_sockets" cable
expect_right 4 1

for mpi in openmpi mpich; do
  case_of "2 ranks on two hosts share a table by $mpi"
  if ! command -v mpicc.$mpi >/dev/null || ! command -v mpirun.$mpi >/dev/null; then
    skip "there is no mpicc.$mpi and mpirun.$mpi (Debian: lib$mpi-dev, ${mpi/openmpi/openmpi-bin})"
    continue
  fi
  mkdir -p "$mpi"
  bash "$root/transports/build_transport.sh" mpi --mpicc "mpicc.$mpi" --out "$mpi/transport_mpi.so" >log 2>&1 || fail "$(cat log)"
  export TESSERA_PLUGINS=$plugin_folders:$work/$mpi
  start=(mpirun.mpich -launcher ssh -launcher-exec "$work/on" -hosts "10.77.0.1,10.77.0.2" -n 2)
  [[ $mpi == mpich ]] || start=(mpirun.openmpi --mca plm_rsh_agent "$work/on" --mca oob_tcp_if_include cable
    --mca btl "tcp,self" --mca btl_tcp_if_include cable --host "10.77.0.1:1,10.77.0.2:1" -n 2)
  on_hosts "${start[@]}" "$ranks" table
  expect_right 2 1000000
done

finish
