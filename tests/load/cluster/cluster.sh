#!/bin/sh
# Machines of a cluster on one machine: network namespaces, each with its own name and its own sshd, on one bridge.
#
#   cluster.sh up FOLDER NAME COUNT      makes NAME-1 ... NAME-COUNT; their addresses are in FOLDER/hosts
#   cluster.sh cut FOLDER NAME NUMBER    takes the cable out of one of them
#   cluster.sh down FOLDER NAME          ends all of it
#
# FOLDER/ssh_config lets ssh in without a password and without touching anyone's keys. NAME has at most eight letters and is nobody else's.
# Each cluster takes a network that no other one has. What a caller left that was killed is taken away by the next one.
# Needs root, iproute2, openssh-server and util-linux.
set -eu

act=$1 folder=$2 name=$3
bridge="$name-br"

# The machines of a cluster, and the bridge between them.
down() {
    for space in $(ip netns list | awk '{ print $1 }' | grep "^$1-[0-9]*$" || true); do
        # A process that dies may have started another one since the list was made.
        for _ in $(seq 600); do
            left=$(ip netns pids "$space" || true)
            [ -n "$left" ] || break
            echo "$left" | xargs kill -KILL 2>/dev/null || true
            sleep 0.05
        done
        ip link del "$1-v${space#"$1"-}" 2>/dev/null || true
        ip netns del "$space" || true
    done
    ip link del "$1-br" 2>/dev/null || true
    if command -v iptables >/dev/null; then iptables -w -D FORWARD -i "$1-br" -o "$1-br" -j ACCEPT 2>/dev/null || true; fi
}

case $act in
up)
    count=$4
    mkdir -p "$folder" /run/sshd
    [ -e "$folder/key" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
    [ -e "$folder/host_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
    cp "$folder/key.pub" "$folder/authorized"
    chmod 600 "$folder/authorized"
    cat >"$folder/sshd_config" <<END
HostKey $folder/host_key
AuthorizedKeysFile $folder/authorized
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PrintMotd no
AcceptEnv SPARKBENCH_* PATH
MaxStartups 100
END
    cat >"$folder/ssh_config" <<END
Host *
    User root
    IdentityFile $folder/key
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
    BatchMode yes
    ConnectTimeout 60
    SetEnv PATH=$PATH
END
    # One at a time from here on until the network is taken.
    exec 9>/run/sparkbench-cluster.lock
    flock 9
    # The bridge says whose it is: that of the process that called this script.
    for left in /sys/class/net/*-br/ifalias; do
        owner=$(sed -n 's/^sparkbench-test //p' "$left" 2>/dev/null || true)
        if [ -n "$owner" ] && [ ! -d "/proc/$owner" ]; then
            left=${left%-br/ifalias}
            down "${left##*/}" 9>&-
        fi
    done
    net=16
    while ip -4 -o addr show | grep -q " 10\.77\.$net\.254/"; do
        net=$((net + 1))
        [ "$net" -lt 250 ] || { echo "cluster.sh: every network is taken" >&2 && exit 1; }
    done
    ip link add "$bridge" type bridge
    ip link set dev "$bridge" alias "sparkbench-test $PPID"
    ip addr add "10.77.$net.254/24" dev "$bridge"
    ip link set "$bridge" up
    # Docker has the kernel drop what goes from one port of a bridge to another, unless it is allowed.
    if command -v iptables >/dev/null; then iptables -w -I FORWARD -i "$bridge" -o "$bridge" -j ACCEPT; fi
    : >"$folder/hosts"
    : >"$folder/pids"
    for k in $(seq "$count"); do
        space="$name-$k"
        ip netns add "$space"
        ip link add "$name-v$k" type veth peer name eth0 netns "$space"
        ip link set "$name-v$k" master "$bridge" up
        ip -n "$space" addr add "10.77.$net.$k/24" dev eth0
        ip -n "$space" link set lo up
        ip -n "$space" link set eth0 up
        # A name of its own: in a namespace of names.
        setsid ip netns exec "$space" unshare --uts sh -c "hostname $space && exec /usr/sbin/sshd -D -e -f '$folder/sshd_config'" \
            >"$folder/$space.log" 2>&1 9>&- &
        echo $! >>"$folder/pids"
        echo "10.77.$net.$k slots=64" >>"$folder/hosts"
    done
    exec 9>&-
    # Ready when each has answered.
    for k in $(seq "$count"); do
        for _ in $(seq 3000); do
            ssh -F "$folder/ssh_config" "10.77.$net.$k" true 2>/dev/null && continue 2
            sleep 0.1
        done
        echo "cluster.sh: $name-$k does not answer; see $folder/$name-$k.log" >&2
        exit 1
    done
    ;;
cut)
    ip link set "$name-v$4" down
    ;;
down)
    down "$name"
    ;;
*)
    sed -n '2,12p' "$0" >&2
    exit 2
    ;;
esac
