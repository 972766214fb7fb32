//! The subcommands, as clap parses them. The doc comments are the help and the manual pages.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// A DNS server configured by CoreDNS's Corefile.
///
/// With CoreDNS's flags, or without arguments, rhumb behaves like CoreDNS: it serves the Corefile named by -conf, else
/// ./Corefile, else a default with the plugins whoami and log. The subcommands are Rhumb's own.
#[derive(Parser)]
#[command(
    name = "rhumb",
    version,
    disable_version_flag = true,
    subcommand_required = true,
    max_term_width = 100
)]
#[command(after_help = "CoreDNS's flags: -conf FILE, -dns.port N, -p N, -pidfile FILE, -plugins, \
                        -quiet, -version, -log-format text|json")]
#[command(after_long_help = "\
Examples:
  rhumb example                          serve an example on port 1053 and print queries to try
  rhumb check Corefile                   report errors and warnings in a Corefile
  rhumb check --migrate old/Corefile     replace options that CoreDNS has removed
  rhumb explain web.shop.example         show the answer of ./Corefile to a query, and why
  rhumb serve --conf Corefile            serve a Corefile
  rhumb -conf Corefile -dns.port 1053    the same on port 1053, with CoreDNS's flags

CoreDNS's flags, with one dash or two:
  -conf FILE           Corefile to load; `stdin` reads standard input
  -dns.port N, -p N    port of server blocks without one (53)
  -log-format FORMAT   text or json
  -pidfile FILE        write the process ID to FILE
  -plugins             list the available plugins
  -quiet               print nothing at startup
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
    /// The plugins of a server block handle a query in this order, whatever their order in the Corefile.
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
    /// Corefile to load; `stdin` reads standard input. Default: ./Corefile
    #[arg(long, value_name = "FILE", default_value = "", hide_default_value = true)]
    pub conf: String,
    /// Port of server blocks without one
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Write the process ID to this file
    #[arg(long, value_name = "FILE")]
    pub pidfile: Option<PathBuf>,
    /// Print nothing at startup
    #[arg(long)]
    pub quiet: bool,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Check Corefiles without serving them
///
/// Prints every error and warning with its line. The exit code is 1 if any of the files has an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  rhumb check Corefile
  rhumb check --output json Corefile | jq '.[].diagnostics'
  rhumb check --migrate old/Corefile > Corefile
  kubectl -n kube-system get configmap kube-dns -o yaml | rhumb check --migrate stdin")]
pub struct CheckArgs {
    /// Corefiles to check; `stdin` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Print an old Corefile with removed options replaced
    ///
    /// Replaces plugins and options that CoreDNS removed since version 1.0; comments and layout stay. Each change goes
    /// to standard error with its line and reason. Takes one file: a Corefile, or a ConfigMap (YAML or JSON) with a
    /// Corefile or with the keys of kube-dns. The exit code is 0 if the result loads.
    #[arg(long)]
    pub migrate: bool,
    /// Port of server blocks without one
    #[arg(short = 'p', long, value_name = "N", default_value_t = 53)]
    pub dns_port: u16,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
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
pub struct ExplainArgs {
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

/// Serve a built-in example and print queries to try
///
/// Needs no file and no privileges. The Corefile is examples/shop/Corefile of the source tree.
#[derive(clap::Args)]
pub struct ExampleArgs {
    /// DNS port; the next two are for health and readiness. 0 picks free ports
    #[arg(long, value_name = "N", default_value_t = 1053, value_parser = clap::value_parser!(u16).range(..=65533))]
    pub port: u16,
    /// Print the Corefile instead of serving it
    #[arg(long)]
    pub print: bool,
}
