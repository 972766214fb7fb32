//! Measures one workload.
//!
//! ```text
//! start all ─→ compare answers ─→ CoreDNS's capacity ─→ rounds of: start all, each load, each server
//! ```

use testkit::error::{Context, Error, Result};

use crate::agree::agree;
use crate::contender::{Contender, Kind};
use crate::load::{Client, Load};
use crate::measure::{Meter, Sample};
use crate::results::Outcome;
use crate::workload::{NONE_DENIED, Turn};

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Plan {
    pub rounds: u32,
    pub seconds: u64,
}

/// The outcome, and the missing servers with the reason.
pub struct Measured {
    pub outcome: Outcome,
    pub missing: Vec<String>,
}

pub fn measure(meter: &Meter, rounds: u32, progress: impl Fn(&str)) -> Result<Measured> {
    let workload = meter.workload;
    let mut turns = Turns { meter, given: 0 };

    let first = turns.next(Load::Saturation);
    let (contenders, missing) = start(workload.contenders, meter, &first);
    let octets = agree(&contenders, &turns.next(Load::Saturation).questions)?;

    // The fixed load is half of CoreDNS's capacity, so that it is below every server's.
    let slowest = contenders.iter().find(|c| c.kind() == Kind::CoreDns).or_else(|| contenders.first());
    let Some(slowest) = slowest else {
        return Err(Error::new(format!("no server started: {}", missing.join("; "))));
    };
    let most = turns.sample(slowest, Load::Saturation, None, &progress)?.queries_per_second;
    let rate = (most / 2.0) as u32;
    progress(&format!("{} does {most:.0} queries/s; half of it is the fixed load", slowest.kind().name()));
    let ceiling = ceiling(meter, &first)?;
    if let Some(ceiling) = ceiling {
        progress(&format!("the upstream alone does {ceiling:.0} queries/s"));
    }

    let mut loads = vec![Load::Fixed(rate)];
    if workload.saturation {
        loads.push(Load::Saturation);
    }
    let kinds: Vec<Kind> = contenders.iter().map(Contender::kind).collect();
    drop(contenders);
    let mut samples: Vec<(Kind, Load, Sample)> = Vec::new();
    for round in 1..=rounds {
        // New processes, so that random effects such as memory layout last one round only.
        let (contenders, failed) = start(&kinds, meter, &first);
        if !failed.is_empty() {
            return Err(Error::new(failed.join("; ")));
        }
        for &load in &loads {
            let turn = turns.next(load);
            // In turn within a round, so that other work on the machine affects all equally.
            for contender in &contenders {
                let name = contender.kind().name();
                let progress =
                    |text: &str| progress(&format!("round {round}/{rounds}, {load}, {name}: {text}"));
                let sample = turns.sample(contender, load, Some(&turn), &progress)?;
                progress(&sample.to_string());
                samples.push((contender.kind(), load, sample));
            }
        }
    }
    let outcome = Outcome { octets, ..Outcome::new(workload, rate, ceiling, samples) };
    Ok(Measured { outcome, missing })
}

/// Numbers the turns.
struct Turns<'a> {
    meter: &'a Meter<'a>,
    given: u32,
}

impl Turns<'_> {
    fn next(&mut self, load: Load) -> Turn {
        self.given += 1;
        self.meter.turn(self.given, load)
    }

    /// A measurement with this turn. If it fails, or the load was not reached, it is repeated with new turns: a short
    /// stall of the machine must not cost hours of results.
    fn sample(
        &mut self,
        contender: &Contender,
        load: Load,
        turn: Option<&Turn>,
        progress: &impl Fn(&str),
    ) -> Result<Sample> {
        let mut last = Err(Error::new("no attempt was made"));
        for (attempt, outstanding) in self.meter.outstanding().into_iter().enumerate() {
            let own = if attempt == 0 && turn.is_some() { None } else { Some(self.next(load)) };
            let Some(turn) = own.as_ref().or(turn) else { break };
            match self.meter.sample(contender, turn, load, outstanding) {
                Ok(sample) if load.is_served_by(sample.queries_per_second) => return Ok(sample),
                Ok(sample) => {
                    progress(&format!("retrying: {sample}"));
                    last = Ok(sample);
                }
                Err(error) => {
                    progress(&format!("retrying: {error}"));
                    last = Err(error);
                }
            }
        }
        last
    }
}

/// The servers that started, and why others did not. `turn` has the questions to probe them.
fn start(kinds: &[Kind], meter: &Meter, turn: &Turn) -> (Vec<Contender>, Vec<String>) {
    let (mut started, mut failed) = (Vec::new(), Vec::new());
    for &kind in kinds.iter().filter(|kind| kind.is_included()) {
        match Contender::start(kind, meter.workload, meter.upstream.addr(), turn) {
            Ok(contender) => started.push(contender),
            Err(error) => failed.push(format!("{} in {}: {error}", kind.name(), meter.workload.name)),
        }
    }
    (started, failed)
}

/// Queries per second that the upstream answers when dnsperf queries it directly: where every query is forwarded, this
/// is the limit of any server.
fn ceiling(meter: &Meter, turn: &Turn) -> Result<Option<f64>> {
    match &meter.workload.forwarded {
        Some(share) if !share.contains(&0.0) => {
            let upstream = Client {
                server: meter.upstream.addr(),
                transport: meter.workload.transport,
                outstanding: meter.outstanding()[0],
            };
            let summary =
                upstream.run(turn, Load::Saturation, meter.duration, &NONE_DENIED).context("the upstream")?;
            Ok(Some(summary.queries_per_second))
        }
        _ => Ok(None),
    }
}
