#!/bin/sh
# Machines of a cluster on one machine: network namespaces, each with its own name and its own sshd, on one bridge.
#
#   cluster.sh up FOLDER NAME COUNT      makes NAME-1 ... NAME-COUNT; their addresses are in FOLDER/hosts
#   cluster.sh cut FOLDER NAME NUMBER    takes the cable out of one of them
#   cluster.sh down FOLDER NAME          ends all of it
#
# FOLDER/ssh_config lets ssh in without a password and without touching anyone's keys. NAME has at most eight letters, and its hash
# chooses the network, so that two clusters do not meet. Needs root, iproute2, openssh-server and util-linux.
set -eu

act=$1 folder=$2 name=$3
net=$(printf '%s' "$name" | cksum | awk '{ print 16 + $1 % 200 }')
bridge="$name-br"

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
    ConnectTimeout 5
    SetEnv PATH=$PATH
END
    ip link add "$bridge" type bridge
    ip addr add "10.77.$net.254/24" dev "$bridge"
    ip link set "$bridge" up
    # Docker has the kernel drop what goes from one port of a bridge to another, unless it is allowed.
    if command -v iptables >/dev/null; then iptables -I FORWARD -i "$bridge" -o "$bridge" -j ACCEPT; fi
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
            >"$folder/$space.log" 2>&1 &
        echo $! >>"$folder/pids"
        echo "10.77.$net.$k slots=64" >>"$folder/hosts"
    done
    # Ready when each has answered.
    for k in $(seq "$count"); do
        for _ in $(seq 100); do
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
    for space in $(ip netns list | awk '{ print $1 }' | grep "^$name-[0-9]*$" || true); do
        ip netns pids "$space" | xargs -r kill -KILL 2>/dev/null || true
        ip link del "$name-v${space#"$name"-}" 2>/dev/null || true
        ip netns del "$space" || true
    done
    ip link del "$bridge" 2>/dev/null || true
    if command -v iptables >/dev/null; then iptables -D FORWARD -i "$bridge" -o "$bridge" -j ACCEPT 2>/dev/null || true; fi
    ;;
*)
    sed -n '2,12p' "$0" >&2
    exit 2
    ;;
esac
