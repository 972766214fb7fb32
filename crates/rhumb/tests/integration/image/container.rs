//! A minimal container runtime: network namespaces for a pod and its node, and in the pod's a process with its own PID and
//! mount namespaces and root, and only the privileges of its security context.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testkit::Result;
use testkit::client::{self, Transport};
use testkit::cluster::objects::text;
use testkit::dns_server;
use testkit::message::{Message, Record};
use testkit::network::Network;
use testkit::process::Process;
use wire::{NameBuf, Query, Rtype};

use super::archive::Image;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The network namespaces of a pod and its node, with a veth link. Low ports need a capability.
pub struct Sandbox {
    pub node: Network,
    pod: Network,
}

pub const NODE: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 1);
const POD: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 2);

impl Sandbox {
    pub fn start() -> Result<Self> {
        let node = Network::start("the node", "")?;
        let path = node.path().display().to_string();
        let script = format!(
            "grep -qx 1024 /proc/sys/net/ipv4/ip_unprivileged_port_start
            ip link add name eth0 type veth peer name pod netns {}
            ip addr add {POD}/24 dev eth0
            ip link set eth0 up
            nsenter --net={path} ip addr add {NODE}/24 dev pod
            nsenter --net={path} ip link set pod up",
            node.pid()
        );
        Ok(Self { node, pod: Network::start("the pod", &script)? })
    }

    /// The response of an HTTP GET to a port of the pod.
    pub fn get(&self, port: u16, path: &str) -> Option<String> {
        self.pod.within(|| dns_server::get(port, path).ok())
    }

    fn query(&self, name: &str, transport: Transport) -> Option<Message> {
        let query = Query::ask(NameBuf::parse(name).unwrap().as_name(), Rtype::A).to_packet();
        let outcome =
            self.node.within(|| client::query((POD, 53).into(), transport, &query, Duration::from_secs(5)));
        outcome.unwrap_or_else(|error| panic!("{error}")).reply().map(Message::decode)
    }

    pub fn answers(&self, name: &str) -> bool {
        self.query(name, Transport::Udp).is_some()
    }

    /// The addresses of a name.
    pub fn addresses(&self, name: &str, transport: Transport) -> Vec<Ipv4Addr> {
        let records = self.query(name, transport).map(|message| message.answer).unwrap_or_default();
        let address = |record: &Record| <[u8; 4]>::try_from(record.rdata.as_slice()).ok().map(Ipv4Addr::from);
        records.iter().filter_map(address).collect()
    }
}

/// A read-only mount in the container's root.
pub struct Mount {
    source: PathBuf,
    target: &'static str,
}

impl Mount {
    pub fn new(source: &Path, target: &'static str) -> Self {
        Self { source: source.to_owned(), target }
    }
}

/// The runtime specification promises these and a few more.
const DEVICES: [&str; 4] = ["null", "random", "urandom", "zero"];

pub struct Container {
    process: Process,
}

impl Container {
    /// Runs the image with the arguments that kubeadm gives CoreDNS.
    pub fn start(image: &Image, sandbox: &Sandbox, mounts: &[Mount], environment: &[String]) -> Self {
        Self::start_changed(image, |_| (), sandbox, mounts, environment)
    }

    /// The same after changing the root.
    pub fn start_changed(
        image: &Image,
        change: impl FnOnce(&PathBuf),
        sandbox: &Sandbox,
        mounts: &[Mount],
        environment: &[String],
    ) -> Self {
        let root = image.unpack();
        change(&root);
        make_mount_points(&root, mounts);
        let script = script(image, &root, mounts, environment);
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", sandbox.pod.path().display()));
        // The outer PID namespace ends with this process, and everything in it; in the inner one the server is process
        // 1, as in a container.
        command.args(["--", "unshare", "--mount", "--pid", "--kill-child", "--fork"]);
        command.args(["--", "unshare", "--pid", "--fork", "--", "sh", "-ec", &script]);
        let process = Process::start("the container", command).unwrap_or_else(|error| panic!("{error}"));
        Self { process }
    }

