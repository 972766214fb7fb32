//! `rhumb explain`: runs one query through a Corefile and prints the decision of each plugin.

mod present;
mod sources;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use server::{Address, Client, Config, ExplainedReply, Purpose, Service, Transport, config, log, runtime};
use wire::{Class, NameBuf, Query, Rtype};

use super::{Output, print, print_error};
use crate::input::Corefile;
use present::{as_json, as_text};

/// Limit of the whole command.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Exit code for a data source that is incomplete or did not respond in time.
const EXIT_INCOMPLETE: u8 = 2;

/// Report from the worker thread, which may hang, to the main thread.
enum Progress {
    /// The stage that starts now.
    Stage(String),
    Done(Result<Box<Explanation>, String>),
}

/// A query and the decisions about it.
struct Explanation {
    query: Query,
    client: Client,
    listener: String,
    /// Empty if the user chose a listener.
    other_listeners: Vec<String>,
    answered: ExplainedReply,
}

/// Show the answer to a query, and why
///
/// Runs one query through the server block and the plugins of a Corefile, without opening any port, and prints what
/// each plugin decided. Takes at most 10 seconds, even if a data source does not respond.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  rhumb explain web.shop.example --conf Corefile
  rhumb explain web.shop.example AAAA --conf Corefile --client 10.1.2.3
  rhumb explain web.shop.svc.cluster.local --kubeconfig ~/.kube/config --context test
  rhumb explain version.bind TXT --class CH --conf Corefile

The kubernetes plugin reads its cluster from the first of:
  --kubeconfig, --context    override the Corefile, unless it names manifests
  the Corefile               manifests, kubeconfig or endpoint
  $KUBECONFIG                the first of its files that exists
  the pod                    its service account

Exit codes:
  0    explained from complete data; a name reported as missing does not exist
  1    wrong usage, a Corefile with errors, or an unreadable kubeconfig
  2    a data source is incomplete or did not respond in time; the answer is not reliable")]
pub struct Args {
    /// Name to query
    pub name: String,
    /// Record type to query
    #[arg(value_name = "TYPE", default_value = "A")]
    pub rtype: String,
    /// Corefile to load; `stdin` reads standard input. Default: ./Corefile
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub conf: String,
    /// Read the cluster with this kubeconfig instead of the Corefile's
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Client address of the query
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub client: IpAddr,
    /// Query over TCP instead of UDP
    #[arg(long)]
    pub tcp: bool,
    /// Class of the query
    #[arg(long, value_name = "CLASS", default_value = "IN")]
    pub class: String,
    /// Listener to query, such as `:53` or `127.0.0.1:53`. Default: the first
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<String>,
    /// Port of server blocks without one
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub output: Output,
}

pub fn main(args: Args) -> ExitCode {
    // The query is not a client's, so it must not appear in logs.
    log::set_output(Box::new(std::io::sink()));
    let (deadline, output) = (Instant::now() + TIMEOUT, args.output);
    let (sender, progress) = mpsc::channel();
    thread::spawn(move || {
        // Sending fails only after the timeout.
        let enter_stage = |stage: String| drop(sender.send(Progress::Stage(stage)));
        let result = explain(&args, &enter_stage).map(Box::new);
        let _ = sender.send(Progress::Done(result));
    });
    let mut stage = "starting".to_owned();
    loop {
        match progress.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Progress::Stage(next)) => stage = next,
            Ok(Progress::Done(Ok(explanation))) => return show(&explanation, output),
            Ok(Progress::Done(Err(message))) => return print_error(&message),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                print_error(&format!("timed out after {}s while {stage}", TIMEOUT.as_secs()));
                return ExitCode::from(EXIT_INCOMPLETE);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return print_error(&format!("panicked while {stage}"));
            }
        }
    }
}

fn show(explanation: &Explanation, output: Output) -> ExitCode {
    let printed = match output {
        Output::Text => print(as_text(explanation).as_bytes()),
        Output::Json => print(format!("{:#}\n", as_json(explanation)).as_bytes()),
    };
    if explanation.is_complete() { printed } else { ExitCode::from(EXIT_INCOMPLETE) }
}

impl Explanation {
    /// Whether all data sources of the answer were complete.
    fn is_complete(&self) -> bool {
        !self.answered.notes.iter().any(|note| note.incomplete)
    }
}

fn explain(args: &Args, enter_stage: &dyn Fn(String)) -> Result<Explanation, String> {
    let query = query(args)?;
    let corefile_name = if args.conf.is_empty() { "Corefile" } else { &args.conf };
    enter_stage(format!("reading {corefile_name}"));
    let corefile = Corefile::from_flag(&args.conf, &args.dns_port.to_string())?;
    if corefile.is_missing() {
        return Err("./Corefile does not exist; name one with --conf FILE, or pipe it in with --conf stdin"
            .to_owned());
    }
    if let Some(kubeconfig) = sources::kubeconfig(args)? {
        kubeconfig.choose();
    }
    let config = config::build(&corefile.read()?, plugins::PLUGINS, &corefile::Disk)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let config = Arc::new(config);
    enter_stage(format!("waiting for the data sources of {corefile_name}"));
    sources::wait_for_data(&config)?;
    enter_stage("answering the query".to_owned());
    let (address, service) = listener(&config, args.server.as_deref())?;
    let client = Client {
        remote: SocketAddr::new(args.client, 40000),
        local: SocketAddr::new(address.ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), address.port),
        transport: if args.tcp { Transport::Tcp } else { Transport::Udp },
    };
    let answered = runtime::handle().block_on(service.answer(&query.to_packet(), client, Purpose::Explain));
    let other_listeners = match args.server {
        None => config.services().skip(1).map(|(address, _)| address.to_string()).collect(),
        Some(_) => Vec::new(),
    };
    Ok(Explanation { query, client, listener: service.label.clone(), other_listeners, answered })
}

fn query(args: &Args) -> Result<Query, String> {
    let name = NameBuf::parse(&args.name).map_err(|error| format!("{}: {error}", args.name))?;
    let rtype = Rtype::from_mnemonic(&args.rtype)
        .or_else(|| numbered(&args.rtype, "TYPE").map(Rtype))
        .ok_or_else(|| format!("{}: unknown record type; expected one such as AAAA or TYPE28", args.rtype))?;
    let mut query = Query::ask(name.as_name(), rtype);
    query.question.qclass = Class::from_mnemonic(&args.class)
        .or_else(|| numbered(&args.class, "CLASS").map(Class))
        .ok_or_else(|| format!("{}: unknown class; expected one such as IN, CH or CLASS3", args.class))?;
    Ok(query)
}

/// `TYPE4711`, `CLASS42`: numbers without a mnemonic (RFC 3597).
fn numbered(text: &str, prefix: &str) -> Option<u16> {
    let (start, number) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| number.parse().ok())?
}

/// The listener with that address; without one, the first.
fn listener<'a>(config: &'a Config, server: Option<&str>) -> Result<(&'a Address, &'a Arc<Service>), String> {
    let Some(server) = server else {
        return config.services().next().ok_or_else(|| "the Corefile has no server block".to_owned());
    };
    let found =
        config.services().find(|(address, service)| service.label == server || address.to_string() == server);
    found.ok_or_else(|| {
        let known: Vec<String> = config.services().map(|(address, _)| address.to_string()).collect();
        format!("--server {server}: no such listener; the Corefile has {}", known.join(", "))
    })
}
