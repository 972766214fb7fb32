//! Networks apart from the machine's own, each a namespace of the kernel's, and a cable between two of them that can be
//! cut. Only root may make them.

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

const PATIENCE: Duration = Duration::from_secs(30);

/// A network that lives as long as this: a process holds it.
pub struct Network(Process);

impl Network {
    /// Sets it up with the commands of a shell script.
    pub fn start(name: &str, script: &str) -> Result<Self> {
        let mut command = Command::new("unshare");
        let script = format!("ip link set lo up\n{script}\necho it is up\nexec sleep infinity");
        command.args(["--net", "--", "sh", "-ec", &script]);
        let holder = Process::start(name, command)?;
        holder.wait_for_line("it is up", PATIENCE)?;
        Ok(Self(holder))
    }

    /// The process that holds it; `ip` takes it for the name of a network.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// What `nsenter` takes.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.pid()))
    }

    /// Takes this thread in here, for good. Sockets that it makes stay in here, wherever they are used then.
    pub fn enter(&self) -> Result<()> {
        enter(&self.path())
    }

    /// Runs something in here, on a thread of its own.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let entered = || {
            self.enter().unwrap_or_else(|error| panic!("{error}"));
            work()
        };
        std::thread::scope(|scope| {
            scope.spawn(entered).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// A place in here for a server.
    pub fn place(&self, address: Ipv4Addr) -> Place {
        Place { namespace: Some(self.path()), address }
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

/// The same for a network of this [`Network::path`].
pub fn enter(path: &Path) -> Result<()> {
    let namespace = File::open(path).context(path.display())?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).context(path.display())
}

/// Where a server runs: a network, and the address that others reach it by. Whoever starts one elsewhere than on this
/// machine's loopback waits for it on a thread that has entered a network with a way there.
#[derive(Clone, Debug)]
pub struct Place {
    namespace: Option<PathBuf>,
    pub address: Ipv4Addr,
}

impl Default for Place {
    fn default() -> Self {
        Self { namespace: None, address: Ipv4Addr::LOCALHOST }
    }
}

impl Place {
    /// A command that runs there.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        command_in(self.namespace.as_ref(), program)
    }
}

fn command_in(namespace: Option<&PathBuf>, program: impl AsRef<OsStr>) -> Command {
    let Some(namespace) = namespace else { return Command::new(program) };
    // It becomes the program, so the process id is the program's own.
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", namespace.display())).arg("--").arg(program);
    command
}

/// One end of a cable, with an address on it.
#[derive(Clone, Copy, Debug)]
struct End {
    device: &'static str,
    address: Ipv4Addr,
    hardware: &'static str,
}

const NODE: End = End { device: "pod", address: Cable::NODE, hardware: "02:00:00:00:00:01" };
const POD: End = End { device: "eth0", address: Cable::POD, hardware: "02:00:00:00:00:02" };

/// Nobody's. What is sent there arrives at the other end and is not taken, without a word.
const NOBODY: &str = "02:00:00:00:00:ff";

/// A cable between the networks of a node and a pod.
pub struct Cable {
    pub node: Network,
    pub pod: Network,
}

impl Cable {
    pub const NODE: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 1);
    pub const POD: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 2);

    /// Two new networks with a cable between them.
    pub fn lay() -> Result<Self> {
        let cable = Self { node: Network::start("the node", "")?, pod: Network::start("the pod", "")? };
        cable.pod.ip(&format!(
            "link add name {} address {} type veth peer name {} address {} netns {}",
            POD.device,
            POD.hardware,
            NODE.device,
            NODE.hardware,
            cable.node.pid()
        ))?;
        for (network, end) in [(&cable.node, NODE), (&cable.pod, POD)] {
            network.ip(&format!("addr add {}/24 dev {}", end.address, end.device))?;
            network.ip(&format!("link set {} up", end.device))?;
        }
        cable.mend()?;
        Ok(cable)
    }

    /// From now on nothing comes through, in either direction, and neither end can tell: links stay up, sending goes
    /// well, connections stay open.
    pub fn cut(&self) -> Result<()> {
        self.point([NOBODY, NOBODY])
    }

    /// Everything comes through again.
    pub fn mend(&self) -> Result<()> {
        self.point([POD.hardware, NODE.hardware])
    }

    /// Says where node and pod find each other.
    fn point(&self, hardware: [&str; 2]) -> Result<()> {
        for ((network, end), (other, hardware)) in
            [(&self.node, NODE), (&self.pod, POD)].into_iter().zip([POD, NODE].into_iter().zip(hardware))
        {
            let (address, device) = (other.address, end.device);
            network.ip(&format!("neigh replace {address} lladdr {hardware} dev {device} nud permanent"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{self, Outcome, Silence};
    use std::net::UdpSocket;

    /// What comes back over the cable: with one answer per question, a cut is silence and no error.
    #[test]
    fn a_cut_cable_is_silent_and_comes_back() {
        let cable = match Cable::lay() {
            Ok(cable) => cable,
            Err(why) => {
                assert!(std::env::var_os("RHUMB_PEERS_REQUIRED").is_none(), "no namespaces here: {why}");
                println!("skipped: no namespaces here: {why}");
                return;
            }
        };
        let socket = cable.node.within(|| UdpSocket::bind((Cable::NODE, 5300)).unwrap());
        std::thread::spawn(move || {
            loop {
                let (n, from) = socket.recv_from(&mut [0; 64]).unwrap();
                socket.send_to(&[n as u8], from).unwrap();
            }
        });
        let ask = || {
            let patience = Duration::from_millis(300);
            cable.pod.within(|| client::udp((Cable::NODE, 5300).into(), b"abc", patience, 0)).unwrap()
        };
        let (answered, silent) = (Outcome::Reply(vec![3]), Outcome::NoAnswer(Silence::TimedOut));
        assert_eq!(ask(), answered);
        for _ in 0..2 {
            cable.cut().unwrap();
            assert_eq!(ask(), silent);
            cable.mend().unwrap();
            assert_eq!(ask(), answered);
        }
    }
}
