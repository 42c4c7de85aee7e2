//! A plot for the terminal: errors against bits per key, both kinds of axes in plain characters.

/// A curve: its mark, and its points as bits per key and rate.
pub(crate) struct Curve {
    pub(crate) mark: char,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Columns and rows of the plot itself.
const WIDTH: usize = 72;
const HEIGHT: usize = 14;

/// The curves, the first on top of the others, with a dotted line at `rate` if it is given. Empty
/// if there is nothing to draw.
pub(crate) fn draw(curves: &[Curve], rate: Option<f64>) -> Vec<String> {
    let points = || curves.iter().flat_map(|curve| &curve.points).filter(|(_, rate)| *rate > 0.0);
    if points().count() == 0 {
        return Vec::new();
    }
    let bits = points().map(|(bits, _)| *bits);
    let (least, most) = (bits.clone().fold(f64::INFINITY, f64::min), bits.fold(0.0, f64::max));
    let rates = points().map(|(_, rate)| *rate).chain(rate);
    let (low, high) = (rates.clone().fold(1.0, f64::min), rates.fold(0.0, f64::max));
    // Whole powers of ten at both ends, and a little room at the sides.
    let (bottom, top) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let (left, right) = ((least - 0.5).max(0.0).floor(), (most + 0.5).ceil());
    let column = |bits: f64| ((bits - left) / (right - left) * (WIDTH - 1) as f64).round() as usize;
    let row = |rate: f64| ((top - rate.log10()) / (top - bottom) * (HEIGHT - 1) as f64).round() as usize;
    let mut grid = vec![[' '; WIDTH]; HEIGHT];
    if let Some(rate) = rate {
        grid[row(rate).min(HEIGHT - 1)].iter_mut().step_by(2).for_each(|cell| *cell = '·');
    }
    for curve in curves.iter().rev() {
        for (bits, rate) in curve.points.iter().filter(|(_, rate)| *rate > 0.0) {
            grid[row(*rate).min(HEIGHT - 1)][column(*bits).min(WIDTH - 1)] = curve.mark;
        }
    }
    let mut lines = vec!["false-positive rate; the numbers are those of the designs".to_owned()];
    for (number, cells) in grid.iter().enumerate() {
        // A label where a power of ten falls on the row.
        let power = (bottom as i32..=top as i32).rev().find(|power| row(10f64.powi(*power)) == number);
        let label = power.map_or(String::new(), |power| crate::human::percent(10f64.powi(power)));
        lines.push(format!("{label:>9} │{}", cells.iter().collect::<String>()).trim_end().to_owned());
    }
    lines.push(format!("{:>9} └{}", "", "─".repeat(WIDTH)));
    let ends = (format!("{left:.0}"), format!("{right:.0}"));
    let middle = "bits per key";
    let space = WIDTH.saturating_sub(ends.0.len() + ends.1.len() + middle.len());
    lines.push(format!(
        "{:>11}{}{:space$}{middle}{:rest$}{}",
        "",
        ends.0,
        "",
        "",
        ends.1,
        space = space / 2,
        rest = space - space / 2
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_their_figures_say() {
        let line = |mark, points: &[(f64, f64)]| Curve { mark, points: points.to_vec() };
        let plot = draw(
            &[line('a', &[(5.0, 0.1), (15.0, 0.001)]), line('b', &[(15.0, 0.1), (15.0, 0.001)])],
            Some(0.01),
        );
        assert_eq!(plot.len(), HEIGHT + 3);
        let plot = &plot[1..];
        assert!(
            plot[0].starts_with("      10% │") && plot[HEIGHT - 1].starts_with("     0.1% │"),
            "{plot:#?}"
        );
        let at = |row: usize, mark: char| plot[row].chars().position(|c| c == mark);
        // From 4 to 16 bits on 72 columns, behind eleven of labels.
        assert_eq!((at(0, 'a'), at(0, 'b')), (Some(17), Some(76)), "{plot:#?}");
        assert_eq!((at(HEIGHT - 1, 'a'), at(HEIGHT - 1, 'b')), (Some(76), None)); // the first is on top
        assert!(plot.iter().filter(|line| line.contains('·')).count() == 1);
        assert!(plot[HEIGHT + 1].contains("bits per key") && plot[HEIGHT + 1].ends_with("16"));
        assert!(draw(&[], Some(0.1)).is_empty());
    }
}
