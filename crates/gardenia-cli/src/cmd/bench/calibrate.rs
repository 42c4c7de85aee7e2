//! `gardenia bench --calibrate`: ns per cache line of a query, kind by kind, for `gardenia plan`.
//!
//! Every kind that can be planned is built for the smallest and the largest number of keys, and
//! asked in batches for absent and present keys in equal parts.

use crate::args::BenchArgs;
use crate::cmd::calibration::{Stored, path};
use crate::host::Host;
use crate::keys::Numbers;
use crate::message::hinted;
use crate::progress::Progress;
use crate::{Outcome, human, memory};
use anyhow::Context;
use gardenia::plan::{Calibration, Cost, Design, Need, time_queries};
use gardenia::{Digest, Kind};
use std::io::{self, Write};

/// Queries of a repeat.
const QUERIES: usize = 200_000;

/// Bytes per key while filters are built, at most: keys, and the work of static filters and
/// sketches on them.
const BYTES: u64 = 100;

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<Outcome> {
    let Some(path) = path() else {
        let hint = "set XDG_DATA_HOME or HOME to the full name of a directory";
        return Err(hinted("there is no directory for the calibration", hint));
    };
    let (near, far) = (args.items.iter().min(), args.items.iter().max());
    let (near, far) = (near.copied().unwrap_or(1), far.copied().unwrap_or(1));
    memory::require(far.saturating_mul(BYTES), "calibrating", "lower --items")?;

    let mut calibration = Calibration::default();
    let kinds: Vec<Kind> = calibration.kinds().map(|(kind, _)| kind).collect();
    let mut progress = Progress::steps(2 * kinds.len() as u64);
    let (mut stdout, mut numbers) = (io::stdout().lock(), Numbers::default());
    writeln!(stdout, "ns per query of a batch, half of the keys present\n").context("stdout")?;
    writeln!(stdout, "{:<12}{:>16}{:>16}", "", human::plural(near, "key"), human::plural(far, "key"))
        .context("stdout")?;
    let mut sizes = [0, 0];
    for kind in kinds {
        let mut found = [(f64::NAN, f64::NAN); 2];
        for (size, items) in [near, far].into_iter().enumerate() {
            progress.step(format!("{}, {}", kind.name(), human::plural(items, "key")));
            let design =
                design(kind, items).with_context(|| format!("no {} filter was planned", kind.name()))?;
            let ns = measure(&design, items as usize, args.repeat, &mut numbers)?;
            found[size] = (ns, ns / design.lines);
            if kind == Kind::Blocked {
                sizes[size] = design.bytes;
            }
        }
        let [(near, near_line), (far, far_line)] = found;
        calibration.set(kind, Cost::new(near_line, far_line));
        writeln!(stdout, "{:<12}{near:>16.1}{far:>16.1}", kind.name()).context("stdout")?;
    }
    drop(progress);
    (calibration.near_bytes, calibration.far_bytes) = (sizes[0], sizes[1].max(sizes[0] + 1));
    Stored::new(Host::here().processor, &calibration).save(&path)?;
    writeln!(stdout, "\n{}: written; `gardenia plan` reads it", path.display()).context("stdout")?;
    Ok(Outcome::Done)
}

/// A design of this kind for this many keys, at 1 %.
fn design(kind: Kind, items: u64) -> Option<Design> {
    let need = || Need::of(items).fpp(0.01);
    let needs = [
        need(),
        need().fixed().send(),
        need().remove(),
        need().count(100),
        need().window(),
        need().grow(),
        need().grow().remove(),
        need().values(8),
    ];
    needs
        .into_iter()
        .find_map(|need| need.plan().ok()?.designs().iter().find(|design| design.kind == kind).cloned())
}

/// ns per query.
fn measure(design: &Design, items: usize, repeat: u32, numbers: &mut Numbers) -> anyhow::Result<f64> {
    let keys: Vec<Digest> = numbers.take(items).into_iter().map(Digest).collect();
    let filter = design.build_from(&keys).with_context(|| format!("{} filter", design.kind.name()))?;
    let pick = |draw: u64| match draw & 1 {
        0 => keys[((u128::from(draw) * items as u128) >> 64) as usize],
        _ => Digest(draw),
    };
    let queries: Vec<Digest> = numbers.take(QUERIES * repeat as usize).into_iter().map(pick).collect();
    Ok(time_queries(&filter, &queries).1)
}
