#!/usr/bin/env bash
# PID 1 of a lab node, inside its own mount, UTS, IPC, network and PID namespaces.
# Arguments: node directory, base root, host name, profile directory or "".
set -eu
node=$1 base=$2 name=$3 profile=$4
read -r outer_pid _ </proc/self/stat # /proc is still the machine's: the PID that the machine sees

mount --make-rprivate /
# Everything that a node writes lies on a tmpfs and goes with it. The profile is copied there, since a lower
# directory of an overlay may not lie inside another one, and the base may be /.
mount -t tmpfs -o mode=755,size=256m lab "$node/layers"
cd "$node/layers"
mkdir upper scratch root sysfs sys-upper sys-scratch profile
[ -z "$profile" ] || cp -a "$profile/." profile/
lower=$base
[ ! -d profile/rootfs ] || lower=$node/layers/profile/rootfs:$lower
root=$node/layers/root
mount -t overlay -o "lowerdir=$lower,upperdir=$node/layers/upper,workdir=$node/layers/scratch" overlay "$root"
mkdir -p "$root"/{proc,sys,dev,run,tmp,root/.ssh,etc/ssh}

mount -t proc proc "$root/proc"
# An overlay over procfs is refused by the kernel: files that exist there are covered one by one.
if [ -d profile/proc ]; then
  (cd profile/proc && find . -type f) | while read -r file; do
    [ ! -e "$root/proc/$file" ] || mount --bind "$node/layers/profile/proc/$file" "$root/proc/$file" # a network namespace has fewer of them
  done
fi

mount -t sysfs sysfs sysfs
lower=$node/layers/sysfs
[ ! -d profile/sys ] || lower=$node/layers/profile/sys:$lower
mount -t overlay -o "lowerdir=$lower,upperdir=$node/layers/sys-upper,workdir=$node/layers/sys-scratch" overlay "$root/sys"

mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root"/dev/{pts,shm}
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for number in 0 1 2; do ln -s "/proc/self/fd/$number" "$root/dev/$(printf 'stdin\nstdout\nstderr' | sed -n "$((number + 1))p")"; done
mount -t tmpfs -o mode=755 run "$root/run"
mkdir -p "$root/run/sshd"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"

hostname "$name"
echo "$name" >"$root/etc/hostname"
cp "$node/../sshd_config" "$root/etc/ssh/lab_sshd_config"
install -m 600 "$node/../host_key" "$root/etc/ssh/lab_host_key"
install -m 600 "$node/../id.pub" "$root/root/.ssh/authorized_keys"
rm -f "$root"/root/{.bashrc,.profile,.bash_profile,.ssh/config} # a base of / would bring the user's own
ip link set lo up
echo "$outer_pid" >"$node/pid.new" && mv "$node/pid.new" "$node/pid"
cd "$root"
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot . /usr/sbin/sshd -D -f /etc/ssh/lab_sshd_config
