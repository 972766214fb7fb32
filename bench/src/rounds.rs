//! One workload from its first server to its last number.
//!
//! ```text
//! start all ─→ do they agree? ─→ what can CoreDNS do? ─→ rounds of: start all, each load, each server
//! ```

use std::time::Duration;

use testkit::error::{Context, Error, Result};

use crate::agree::agree;
use crate::contender::{Contender, Kind};
use crate::measure::{self, Load, Meter, Sample};
use crate::results::Outcome;
use crate::upstream::Upstream;
use crate::workload::{NONE_DENIED, Turn, Workload};

/// How much is measured.
#[derive(Clone, Copy)]
pub struct Plan {
    pub rounds: u32,
    pub seconds: u64,
}

/// What came out, and which servers did not take part, with the reason.
pub struct Measured {
    pub outcome: Outcome,
    pub missing: Vec<String>,
}

pub fn measure(
    workload: &Workload,
    upstream: &Upstream,
    plan: Plan,
    progress: impl Fn(&str),
) -> Result<Measured> {
    let meter = Meter { workload, upstream, duration: Duration::from_secs(plan.seconds) };
    let mut turns = 0;
    let mut next_turn = |load| {
        turns += 1;
        meter.turn(turns, load)
    };

    let first = next_turn(Load::Saturation);
    let (contenders, missing) = start(workload.contenders, &meter, &first);
    agree(&contenders, &next_turn(Load::Saturation).questions)?;

    // The fixed load follows from what CoreDNS can do, so that it is below everybody's saturation.
    let slowest = contenders.iter().find(|c| c.kind() == Kind::CoreDns).or_else(|| contenders.first());
    let Some(slowest) = slowest else {
        return Err(Error::new(format!("no server at all: {}", missing.join("; "))));
    };
    let most = meter.sample(slowest, &next_turn(Load::Saturation), Load::Saturation)?.queries_per_second;
    let rate = (most / 2.0) as u32;
    progress(&format!("{} does {most:.0} queries/s; half of it is the fixed load", slowest.kind().name()));
    let ceiling = ceiling(&meter, &first)?;
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
    for round in 1..=plan.rounds {
        // New processes, so that chance in one of them, such as where its memory lies, lasts one round only.
        let (contenders, failed) = start(&kinds, &meter, &first);
        if !failed.is_empty() {
            return Err(Error::new(failed.join("; ")));
        }
        for &load in &loads {
            let turn = next_turn(load);
            // One after another within a round, so that whatever else the machine does hits all alike.
            for contender in &contenders {
                let sample = meter.sample(contender, &turn, load)?;
                let name = contender.kind().name();
                progress(&format!("round {round}/{}, {load}, {name}: {sample}", plan.rounds));
                samples.push((contender.kind(), load, sample));
            }
        }
    }
    Ok(Measured { outcome: Outcome::new(workload, rate, ceiling, samples), missing })
}

/// Those that started, and why others did not. `turn` lends a question to see that they answer.
fn start(kinds: &[Kind], meter: &Meter, turn: &Turn) -> (Vec<Contender>, Vec<String>) {
    let (mut started, mut failed) = (Vec::new(), Vec::new());
    for &kind in kinds {
        match Contender::start(kind, meter.workload, meter.upstream.addr(), turn.probe()) {
            Ok(contender) => started.push(contender),
            Err(error) => failed.push(format!("{} in {}: {error}", kind.name(), meter.workload.name)),
        }
    }
    (started, failed)
}

/// Queries per second that the upstream answers when dnsperf asks it without a server between: where every query is
/// forwarded, a server that comes near is held up by them, not by itself.
fn ceiling(meter: &Meter, turn: &Turn) -> Result<Option<f64>> {
    match &meter.workload.forwarded {
        Some(share) if !share.contains(&0.0) => {
            let summary =
                measure::ask(meter.upstream.addr(), turn, Load::Saturation, meter.duration, &NONE_DENIED)
                    .context("the upstream")?;
            Ok(Some(summary.queries_per_second))
        }
        _ => Ok(None),
    }
}
