//! Figures as pictures: `svg` for the report, `terminal` for people at a shell. Both stand on the
//! same axes.
//!
//! Drawn by hand: plotting crates write fixed colours, and the report's follow the reader's light
//! or dark page. Pictures are small, and legends stand outside them, so that both can be read on a
//! telephone.

mod axis;
mod svg;
mod terminal;

pub(crate) use svg::{legend, svg};
pub use terminal::{Look, draw};

use crate::{Figure, Mark, Series};

/// Names of all series of some figures, each once, in the order in which they come: a name's place
/// is its colour.
pub(crate) fn names(figures: &[Figure]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in figures.iter().flat_map(|figure| &figure.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

/// The series that a legend names: of what was measured and what a formula says under one name, the
/// former.
fn entries(figure: &Figure) -> impl Iterator<Item = &Series> {
    let measured =
        |name: &str| figure.series.iter().any(|other| other.name == name && other.mark != Mark::Theory);
    figure.series.iter().filter(move |series| series.mark != Mark::Theory || !measured(&series.name))
}

/// Whether something was measured and computed under the same name, so that the legend must tell
/// them apart.
fn has_dashes(figure: &Figure) -> bool {
    entries(figure).count() < figure.series.len()
}

/// The axes of a figure: horizontal and vertical.
fn axes(figure: &Figure) -> Option<(axis::Span, axis::Span)> {
    let points = || {
        figure.series.iter().flat_map(|series| series.points.iter().map(move |point| (series.mark, *point)))
    };
    let width = bar_width(figure) / 2.0;
    let xs = points().flat_map(|(mark, [x, ..])| match mark {
        Mark::Bars => [x - width, x + width],
        _ => [x, x],
    });
    let ys = points().flat_map(|(mark, [_, y, error])| match mark {
        Mark::Bars => [0.0, y],
        _ => [y - error, y + error],
    });
    // An error bar that reaches down to zero must not push a logarithmic axis away: the point itself counts.
    let ys = ys.chain(points().map(|(_, [_, y, _])| y));
    Some((axis::Span::of(figure.x.scale, xs)?, axis::Span::of(figure.y.scale, ys)?))
}

/// How far bars are apart: the least distance of neighbours.
fn bar_width(figure: &Figure) -> f64 {
    let bars = figure.series.iter().filter(|series| series.mark == Mark::Bars);
    let gaps = bars.flat_map(|series| series.points.windows(2).map(|pair| (pair[1][0] - pair[0][0]).abs()));
    let width = gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    if width.is_finite() { width } else { 1.0 }
}
