#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds a transport of groups of processes for this site: transport_NAME.so, which tsr_group_create_by loads when it is asked
# for. For mpi the compiler is the site's own mpicc, whose mpi.h decides which MPI it is for.
#
#   build_transport.sh mpi [--mpicc mpicc.mpich] [--include FOLDER] [--out FOLDER/transport_mpi.so]
#
# --include: the folder with tessera.h; without it, that of this checkout or installed copy.

set -euo pipefail

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=${1:-}
[[ $name == mpi ]] || fail "'$name': the transports are: mpi"
shift
mpicc=mpicc
include=
out=transport_$name.so
while (($#)); do
  case $1 in
    --mpicc) mpicc=${2:?--mpicc needs a compiler} && shift ;;
    --include) include=${2:?--include needs a folder} && shift ;;
    --out) out=${2:?--out needs a file} && shift ;;
    *) fail "unknown argument $1" ;;
  esac
  shift
done

command -v "$mpicc" >/dev/null || fail "$mpicc: is not there: install an MPI (Debian: libopenmpi-dev openmpi-bin, or libmpich-dev mpich), or name its compiler by --mpicc"
flags=()
if [[ $include ]]; then
  flags+=("-I$include")
elif [[ -e $here/../core/tessera_devices.h ]]; then
  flags+=("-I$here/../core" "-I$here/..") # a checkout
elif [[ -e $here/../../../include/tessera_devices.h ]]; then
  flags+=("-I$here/../../../include") # an installed copy
else
  fail "tessera_devices.h is not found: name its folder by --include"
fi
"$mpicc" -std=gnu11 -O2 -fPIC -fvisibility=hidden -shared -Wall -Wno-stringop-overflow "${flags[@]}" -o "$out" "$here/$name.c"
