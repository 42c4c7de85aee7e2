//! The same settings with Gardenia's own filter: random digests, independent positions.

use super::Setting;
use crate::Stream;
use anyhow::Result;
use gardenia::ChoiceBloom;
use gardenia::filter::Effort;
use gardenia::index::Independent;

/// The share of ones after all keys have come one by one.
pub(crate) fn library_online(setting: &Setting, stream: &mut Stream) -> Result<f64> {
    let builder = ChoiceBloom::builder().bits(setting.cells).hashes(setting.hashes).choices(setting.choices);
    let mut filter = builder.scheme(Independent::new).build()?;
    let digests = stream.digests(setting.items);
    filter.insert_digests(&digests, &mut vec![false; digests.len()]);
    Ok(filter.fill())
}

/// The shares of ones after each of these numbers of rounds, which grow.
pub(crate) fn library_offline(setting: &Setting, rounds: &[u64], stream: &mut Stream) -> Result<Vec<f64>> {
    let builder = ChoiceBloom::builder().bits(setting.cells).hashes(setting.hashes).choices(setting.choices);
    let builder = builder.scheme(Independent::new).effort(Effort::Rounds);
    let mut offline = builder.offline(stream.digests(setting.items))?;
    let improve = |&until: &u64| offline.improve(until - offline.progress().rounds).fill;
    Ok(rounds.iter().map(improve).collect())
}
