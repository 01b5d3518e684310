# Functions of the scripts that prepare a suite: a root file system of the machine's own release, and an image of the same files.
# Read by `.`; it does nothing by itself.
#
# Set before: `name`, said in front of every line.

say() { printf '%s: %s\n' "$name" "$*" >&2; }

must_be_root() {
    [ "$(id -u)" = 0 ] || { say "needs root: sudo sh $0"; exit 1; }
}

# install PACKAGE...
install_packages() {
    command -v apt-get >/dev/null || { say "install by hand: $*"; exit 1; }
    say "installing $*"
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2
}

# What debootstrap needs to know of this machine: `release`, `components`, and the package of its keys, `keyring`.
know_release() {
    . /etc/os-release
    case ${ID:-} in
        debian) release=$VERSION_CODENAME components=main keyring=debian-archive-keyring ;;
        ubuntu) release=$VERSION_CODENAME components=main,universe keyring=ubuntu-keyring ;;
        *) release=bookworm components=main keyring=debian-archive-keyring
           say "this machine is neither Debian nor Ubuntu: its native programs will differ from those of the root" ;;
    esac
}

# make_root FOLDER PACKAGES [MIRROR]: kept where it is there. Its variables stand beside it, in FOLDER.env.
make_root() {
    if [ -e "$1/etc/os-release" ]; then
        say "keeping $1"
    else
        say "making $1 ($release, $(dpkg --print-architecture 2>/dev/null || uname -m))"
        mkdir -p "$(dirname -- "$1")"
        # Made aside and renamed: a root is there whole, or it is not there.
        rm -rf --one-file-system -- "$1.new"
        # shellcheck disable=SC2086
        debootstrap --variant=minbase --components="$components" --include="$2" "$release" "$1.new" ${3:-} >"$1.log" 2>&1 || {
            tail -n 5 "$1.log" >&2
            say "debootstrap failed; its whole output is in $1.log"
            exit 1
        }
        rm -rf -- "$1.new/var/cache/apt/archives" "$1.new/var/lib/apt/lists" "$1.log"
        mv -- "$1.new" "$1"
    fi
    printf '%s\n' 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' 'LANG=C.UTF-8' >"$1.env"
}

# import_image FOLDER TAG: made anew where the root is another one than the image was made of.
import_image() {
    if ! command -v docker >/dev/null 2>&1 || ! docker version >/dev/null 2>&1; then
        say "no Docker engine answers: the environment docker of the suite will be refused"
        return
    fi
    hash=$(sha256sum "$1/var/lib/dpkg/status" | cut -d ' ' -f 1)
    have=$(docker image inspect -f '{{index .Config.Labels "org.sparkbench.root"}}' "$2" 2>/dev/null || true)
    if [ "$hash" = "$have" ]; then
        say "keeping the image $2"
    else
        say "importing $1 as $2"
        root=$1 tag=$2
        set --
        while read -r variable; do set -- "$@" --change "ENV $variable"; done <"$root.env"
        tar -C "$root" --one-file-system --exclude=./sparkbench -c . |
            docker import "$@" --change "LABEL org.sparkbench.root=$hash" - "$tag" >/dev/null
        set -- "$root" "$tag"
    fi
    docker image inspect -f '{{.Id}}' "$2"
}
