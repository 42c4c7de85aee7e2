//! The command line.

use crate::counting::CountingArgs;
use crate::fixed::StaticArgs;
use crate::garden::GardenArgs;
use crate::keys::KeyKind;
use crate::stream::{MeasureArgs, StreamArgs};
use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Compares gardenia with other libraries on the same work in one run.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) what: Option<What>,

    /// Numbers of keys, such as 1e6,1e7 [default: 1e4,1e6,1e7]
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<usize>,

    /// Kinds of keys
    #[arg(long, value_enum, default_value_t = KeyChoice::Both)]
    pub(crate) keys: KeyChoice,

    /// Measure this number of threads only [default: 1, and 2 for filters that threads can share]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,

    /// Repeats, of which best and median are shown [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,

    /// Measure the contenders whose name contains one of these; the machine's limits are always
    /// measured
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,

    /// False-positive probability asked of every filter
    #[arg(long, default_value_t = 0.01, value_parser = parse_fpp)]
    pub(crate) fpp: f64,

    /// 1e6 keys and 3 repeats, unless these are given
    #[arg(long)]
    quick: bool,

    /// Write every single measurement to this file, too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Other comparisons.
#[derive(Debug, Subcommand)]
pub(crate) enum What {
    Garden(GardenArgs),
    /// Sketches that count how often keys occur, in the same memory
    Counting(CountingArgs),
    Static(StaticArgs),
    /// The command beside other tools of the shell, on one file of log lines
    Stream(StreamArgs),
    #[command(hide = true)]
    Measure(MeasureArgs),
}

/// What `--keys` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyChoice {
    /// Random 64-bit numbers
    U64,
    /// Texts of 40 bytes
    Str40,
    /// One after the other
    Both,
}

impl KeyChoice {
    pub(crate) fn kinds(self) -> &'static [KeyKind] {
        match self {
            Self::U64 => &[KeyKind::U64],
            Self::Str40 => &[KeyKind::Str40],
            Self::Both => &[KeyKind::U64, KeyKind::Str40],
        }
    }
}

impl Args {
    pub(crate) fn sizes(&self) -> Vec<usize> {
        match (&*self.sizes, self.quick) {
            ([], true) => vec![1_000_000],
            ([], false) => vec![10_000, 1_000_000, 10_000_000],
            (sizes, _) => sizes.to_vec(),
        }
    }

    pub(crate) fn repeats(&self) -> usize {
        self.repeat.unwrap_or(if self.quick { 3 } else { 5 }) as usize
    }

    /// The numbers of threads to measure a contender with.
    pub(crate) fn threads(&self, shareable: bool) -> Vec<usize> {
        match (self.threads, shareable) {
            (Some(1) | None, false) => vec![1],
            (Some(_), false) => vec![],
            (Some(threads), true) => vec![threads as usize],
            (None, true) => vec![1, 2],
        }
    }

    /// Whether `--only` lets this contender in.
    pub(crate) fn admits(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(&part.to_lowercase()))
    }
}

pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let size: f64 = text.parse().map_err(|_| format!("{text:?} is not a number such as 1e6"))?;
    if (1.0..=1e9).contains(&size) && size.fract() == 0.0 {
        Ok(size as usize)
    } else {
        Err(format!("{text} is not a whole number from 1 to 1e9"))
    }
}

fn parse_fpp(text: &str) -> Result<f64, String> {
    let fpp: f64 = text.parse().map_err(|_| format!("{text:?} is not a number such as 0.01"))?;
    // Below, 64-bit digests are the limit of some contenders; above, some do not go.
    if (1e-9..=0.5).contains(&fpp) { Ok(fpp) } else { Err(format!("{text} is not from 1e-9 to 0.5")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_also_in_scientific_notation() {
        assert_eq!(parse_size("1e6"), Ok(1_000_000));
        assert_eq!(parse_size("12345"), Ok(12_345));
        for wrong in ["0", "-1", "1.5", "1e10", "nan", "many", ""] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_that_some_contender_cannot_have_are_refused() {
        assert_eq!(parse_fpp("1e-3"), Ok(0.001));
        for wrong in ["0", "1", "-0.1", "1e-10", "nan", "inf", "one"] {
            assert!(parse_fpp(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quick_gives_way_to_what_is_asked_by_name() {
        let args = |line: &str| Args::parse_from(line.split(' '));
        assert_eq!((args("peers --quick").sizes(), args("peers --quick").repeats()), (vec![1_000_000], 3));
        let asked = args("peers --quick --sizes 1e4,2e4 --repeat 7");
        assert_eq!((asked.sizes(), asked.repeats()), (vec![10_000, 20_000], 7));
    }

    #[test]
    fn two_threads_are_for_what_threads_can_share() {
        let args = |line: &str| Args::parse_from(line.split(' '));
        assert_eq!(args("peers").threads(false), [1]);
        assert_eq!(args("peers").threads(true), [1, 2]);
        assert_eq!(args("peers --threads 1").threads(true), [1]);
        assert!(args("peers --threads 2").threads(false).is_empty());
    }
}
