//! `rhumb explain`: one query through a Corefile, with everybody's reasons.

mod present;
mod sources;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use server::{Address, Answered, Client, Config, Service, Transport, config, log, runtime};
use wire::{Class, NameBuf, Query, Rtype};

use super::args::{ExplainArgs, Output};
use super::{complain, print};
use crate::input::Corefile;
use present::{as_json, as_text};

/// Whatever does not answer is given up after this time.
const LIMIT: Duration = Duration::from_secs(10);

/// A source is not known completely, or not in time.
const UNKNOWN: u8 = 2;

/// What the thread that may hang reports to the one that does not.
enum Progress {
    /// What it does next.
    Begins(String),
    Ends(Result<Box<Explained>, String>),
}

/// One query and what came of it.
struct Explained {
    query: Query,
    client: Client,
    listener: String,
    /// The listeners that were not asked, unless the user chose one.
    others: Vec<String>,
    answered: Answered,
}

pub fn main(args: ExplainArgs) -> ExitCode {
    // The query is not a client's: it belongs into no log, and the reasons are told below.
    log::set_output(Box::new(std::io::sink()));
    let (deadline, output) = (Instant::now() + LIMIT, args.output);
    let (sender, progress) = mpsc::channel();
    thread::spawn(move || {
        // Nobody receives it any more once the time is over.
        let begins = |what: String| drop(sender.send(Progress::Begins(what)));
        let ends = explain(&args, &begins).map(Box::new);
        let _ = sender.send(Progress::Ends(ends));
    });
    let mut doing = "starting".to_owned();
    loop {
        match progress.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Progress::Begins(what)) => doing = what,
            Ok(Progress::Ends(Ok(explained))) => return show(&explained, output),
            Ok(Progress::Ends(Err(message))) => return complain(&message),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                complain(&format!("gave up after {}s while {doing}", LIMIT.as_secs()));
                return ExitCode::from(UNKNOWN);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return complain(&format!("panicked while {doing}")),
        }
    }
}

fn show(explained: &Explained, output: Output) -> ExitCode {
    let printed = match output {
        Output::Text => print(as_text(explained).as_bytes()),
        Output::Json => print(format!("{:#}\n", as_json(explained)).as_bytes()),
    };
    if explained.is_complete() { printed } else { ExitCode::from(UNKNOWN) }
}

impl Explained {
    /// Whether the plugins knew all they needed for the answer.
    fn is_complete(&self) -> bool {
        !self.answered.notes.iter().any(|note| note.incomplete)
    }
}

fn explain(args: &ExplainArgs, begins: &dyn Fn(String)) -> Result<Explained, String> {
    let query = query(args)?;
    let shown = if args.conf.is_empty() { "Corefile" } else { &args.conf };
    begins(format!("reading {shown}"));
    let corefile = Corefile::named(&args.conf, &args.dns_port.to_string())?;
    if corefile.is_missing() {
        return Err(
            "no Corefile: there is no ./Corefile; name one with --conf FILE, or pipe it in with --conf stdin"
                .to_owned(),
        );
    }
    if let Some(kubeconfig) = sources::kubeconfig(args)? {
        kubeconfig.choose();
    }
    let config = config::build(&corefile.read()?, plugins::PLUGINS, &corefile::Disk)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let config = Arc::new(config);
    begins(format!("waiting for what the plugins of {shown} answer from"));
    sources::gather(&config)?;
    begins("answering the query".to_owned());
    let (address, service) = listener(&config, args.server.as_deref())?;
    let client = Client {
        remote: SocketAddr::new(args.client, 40000),
        local: SocketAddr::new(address.ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), address.port),
        transport: if args.tcp { Transport::Tcp } else { Transport::Udp },
    };
    let answered = runtime::handle().block_on(service.answer(&query.to_packet(), client));
    let others = match args.server {
        None => config.services().skip(1).map(|(address, _)| address.to_string()).collect(),
        Some(_) => Vec::new(),
    };
    Ok(Explained { query, client, listener: service.label.clone(), others, answered })
}

fn query(args: &ExplainArgs) -> Result<Query, String> {
    let name = NameBuf::parse(&args.name).map_err(|error| format!("{}: {error}", args.name))?;
    let rtype = Rtype::from_mnemonic(&args.rtype)
        .or_else(|| numbered(&args.rtype, "TYPE").map(Rtype))
        .ok_or_else(|| format!("{}: no such type of record", args.rtype))?;
    let mut query = Query::ask(name.as_name(), rtype);
    query.question.qclass = Class::from_mnemonic(&args.class)
        .or_else(|| numbered(&args.class, "CLASS").map(Class))
        .ok_or_else(|| format!("{}: no such class", args.class))?;
    Ok(query)
}

/// `TYPE4711`, `CLASS42`: numbers without a name (RFC 3597).
fn numbered(text: &str, prefix: &str) -> Option<u16> {
    let (start, number) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| number.parse().ok())?
}

/// The listener of that address, or the first.
fn listener<'a>(config: &'a Config, wanted: Option<&str>) -> Result<(&'a Address, &'a Arc<Service>), String> {
    let Some(wanted) = wanted else {
        return config.services().next().ok_or_else(|| "the Corefile has no server block".to_owned());
    };
    let found =
        config.services().find(|(address, service)| service.label == wanted || address.to_string() == wanted);
    found.ok_or_else(|| {
        let known: Vec<String> = config.services().map(|(address, _)| address.to_string()).collect();
        format!("nothing listens on {wanted}; there is {}", known.join(", "))
    })
}
