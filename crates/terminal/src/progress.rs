//! How far along a long job is: on stderr, after one second, and only for a person at a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Most commands are over before anybody would read a bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes read of one input, or steps done. The bar goes away when this is dropped.
pub struct Progress {
    /// None if nobody would see it.
    bar: Option<ProgressBar>,
    start: Instant,
    shown: bool,
    /// Steps that have begun.
    begun: u64,
}

impl Progress {
    /// Starts the clock; `total` is the length of the input, if it is known.
    pub fn new(what: String, total: Option<u64>, wanted: bool) -> Self {
        let template = match total {
            Some(_) => {
                "{msg}  {bar:24} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left"
            }
            None => "{msg}  {decimal_bytes}, {decimal_bytes_per_sec}",
        };
        Self::with_template(template, what, total, wanted)
    }

    /// For a job of `total` steps.
    pub fn steps(total: u64) -> Self {
        Self::with_template("{bar:24} {msg}", String::new(), Some(total), true)
    }

    /// For a job whose units mean nothing to people.
    pub fn share(what: String) -> Self {
        Self::with_template("{msg}  {bar:24} {percent}%, {eta} left", what, Some(0), true)
    }

    /// Notes that `done` of `total` is done. It never goes back: threads may overtake each other.
    pub fn at(&mut self, done: u64, total: u64) {
        self.advance(|bar| {
            bar.set_length(total);
            bar.set_position(done.max(bar.position()));
        });
    }

    fn with_template(template: &str, what: String, total: Option<u64>, wanted: bool) -> Self {
        let bar = (wanted && stderr().is_terminal()).then(|| {
            // A template is text in this file: if it were wrong, the plain style does.
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            // It counts from the start, so that it knows the rate once it is shown.
            ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
                .with_style(style)
                .with_message(what)
        });
        Self { bar, start: Instant::now(), shown: false, begun: 0 }
    }

    /// Notes that this many bytes were read so far.
    pub fn read(&mut self, bytes: u64) {
        self.advance(|bar| bar.set_position(bytes));
    }

    /// Notes that a step begins, and all before it are done.
    pub fn step(&mut self, what: String) {
        let begun = self.begun;
        self.begun += 1;
        self.advance(|bar| {
            bar.set_message(what);
            bar.set_position(begun);
        });
    }

    fn advance(&mut self, change: impl FnOnce(&ProgressBar)) {
        let Some(bar) = &self.bar else { return };
        if !self.shown && self.start.elapsed() >= PATIENCE {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        change(bar);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
