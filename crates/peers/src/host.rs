//! What the figures were measured on, and when.

use serde::Serialize;
use std::fmt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    /// Vector instructions that the compiler might use everywhere: they help the peers, too.
    pub(crate) compiled_for: String,
    /// Processes that wanted to run in the last minute; above zero the figures are disturbed.
    pub(crate) load: Option<f64>,
    pub(crate) date: String,
    pub(crate) rustc: &'static str,
    pub(crate) commit: Option<String>,
}

/// The heading of every table.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = self.load.map_or(String::new(), |load| format!(", load {load}"));
        let commit = self.commit.as_deref().unwrap_or("unknown");
        writeln!(f, "{}, {} cores{load}; compiled for {}", self.processor, self.cores, self.compiled_for)?;
        write!(f, "{}; {}; commit {commit}", self.date, self.rustc)
    }
}

pub(crate) fn describe() -> Host {
    let load = std::fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| text.split(' ').next()?.parse().ok());
    let compiled_for = match (cfg!(target_feature = "avx512f"), cfg!(target_feature = "avx2")) {
        (true, _) => "with avx512f",
        (_, true) => "with avx2",
        _ => "baseline",
    };
    Host {
        processor: processor().unwrap_or_else(|| "unknown processor".to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        compiled_for: format!("{} {compiled_for}", std::env::consts::ARCH),
        load,
        date: date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
        rustc: env!("PEERS_RUSTC"),
        commit: commit(),
    }
}

fn processor() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok();
    let model = info.as_ref().and_then(|info| info.lines().find_map(|line| line.strip_prefix("model name")));
    match model {
        Some(model) => Some(model.trim_start_matches([' ', '\t', ':']).to_owned()),
        None => output("sysctl", &["-n", "machdep.cpu.brand_string"]), // macOS
    }
}

fn commit() -> Option<String> {
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let changed = output("git", &["status", "--porcelain", "--untracked-files=no"]).is_some();
    Some(if changed { format!("{commit} with changes") } else { commit })
}

/// What a program prints, if it runs and prints something.
fn output(program: &str, args: &[&str]) -> Option<String> {
    let run = Command::new(program).args(args).output().ok().filter(|run| run.status.success())?;
    let text = String::from_utf8(run.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Date and time (UTC) of a Unix time, by Hinnant's "chrono-compatible low-level date algorithms".
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468; // since 0000-03-01, so that leap days end a year
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01 00:00 UTC"),
        (951_782_400, "2000-02-29 00:00 UTC"),
        (1_709_251_199, "2024-02-29 23:59 UTC"),
        (1_735_689_600, "2025-01-01 00:00 UTC"),
    ] {
        assert_eq!(date(seconds), text);
    }
}
