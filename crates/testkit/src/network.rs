//! Network namespaces, and a veth link between two of them that can be cut. Creating them needs root.

use std::ffi::OsStr;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::{Context, Error, Result};
use crate::process::Process;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A network namespace, kept alive by a process until dropped.
pub struct Network(Process);

impl Network {
    /// Creates it and runs a shell script in it.
    pub fn start(name: &str, script: &str) -> Result<Self> {
        let mut command = Command::new("unshare");
        let script = format!("ip link set lo up\n{script}\necho network is up\nexec sleep infinity");
        command.args(["--net", "--", "sh", "-ec", &script]);
        let keeper = Process::start(name, command)?;
        keeper.wait_for_line("network is up", TIMEOUT)?;
        Ok(Self(keeper))
    }

    /// The process that keeps it alive; `ip` accepts it as `netns`.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// For `nsenter --net`.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.pid()))
    }

    /// Moves this thread into the namespace, permanently. Its sockets stay there whichever thread uses them.
    pub fn enter(&self) -> Result<()> {
        enter(&self.path())
    }

    /// Runs `work` in the namespace, on its own thread.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let entered = || {
            self.enter().unwrap_or_else(|error| panic!("{error}"));
            work()
        };
        std::thread::scope(|scope| {
            scope.spawn(entered).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A host in this namespace for a server.
    pub fn host(&self, address: Ipv4Addr) -> Host {
        Host { namespace: Some(self.path()), address }
    }

    fn ip(&self, words: &str) -> Result<()> {
        let mut command = command_in(Some(&self.path()), "ip");
        let output = command.args(words.split(' ')).output().context("ip")?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::new(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr)))),
        }
    }
}

/// Moves this thread into the namespace at this [`Network::path`].
pub fn enter(path: &Path) -> Result<()> {
    let namespace = File::open(path).context(path.display())?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).context(path.display())
}

/// Where a server runs: a network namespace and its address there. To wait for a server that is not on this machine's
/// loopback, a thread must have entered a namespace with a route to it.
#[derive(Clone, Debug)]
pub struct Host {
    namespace: Option<PathBuf>,
    pub address: Ipv4Addr,
}

impl Default for Host {
    fn default() -> Self {
        Self { namespace: None, address: Ipv4Addr::LOCALHOST }
    }
}

impl Host {
    /// A command that runs in this namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        command_in(self.namespace.as_ref(), program)
    }
}

fn command_in(namespace: Option<&PathBuf>, program: impl AsRef<OsStr>) -> Command {
    let Some(namespace) = namespace else { return Command::new(program) };
    // nsenter execs the program, so the process id is the program's own.
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespace.display())).arg("--").arg(program);
    command
}

/// One end of a link.
#[derive(Clone, Copy, Debug)]
struct End {
    device: &'static str,
    address: Ipv4Addr,
    mac: &'static str,
}

const NODE: End = End { device: "pod", address: Link::NODE, mac: "02:00:00:00:00:01" };
const POD: End = End { device: "eth0", address: Link::POD, mac: "02:00:00:00:00:02" };

/// An unused MAC address: the other end silently drops frames sent to it.
const UNUSED_MAC: &str = "02:00:00:00:00:ff";

/// A veth link between the network namespaces of a node and a pod.
pub struct Link {
    pub node: Network,
    pub pod: Network,
}

impl Link {
    pub const NODE: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 1);
    pub const POD: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 2);

    /// Creates two namespaces with a link between them.
    pub fn create() -> Result<Self> {
        let link = Self { node: Network::start("the node", "")?, pod: Network::start("the pod", "")? };
        link.pod.ip(&format!(
            "link add name {} address {} type veth peer name {} address {} netns {}",
            POD.device,
            POD.mac,
            NODE.device,
            NODE.mac,
            link.node.pid()
        ))?;
        for (network, end) in [(&link.node, NODE), (&link.pod, POD)] {
            network.ip(&format!("addr add {}/24 dev {}", end.address, end.device))?;
            network.ip(&format!("link set {} up", end.device))?;
        }
        link.restore()?;
        Ok(link)
    }

    /// Drops all packets in both directions, unnoticed by either end: interfaces stay up, sends succeed, connections
    /// stay open.
    pub fn cut(&self) -> Result<()> {
        self.set_neighbours([UNUSED_MAC, UNUSED_MAC])
    }

    /// Lets packets through again.
    pub fn restore(&self) -> Result<()> {
        self.set_neighbours([POD.mac, NODE.mac])
    }

    /// Sets the neighbour entries of node and pod.
    fn set_neighbours(&self, mac: [&str; 2]) -> Result<()> {
        for ((network, end), (other, mac)) in
            [(&self.node, NODE), (&self.pod, POD)].into_iter().zip([POD, NODE].into_iter().zip(mac))
        {
            let (address, device) = (other.address, end.device);
            network.ip(&format!("neigh replace {address} lladdr {mac} dev {device} nud permanent"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{self, Failure, Outcome};
    use std::net::UdpSocket;

    /// A cut shows as a timeout, not as an error.
    #[test]
    fn cut_link_times_out_and_restores() {
        let link = match Link::create() {
            Ok(link) => link,
            Err(why) => {
                assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "no namespaces here: {why}");
                println!("skipped: no namespaces here: {why}");
                return;
            }
        };
        let socket = link.node.within(|| UdpSocket::bind((Link::NODE, 5300)).unwrap());
        std::thread::spawn(move || {
            loop {
                let (n, from) = socket.recv_from(&mut [0; 64]).unwrap();
                socket.send_to(&[n as u8], from).unwrap();
            }
        });
        let query = || {
            let timeout = Duration::from_millis(300);
            link.pod.within(|| client::udp((Link::NODE, 5300).into(), b"abc", timeout, 0)).unwrap()
        };
        let (answered, timed_out) = (Outcome::Reply(vec![3]), Outcome::NoAnswer(Failure::TimedOut));
        assert_eq!(query(), answered);
        for _ in 0..2 {
            link.cut().unwrap();
            assert_eq!(query(), timed_out);
            link.restore().unwrap();
            assert_eq!(query(), answered);
        }
    }
}
