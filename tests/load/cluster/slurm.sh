#!/bin/sh
# A Slurm of this machine alone: munge, a controller and several nodes, all of them here.
#
#   slurm.sh up FOLDER NODES     starts it; then SLURM_CONF=FOLDER/slurm.conf srun -n 8 ...
#   slurm.sh down FOLDER         ends it
#
# Its ports are there once a machine: whoever starts one waits until the one before has ended. Needs root and Debian's slurm-wlm and munge.
set -eu

act=$1 folder=$2
conf="$folder/slurm.conf"
export SLURM_CONF="$conf"

case $act in
up)
    nodes=$3
    mkdir -p "$folder/state" "$folder/spool" /run/munge
    [ -e /etc/munge/munge.key ] || mungekey --create 2>/dev/null || (umask 077 && head -c 1024 /dev/urandom >/etc/munge/munge.key)
    chown -R munge: /etc/munge /run/munge
    munge -n >/dev/null 2>&1 || setsid su -s /bin/sh munge -c 'munged --force' >/dev/null 2>&1
    cat >"$conf" <<END
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
AuthType=auth/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/linear
NodeName=s[1-$nodes] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[17001-$((17000 + nodes))] CPUs=$(nproc)
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8 State=UP
END
    slurmctld
    for k in $(seq "$nodes"); do
        mkdir -p "$folder/spool/s$k"
        slurmd -N "s$k"
    done
    for _ in $(seq 1500); do
        ready=$(sinfo -h -N -o %t 2>/dev/null | grep -c idle || true)
        [ "$ready" = "$nodes" ] && exit 0
        sleep 0.2
    done
    echo "slurm.sh: not every node is idle" >&2
    sinfo >&2 || true
    exit 1
    ;;
down)
    pids=
    for file in "$folder"/slurmd-*.pid "$folder"/slurmctld.pid; do
        if [ -e "$file" ]; then pids="$pids $(cat "$file")"; fi
    done
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    # The next one wants the ports.
    for pid in $pids; do
        for _ in $(seq 600); do
            kill -0 "$pid" 2>/dev/null || continue 2
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
    done
    ;;
*)
    sed -n '2,7p' "$0" >&2
    exit 2
    ;;
esac
