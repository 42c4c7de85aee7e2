//! A picture of numbers: series over two axes. How it is drawn is the business of `svg` and
//! `terminal`.

use crate::Mean;
use serde::Serialize;

/// How a number becomes a place on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By its logarithm; what is not positive is left out.
    Log,
}

/// One of the two axes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// Its scale.
    pub scale: Scale,
}

impl Axis {
    /// An even axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// What was measured, at points that belong together: dots with error bars on a line.
    Line,
    /// What was measured, each point for itself: dots with error bars.
    Dots,
    /// What a formula says: a thin dashed line.
    Theory,
    /// How often each number came: bars around the points.
    Bars,
}

/// A series of points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// What it shows.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Points: x, y and the standard error of y, which is zero where there is none.
    pub points: Vec<[f64; 3]>,
}

/// Series over the same axes.
///
/// ```
/// use lab::{Axis, Figure, Mean};
/// let figure = Figure::new("Rates", Axis::log("keys"), Axis::linear("false positives"))
///     .line("found", [(1_000.0, Mean::of_rate(20, 1_000)), (2_000.0, Mean::of_rate(21, 1_000))])
///     .theory("expected", [(1_000.0, 0.021), (2_000.0, 0.021)]);
/// assert_eq!(figure.series.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Whether it shows times: these differ from run to run.
    pub timed: bool,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn. The same name has the same colour, in all figures of an experiment.
    pub series: Vec<Series>,
}

impl Figure {
    /// An empty picture.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), timed: false, x, y, series: Vec::new() }
    }

    /// The same, of times.
    #[must_use]
    pub fn timed(self) -> Self {
        Self { timed: true, ..self }
    }

    /// Adds what was measured, joined by a line.
    #[must_use]
    pub fn line(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, Mean)>) -> Self {
        self.series(name, Mark::Line, points.into_iter().map(measured))
    }

    /// Adds what was measured, each point for itself.
    #[must_use]
    pub fn dots(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, Mean)>) -> Self {
        self.series(name, Mark::Dots, points.into_iter().map(measured))
    }

    /// Adds what a formula says.
    #[must_use]
    pub fn theory(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.series(name, Mark::Theory, points.into_iter().map(|(x, y)| [x, y, 0.0]))
    }

    /// Adds bars: a histogram.
    #[must_use]
    pub fn bars(self, name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.series(name, Mark::Bars, points.into_iter().map(|(x, y)| [x, y, 0.0]))
    }

    /// Adds any series. Points that are no numbers are left out.
    #[must_use]
    pub fn series(
        mut self,
        name: impl Into<String>,
        mark: Mark,
        points: impl IntoIterator<Item = [f64; 3]>,
    ) -> Self {
        let points = points.into_iter().filter(|point| point.iter().all(|value| value.is_finite())).collect();
        self.series.push(Series { name: name.into(), mark, points });
        self
    }
}

/// A point with its error; an unknown error is not drawn.
fn measured((x, Mean { mean, standard_error, .. }): (f64, Mean)) -> [f64; 3] {
    [x, mean, if standard_error.is_finite() { standard_error } else { 0.0 }]
}

#[test]
fn what_is_no_number_is_left_out_but_for_an_unknown_error() {
    let unknown = Mean::of(&[2.0]);
    let figure = Figure::new("", Axis::linear(""), Axis::log(""))
        .dots("a", [(1.0, unknown), (f64::NAN, unknown), (2.0, Mean::of(&[]))]);
    assert_eq!(figure.series[0].points, [[1.0, 2.0, 0.0]]);
}
