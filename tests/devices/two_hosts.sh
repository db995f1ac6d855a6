#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plays two hosts on one machine: two network namespaces with names of their own, which a pair of virtual cards links.
# Loopback and sockets that listen belong to one of them. It needs no rights but those of a user namespace.
#
#   two_hosts.sh FOLDER COMMAND...
#
# Runs COMMAND on 10.77.0.1. FOLDER/on HOST COMMAND... runs a command on a host, as ssh does, which it stands in for.
# FOLDER/cut takes the cable out. FOLDER/bytes holds what 10.77.0.1 has received from the other one in the end.

set -euo pipefail

if [[ ${1:-} != --inside ]]; then
  exec unshare --user --map-root-user --mount --net --uts bash "$0" --inside "$@"
fi
folder=$2
shift 2
hostname host-a
mount -t sysfs sysfs /sys # otherwise it lists the cards of the machine
ip link set lo up
unshare --mount --net --uts sh -c 'mount -t sysfs sysfs /sys && exec sleep infinity' &
other=$!
trap 'kill "$other"' EXIT
until [[ $(ps -o comm= -p "$other") == sleep ]]; do sleep 0.01; done
on_other=(nsenter -t "$other" -m -n -u)
ip link add cable type veth peer name cable netns "$other"
"${on_other[@]}" hostname host-b
"${on_other[@]}" ip link set lo up
"${on_other[@]}" ip addr add 10.77.0.2/24 dev cable
"${on_other[@]}" ip link set cable up
ip addr add 10.77.0.1/24 dev cable
ip link set cable up
until [[ $(cat /sys/class/net/cable/operstate) == up ]]; do sleep 0.01; done
cat >"$folder/on" <<END
#!/bin/sh
# As programs call ssh: options, a host, and a command for its shell.
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
case \$host in
10.77.0.1) exec sh -c "\$*" ;;
10.77.0.2) exec ${on_other[*]} sh -c "\$*" ;;
esac
echo "on: there is no host \$host" >&2
exit 1
END
printf '#!/bin/sh\nsleep 0.5 # what is on its way arrives\nexec ip link set cable down\n' >"$folder/cut"
chmod +x "$folder/on" "$folder/cut"
status=0
"$@" || status=$?
cat /sys/class/net/cable/statistics/rx_bytes >"$folder/bytes"
exit "$status"