    pub fn output(&self) -> String {
        self.process.output()
    }

    pub fn wait_for_line(&self, line: &str) {
        self.process.wait_for_line(line, TIMEOUT).unwrap_or_else(|error| panic!("{error}"));
    }

    pub fn wait_until(&self, what: &str, condition: impl Fn() -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !condition() {
            let ended = self.process.exit_status();
            assert!(ended.is_none() && Instant::now() < deadline, "never: {what}\n{}", self.output());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.server(), signal).unwrap();
    }

    /// Its exit code.
    pub fn wait(&self, timeout: Duration) -> Option<i32> {
        self.process.wait(timeout).unwrap_or_else(|error| panic!("{error}\n{}", self.output())).code()
    }

    /// A field of the server's /proc/PID/status.
    pub fn status(&self, field: &str) -> String {
        let status = std::fs::read_to_string(self.file("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(":\t"));
        line.unwrap_or_default().trim_end().to_owned()
    }

    pub fn root_is_read_only(&self) -> bool {
        let mounts = std::fs::read_to_string(self.file("mountinfo")).unwrap();
        // 36 35 98:0 /mnt1 / ro,noatime - ext3 /dev/root rw
        let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/")).unwrap();
        root.split(' ').nth(5).unwrap().split(',').any(|option| option == "ro")
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.server().as_raw_pid())
    }

    /// The server's process id in our namespace: the innermost descendant.
    fn server(&self) -> Pid {
        let mut pid = self.process.pid();
        loop {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
            match children.split_whitespace().next().and_then(|child| child.parse().ok()) {
                Some(child) => pid = child,
                None => break,
            }
        }
        let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        assert_eq!(command.trim(), "rhumb", "{}", self.output());
        i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap()
    }
}

/// As runtimes do.
fn make_mount_points(root: &Path, mounts: &[Mount]) {
    for folder in ["dev", "proc"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    for device in DEVICES {
        std::fs::write(root.join("dev").join(device), "").unwrap();
    }
    for Mount { source, target } in mounts {
        let target = root.join(target);
        if source.is_dir() {
            std::fs::create_dir_all(target).unwrap();
        } else {
            std::fs::write(target, "").unwrap();
        }
    }
}

/// Mounts, then drops all privileges except those runc leaves with `drop: [ALL]` and `add: [NET_BIND_SERVICE]`:
/// that capability in the bounding and permitted sets, none inheritable and none ambient.
fn script(image: &Image, root: &Path, mounts: &[Mount], environment: &[String]) -> String {
    let root = root.display();
    let mut script = format!("mount --bind {root} {root}\nmount -t proc proc {root}/proc\n");
    for device in DEVICES {
        script += &format!("mount --bind /dev/{device} {root}/dev/{device}\n");
    }
    for Mount { source, target } in mounts {
        let (source, target) = (source.display(), format!("{root}/{target}"));
        script += &format!("mount --bind {source} {target}\nmount -o remount,bind,ro {target}\n");
    }
    let (user, group) = text(&image.config, "/config/User").split_once(':').unwrap();
    let mut variables = image.words("/config/Env");
    variables.extend(environment.iter().map(String::as_str));
    let variables = variables.join(" ");
    let entrypoint = image.words("/config/Entrypoint").join(" ");
    script += &format!(
        "mount -o remount,bind,ro,suid {root}
all=$(sed -n 's/^CapBnd:\\t//p' /proc/self/status)
others=$(capsh --decode=$(printf %x $((0x$all & ~0x400))) | cut -d= -f2)
exec env -i {variables} \"$(command -v capsh)\" --drop=\"$others\" --chroot={root} --gid={group} --groups={group} \
--keep=1 --uid={user} --caps=cap_net_bind_service=p --no-new-privs --shell={entrypoint} \
-- -conf /etc/coredns/Corefile\n"
    );
    script
}
