//! Our own command line, as clap reads it. The texts here are the manual page and the help.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// A DNS server that takes CoreDNS's Corefile.
///
/// Started with CoreDNS's own flags, or without any arguments, rhumb does what CoreDNS does: it serves the Corefile
/// named by -conf, or ./Corefile, or a default that tells clients their own address. The subcommands are for people.
#[derive(Parser)]
#[command(
    name = "rhumb",
    version,
    disable_version_flag = true,
    subcommand_required = true,
    max_term_width = 100
)]
#[command(
    after_help = "Also understood, as by CoreDNS: -conf FILE, -dns.port N, -p N, -pidfile FILE, -plugins, \
                        -quiet, -version, -log-format text|json"
)]
#[command(after_long_help = "\
Examples:
  rhumb example                          serve a small shop on port 1053 and say what to ask it
  rhumb check Corefile                   is this Corefile all right?
  rhumb check --migrate old/Corefile     the same Corefile in the words of today
  rhumb explain web.shop.example         what does ./Corefile answer to this, and why?
  rhumb serve --conf Corefile            serve it
  rhumb -conf Corefile -dns.port 1053    serve it, in CoreDNS's words

CoreDNS's flags, with one dash or two:
  -conf FILE           the Corefile; `stdin` reads standard input
  -dns.port N, -p N    the port of server blocks that name none (53)
  -log-format FORMAT   text or json
  -pidfile FILE        write the process id there
  -plugins             list the plugins that can be used
  -quiet               print nothing at start
  -version             print the version

Signals: TERM and INT stop (after lameduck), QUIT stops at once, USR1 and HUP reload the Corefile.")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Serve(ServeArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    /// List all plugins in the order of the chain
    ///
    /// A query meets the plugins of its server block in this order, whatever their order in the Corefile.
    Plugins,
    Example(ExampleArgs),
    /// Print completions for a shell
    #[command(after_help = "Example:\n  rhumb completions bash > /etc/bash_completion.d/rhumb")]
    Completions {
        shell: clap_complete::Shell,
    },
    /// Print the manual page of rhumb, or of one of its commands
    #[command(after_help = "Examples:\n  rhumb man | man -l -\n  rhumb man explain > rhumb-explain.1")]
    Man {
        command: Option<String>,
    },
}

/// Serve a Corefile
#[derive(clap::Args)]
pub struct ServeArgs {
    /// The Corefile; `stdin` reads standard input. Default: ./Corefile
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub conf: String,
    /// The port of server blocks that name none
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Write the process id there
    #[arg(long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Print nothing at start
    #[arg(long)]
    pub quiet: bool,
    /// The form of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Say whether Corefiles are all right, without serving them
///
/// Shows every error and warning with its place. The exit code is 1 if there is an error in any of the files.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  rhumb check Corefile
  rhumb check --output json Corefile | jq '.[].diagnostics'
  rhumb check --migrate old/Corefile > Corefile
  kubectl -n kube-system get configmap kube-dns -o yaml | rhumb check --migrate stdin")]
pub struct CheckArgs {
    /// The Corefiles; `stdin` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Print the modern form of an old Corefile
    ///
    /// Words that CoreDNS gave up since version 1.0 are replaced; comments and layout stay. What was changed, where
    /// and why goes to standard error. Takes one file: a Corefile, or a ConfigMap (YAML or JSON) with a Corefile or
    /// with the keys of kube-dns. The exit code is 0 if the result loads.
    #[arg(long)]
    pub migrate: bool,
    /// The port of server blocks that name none
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// The form of the output
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Text)]
    pub output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Say what would be answered to a query, and why
///
/// Takes one query through the server block and the plugins of a Corefile, without opening any port, and shows what
/// each of them decided. Takes at most 10 seconds, whatever does not answer.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  rhumb explain web.shop.example --conf Corefile
  rhumb explain web.shop.example AAAA --conf Corefile --client 10.1.2.3
  rhumb explain web.shop.svc.cluster.local --kubeconfig ~/.kube/config --context test
  rhumb explain version.bind TXT --class CH --conf Corefile

Where a kubernetes plugin reads its cluster, the first of:
  --kubeconfig, --context    replace what the Corefile names, other than manifests
  the Corefile               manifests, kubeconfig or endpoint
  $KUBECONFIG                the first of its files that exists
  the pod                    its service account

Exit codes:
  0    explained; what is shown as missing is missing
  1    wrong usage, a Corefile with errors, or a kubeconfig that cannot be read
  2    a source is not known completely or did not answer in time, so the answer cannot be trusted")]
pub struct ExplainArgs {
    /// The name to ask for
    pub name: String,
    /// The type of record to ask for
    #[arg(value_name = "TYPE", default_value = "A")]
    pub rtype: String,
    /// The Corefile; `stdin` reads standard input. Default: ./Corefile
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub conf: String,
    /// Read the cluster with the credentials in this kubeconfig, whatever the Corefile says
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one if not given
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Who asks
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub client: IpAddr,
    /// Ask over TCP instead of UDP
    #[arg(long)]
    pub tcp: bool,
    /// The class to ask in
    #[arg(long, value_name = "CLASS", default_value = "IN")]
    pub class: String,
    /// The listener to ask, such as `:53` or `127.0.0.1:53`; the first one if not given
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<String>,
    /// The port of server blocks that name none
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// The form of the output
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Output::Text)]
    pub output: Output,
}

/// Serve a small example and say what to ask it
///
/// Needs no file and no privileges. The Corefile is examples/shop/Corefile of the source tree.
#[derive(clap::Args)]
pub struct ExampleArgs {
    /// The port to serve on, and two more for health and readiness after it; 0 takes free ones
    #[arg(long, value_name = "N", default_value_t = 1053, value_parser = clap::value_parser!(u16).range(..=65533))]
    pub port: u16,
    /// Print the Corefile instead of serving it
    #[arg(long)]
    pub print: bool,
}
