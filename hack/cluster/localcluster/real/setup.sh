# Makes the inside of the node's namespaces a machine of its own. It runs there once, before anything else.
set -eu

# Folders that the node's programs take for granted. (Without -n, mount would first make a folder in
# the machine's /run.)
mount -n -t tmpfs -o mode=755 tmpfs /run
mount --make-rshared / # containers may ask to see later mounts
mount -t proc proc /proc
mount --bind '{{.NodeFolder}}/lib' /var/lib
mount --bind '{{.NodeFolder}}/log' /var/log

# The kubelet changes these settings, which are the machine's. On the node they are copies.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  original=/proc/sys/${setting%=*} copy=/run/settings/${setting%=*}
  [ -e "$original" ] || continue
  mkdir -p "${copy%/*}"
  echo "${setting#*=}" >"$copy"
  mount --bind "$copy" "$original"
done

# The control group of all pods.
cd /sys/fs/cgroup
if [ -e cgroup.controllers ]; then
  for controller in $(cat cgroup.controllers); do
    echo "+$controller" >cgroup.subtree_control || true # the kubelet says so when it misses one
  done
  mkdir -p '{{.ControlGroup}}'
else
  for hierarchy in */; do
    mkdir -p "${hierarchy}{{.ControlGroup}}"
  done
  for file in cpuset.cpus cpuset.mems; do # a new group has none, and nothing could run in it
    cat "cpuset/$file" >"cpuset/{{.ControlGroup}}/$file"
  done
fi

# The network. Packets between two pods pass the bridge; they are to pass the packet filter too, or
# answers of a pod behind a Service would come from the wrong address.
ip link set dev lo up
ip address add '{{.NodeAddress}}/24' dev '{{.NodeLink}}'
ip link set dev '{{.NodeLink}}' up
echo 1 >/proc/sys/net/ipv4/ip_forward
[ -e /proc/sys/net/bridge ] || modprobe br_netfilter
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

touch '{{.Mark}}'
