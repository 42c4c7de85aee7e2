//! What was wanted of the relatives, as ratios within one run.

use super::filters::{
    CUCKOO, CUCKOO_BATCH, CUCKOOFILTER, Entry, FUSE, FUSE_DIGESTS, RIBBON, SUX, SUX_SMALL, XORF_8,
};
use super::{BATCH_MISS, BUILD, HIT, MISS, Sample};
use std::fmt::Write as _;

/// The rows of one size.
struct Rows<'a>(&'a [(&'a Entry, Sample)]);

impl Rows<'_> {
    fn get(&self, name: &str) -> Option<&Sample> {
        self.0.iter().find(|(entry, _)| entry.name == name).map(|(_, sample)| sample)
    }

    /// How many times as fast the first row is as the second.
    fn faster(&self, ours: (&str, usize), theirs: (&str, usize)) -> Option<f64> {
        let time = |(name, column): (&str, usize)| self.get(name).map(|sample| sample.times[column]);
        Some(time(theirs)? / time(ours)?)
    }
}

enum Need {
    AtLeast(f64),
    AtMost(f64),
}
use Need::{AtLeast, AtMost};

type Goal = (&'static str, Need, fn(&Rows<'_>) -> Option<f64>);

const GOALS: &[Goal] = &[
    ("binary fuse, build, by xorf", AtLeast(1.2), |r| r.faster((FUSE, BUILD), (XORF_8, BUILD))),
    ("binary fuse, query of u64, by xorf", AtLeast(1.2), |r| r.faster((FUSE, MISS), (XORF_8, MISS))),
    ("binary fuse, query of digests, by xorf", AtLeast(1.2), |r| {
        r.faster((FUSE_DIGESTS, MISS), (XORF_8, MISS))
    }),
    ("binary fuse, batch query of u64, by xorf", AtLeast(1.2), |r| {
        r.faster((FUSE, BATCH_MISS), (XORF_8, MISS))
    }),
    ("binary fuse, batch query, by the faster of sux's", AtLeast(1.0), |r| {
        let by = |name| r.faster((FUSE, BATCH_MISS), (name, MISS));
        Some(by(SUX)?.min(by(SUX_SMALL)?))
    }),
    ("cuckoo, insert, by cuckoofilter", AtLeast(3.0), |r| r.faster((CUCKOO, BUILD), (CUCKOOFILTER, BUILD))),
    ("cuckoo, batch insert, by cuckoofilter", AtLeast(3.0), |r| {
        r.faster((CUCKOO_BATCH, BUILD), (CUCKOOFILTER, BUILD))
    }),
    ("cuckoo, query (hit), by cuckoofilter", AtLeast(3.0), |r| r.faster((CUCKOO, HIT), (CUCKOOFILTER, HIT))),
    ("cuckoo, query (miss), by cuckoofilter", AtLeast(3.0), |r| {
        r.faster((CUCKOO, MISS), (CUCKOOFILTER, MISS))
    }),
    ("cuckoo, batch query, by cuckoofilter", AtLeast(3.0), |r| {
        r.faster((CUCKOO, BATCH_MISS), (CUCKOOFILTER, MISS))
    }),
    ("ribbon, bits by the limit", AtMost(1.01), |r| Some(r.get(RIBBON)?.over_limit)),
    ("ribbon, time of a batch query by binary fuse's", AtMost(2.5), |r| {
        r.faster((FUSE, BATCH_MISS), (RIBBON, BATCH_MISS))
    }),
];

/// A line for each goal.
pub(super) fn text(rows: &[(&Entry, Sample)]) -> String {
    let rows = Rows(rows);
    let mut text = String::new();
    for (what, need, value) in GOALS {
        let Some(value) = value(&rows) else { continue };
        let (sign, wanted, met) = match *need {
            AtLeast(least) => (">=", least, value >= least),
            AtMost(most) => ("<=", most, value <= most),
        };
        let verdict = if met { "met" } else { "not met" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{what:<50}{value:>8.3}  {sign} {wanted:<5} {verdict}");
    }
    text
}

#[test]
fn a_ratio_tells_how_many_times_as_fast_ours_is_and_a_goal_is_met_from_its_value_on() {
    let entries = super::entries();
    let row = |name: &str, build| {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        let times = [build, f64::NAN, 1.0, 1.0, 1.0];
        (entry, Sample { times, per_key: 8.0, over_limit: 1.0, measured: 0.0, lost: 0 })
    };
    let line = |ours| {
        let text = text(&[row(XORF_8, 60.0), row(FUSE, ours)]);
        text.lines().next().unwrap().to_owned()
    };
    assert!(line(50.0).ends_with(" 1.200  >= 1.2   met"), "{}", line(50.0));
    assert!(line(51.0).ends_with("not met"), "{}", line(51.0));
}
