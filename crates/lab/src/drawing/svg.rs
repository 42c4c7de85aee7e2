//! A figure as SVG: sizes in the file, colours and fonts from the page's style sheet.

use super::{axes, axis::Span, bar_width, entries, has_dashes};
use crate::report::escape;
use crate::{Figure, Mark, Series};
use std::fmt::Write;

/// The picture is this wide and high; pages scale it to their columns, and text stays readable down
/// to 0.75 of that.
const SIZE: (f64, f64) = (480.0, 320.0);
/// Room for labels: left (more where the numbers beside the axis are long), right, top, bottom.
const MARGIN: (f64, f64, f64, f64) = (64.0, 14.0, 10.0, 46.0);
/// The axis' name, turned by 90°, needs this much of the left margin; the numbers begin behind it.
const NAME: f64 = 26.0;
/// How wide a character is, about.
const CHARACTER: f64 = 7.5;
/// Up to about this many numbers beside each axis.
const X_TICKS: usize = 6;
const Y_TICKS: usize = 8;
/// Colours that the style sheet has; further series take them again, with another shape.
const COLOURS: usize = 8;

/// The picture. `names` gives each series the place of its name as its colour.
pub(crate) fn svg(figure: &Figure, names: &[&str]) -> String {
    let mut out = String::new();
    let (width, height) = SIZE;
    let _ = write!(
        out,
        r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{}">"#,
        escape(&figure.title)
    );
    match axes(figure) {
        Some((x, y)) => {
            let longest = y.ticks(Y_TICKS).iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
            let left = MARGIN.0.max(NAME + longest as f64 * CHARACTER + 6.0);
            Canvas { figure, names, x, y, left, out: &mut out }.draw();
        }
        None => out.push_str(r#"<text x="240" y="160" text-anchor="middle">nothing to draw</text>"#),
    }
    out + "</svg>"
}

/// The names of a figure's series, each with its mark.
pub(crate) fn legend(figure: &Figure, names: &[&str]) -> String {
    let mut out = String::from(r#"<ul class="legend">"#);
    for series in entries(figure) {
        let colour = colour(names, series);
        let _ = write!(
            out,
            r#"<li><svg viewBox="0 0 26 12" width="26" height="12" class="s{}">"#,
            colour % COLOURS
        );
        match series.mark {
            Mark::Bars => out.push_str(r#"<rect class="bar" x="6" y="1" width="14" height="11"/>"#),
            Mark::Theory => out.push_str(r#"<path class="theory" d="M0 6H26"/>"#),
            Mark::Line => out.push_str(r#"<path class="line" d="M0 6H26"/>"#),
            Mark::Dots => {}
        }
        if matches!(series.mark, Mark::Line | Mark::Dots) {
            out.push_str(&shape(colour, 13.0, 6.0));
        }
        let _ = write!(out, "</svg>{}</li>", escape(&series.name));
    }
    if has_dashes(figure) {
        let dashes = r#"<svg viewBox="0 0 26 12" width="26" height="12" class="s7"><path class="theory" d="M0 6H26"/></svg>"#;
        let _ = write!(out, "<li>{dashes}the same by formula</li>");
    }
    out + "</ul>"
}

/// The place of a series' name among all names.
fn colour(names: &[&str], series: &Series) -> usize {
    names.iter().position(|name| *name == series.name).unwrap_or(0)
}

/// A dot whose shape tells series apart where colours do not.
fn shape(colour: usize, x: f64, y: f64) -> String {
    let path = match (colour + colour / COLOURS) % 4 {
        0 => return format!(r#"<circle class="dot" cx="{x:.1}" cy="{y:.1}" r="3.2"/>"#),
        1 => "m-2.9-2.9h5.8v5.8h-5.8z",
        2 => "m0-3.6l3.6 6.2h-7.2z",
        _ => "m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
    };
    format!(r#"<path class="dot" d="M{x:.1} {y:.1}{path}"/>"#)
}

struct Canvas<'a> {
    figure: &'a Figure,
    names: &'a [&'a str],
    x: Span,
    y: Span,
    /// Where the vertical axis stands.
    left: f64,
    out: &'a mut String,
}

impl Canvas<'_> {
    fn across(&self, place: f64) -> f64 {
        self.left + place * (SIZE.0 - self.left - MARGIN.1)
    }

    fn down(place: f64) -> f64 {
        SIZE.1 - MARGIN.3 - place * (SIZE.1 - MARGIN.2 - MARGIN.3)
    }

    fn draw(&mut self) {
        self.grid();
        // Bars behind, theory in front of them, measured points on top.
        for wanted in [&[Mark::Bars][..], &[Mark::Theory], &[Mark::Line, Mark::Dots]] {
            for series in self.figure.series.iter().filter(|series| wanted.contains(&series.mark)) {
                let colour = colour(self.names, series);
                let _ = write!(self.out, r#"<g class="s{}">"#, colour % COLOURS);
                match series.mark {
                    Mark::Bars => self.bars(series),
                    Mark::Theory => self.path(series, "theory"),
                    Mark::Line => {
                        self.path(series, "line");
                        self.dots(series, colour);
                    }
                    Mark::Dots => self.dots(series, colour),
                }
                self.out.push_str("</g>");
            }
        }
    }

    /// Lines at round numbers, the numbers, and what they measure.
    fn grid(&mut self) {
        let (left, right, top, bottom) =
            (self.across(0.0), self.across(1.0), Self::down(1.0), Self::down(0.0));
        let (mut lines, mut free) = (String::new(), 0.0);
        for tick in self.x.ticks(X_TICKS) {
            let at = self.across(tick.at);
            let _ = write!(lines, "M{at:.1} {bottom}V{top}");
            // A label that would touch its neighbour is left out.
            let half = tick.label.chars().count() as f64 * CHARACTER / 2.0;
            if at - half < free {
                continue;
            }
            free = at + half + 4.0;
            let _ = write!(
                self.out,
                r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                tick.label
            );
        }
        for tick in self.y.ticks(Y_TICKS) {
            let at = Self::down(tick.at);
            let _ = write!(lines, "M{left} {at:.1}H{right}");
            let _ = write!(
                self.out,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                left - 6.0,
                at + 4.0,
                tick.label
            );
        }
        let _ = write!(self.out, r#"<path class="grid" d="{lines}"/>"#);
        let _ = write!(self.out, r#"<path class="axis" d="M{left} {top}V{bottom}H{right}"/>"#);
        let middle = (left + right) / 2.0;
        let _ = write!(
            self.out,
            r#"<text class="label" x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            SIZE.1 - 10.0,
            escape(&self.figure.x.label)
        );
        let middle = (top + bottom) / 2.0;
        let _ = write!(
            self.out,
            r#"<text class="label" transform="translate(13 {middle:.1})rotate(-90)" text-anchor="middle">{}</text>"#,
            escape(&self.figure.y.label)
        );
    }

    /// The point on paper, if it has a place.
    fn at(&self, [x, y, _]: [f64; 3]) -> Option<(f64, f64)> {
        Some((self.across(self.x.place(x)?), Self::down(self.y.place(y)?)))
    }

    fn path(&mut self, series: &Series, class: &str) {
        let mut path = String::new();
        let mut joined = false;
        for point in &series.points {
            match self.at(*point) {
                Some((x, y)) => {
                    let _ = write!(path, "{}{x:.1} {y:.1}", if joined { 'L' } else { 'M' });
                    joined = true;
                }
                None => joined = false,
            }
        }
        let _ = write!(self.out, r#"<path class="{class}" d="{path}"/>"#);
    }

    fn dots(&mut self, series: &Series, colour: usize) {
        let mut errors = String::new();
        let mut dots = String::new();
        for point in &series.points {
            let Some((x, y)) = self.at(*point) else { continue };
            let [_, value, error] = *point;
            let [low, high] = [value - error, value + error].map(|end| Self::down(self.y.clamped(end)));
            if low - high > 2.0 {
                let _ = write!(errors, "M{x:.1} {low:.1}V{high:.1}");
            }
            let _ = write!(
                dots,
                "<g><title>{}</title>{}</g>",
                escape(&self.say(series, *point)),
                shape(colour, x, y)
            );
        }
        if !errors.is_empty() {
            let _ = write!(self.out, r#"<path class="error" d="{errors}"/>"#);
        }
        self.out.push_str(&dots);
    }

    fn bars(&mut self, series: &Series) {
        let half = bar_width(self.figure) / 2.0;
        for point in &series.points {
            let [x, y, _] = *point;
            let (left, right) =
                (self.across(self.x.clamped(x - half)), self.across(self.x.clamped(x + half)));
            let (top, foot) = (Self::down(self.y.clamped(y)), Self::down(self.y.clamped(0.0)));
            let (width, height) = ((right - left - 1.0).max(0.5), (foot - top).max(0.0));
            let _ = write!(
                self.out,
                r#"<rect class="bar" x="{:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}"><title>{}</title></rect>"#,
                left + 0.5,
                escape(&self.say(series, *point))
            );
        }
    }

    /// What a reader sees who points at a dot.
    fn say(&self, series: &Series, [x, y, error]: [f64; 3]) -> String {
        let error = if error > 0.0 { format!(" ± {}", digits(error, 2)) } else { String::new() };
        format!(
            "{}\n{}: {}\n{}: {}{error}",
            series.name,
            self.figure.x.label,
            digits(x, 6),
            self.figure.y.label,
            digits(y, 4)
        )
    }
}

/// That many digits, without a power of ten where that is short.
fn digits(value: f64, digits: usize) -> String {
    let size = if value == 0.0 { 0.0 } else { libm::floor(libm::log10(value.abs())) };
    if (-4.0..7.0).contains(&size) {
        let decimals = (digits as f64 - 1.0 - size).clamp(0.0, 12.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.*e}", digits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mean};

    fn figure() -> Figure {
        let mean = |mean| Mean { mean, standard_error: 0.5, trials: 9 };
        Figure::new("a < b", Axis::log("n & m"), Axis::linear("rate"))
            .bars("bars", [(1.0, 2.0), (2.0, 3.0)])
            .theory("law", [(1.0, 1.0), (0.0, 1.0), (10.0, 4.0), (100.0, 5.0)])
            .line("found", [(1.0, mean(1.0)), (100.0, mean(6.0))])
    }

    #[test]
    fn a_picture_has_all_that_was_given_and_no_more() {
        let figure = figure();
        let picture = svg(&figure, &["found", "law", "bars"]);
        let count = |what: &str| picture.matches(what).count();
        assert_eq!((count("<rect"), count("<circle"), count("class=\"theory\"")), (2, 2, 1), "{picture}");
        // The point without a place on the logarithmic axis interrupts the line.
        let law = picture.split("class=\"theory\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((law.matches('M').count(), law.matches('L').count()), (2, 1), "{law}");
        assert!(picture.contains("a &lt; b") && picture.contains("n &amp; m") && !picture.contains("NaN"));
        assert!(picture.contains("found\nn &amp; m: 100\nrate: 6 ± 0.5"), "{picture}");
        assert!(svg(&Figure::new("", Axis::log(""), Axis::log("")), &[]).contains("nothing to draw"));
    }

    #[test]
    fn points_stand_where_their_numbers_say() {
        let figure = Figure::new("", Axis::linear(""), Axis::linear(""))
            .dots("a", [(0.0, Mean::of(&[0.0])), (100.0, Mean::of(&[100.0]))]);
        let picture = svg(&figure, &["a"]);
        // 4 % of room at the high ends, none below zero.
        let (x, y) = (64.0 + 402.0 / 1.04, 274.0 - 264.0 / 1.04);
        assert!(picture.contains("cx=\"64.0\" cy=\"274.0\""), "{picture}");
        assert!(picture.contains(&format!("cx=\"{x:.1}\" cy=\"{y:.1}\"")), "{picture}");
    }

    #[test]
    fn the_name_of_an_axis_stands_clear_of_its_numbers() {
        for (low, high) in [(0.0, 1.0), (1e-4, 4e-4), (2e-7, 9.5e-7), (1.0, 9_000_000.0)] {
            let figure = Figure::new("", Axis::linear("n"), Axis::linear("false positives"))
                .theory("a", [(0.0, low), (1.0, high)]);
            let picture = svg(&figure, &["a"]);
            let numbers =
                picture.split("<text x=\"").skip(1).filter(|text| text.contains("text-anchor=\"end\""));
            for number in numbers {
                let end: f64 = number.split('"').next().unwrap().parse().unwrap();
                let label = number.split('>').nth(1).unwrap().split('<').next().unwrap();
                let begin = end - label.chars().count() as f64 * CHARACTER;
                assert!(begin >= NAME - 1e-9, "{label} begins at {begin}");
            }
        }
    }

    #[test]
    fn legends_name_each_series_with_its_colour() {
        let figure = figure();
        let legend = legend(&figure, &["found", "law", "bars"]);
        assert!(legend.contains("class=\"s2\"") && legend.contains("</svg>bars</li>"), "{legend}");
        assert_eq!(legend.matches("<li>").count(), 3);
    }

    #[test]
    fn numbers_are_short() {
        let shown =
            [(1234.0, 4), (0.000_123_456, 3), (0.5, 2), (1e-9, 3), (2_000_000.0, 6), (0.0, 3), (12.0, 2)];
        let shown: Vec<String> = shown.into_iter().map(|(value, d)| digits(value, d)).collect();
        assert_eq!(shown, ["1234", "0.000123", "0.5", "1.00e-9", "2000000", "0", "12"]);
    }
}
