//! A figure in characters: lines in braille dots, measured points as shapes, bars as blocks.

use super::{axes, axis::Span, bar_width, entries, has_dashes};
use crate::{Figure, Mark, Series};

/// How a figure is drawn in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns in all.
    pub width: usize,
    /// Whether series have colours (ANSI escapes). Without them shapes tell them apart.
    pub colour: bool,
}

impl Default for Look {
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// Rows of the picture itself.
const HEIGHT: usize = 16;
/// Room for numbers on the left, the axis among them.
const LEFT: usize = 10;
/// Shapes and ANSI colours of series, by the place of the name.
const SHAPES: [char; 8] = ['●', '■', '▲', '◆', '○', '□', '△', '◇'];
const COLOURS: [u8; 8] = [34, 31, 32, 35, 33, 36, 37, 90];

/// The picture, its title above and its legend below; `names` gives each series the place of its
/// name as its colour.
///
/// ```
/// use lab::{Axis, Figure, Look, Mean, draw};
/// let figure = Figure::new("Growth", Axis::linear("days"), Axis::linear("leaves"))
///     .dots("rose", [(0.0, Mean::of(&[0.0])), (10.0, Mean::of(&[5.0]))]);
/// let text = draw(&figure, &["rose"], &Look::default());
/// assert!(text.starts_with("Growth\n") && text.contains("● rose") && text.contains("days"));
/// ```
#[must_use]
pub fn draw(figure: &Figure, names: &[&str], look: &Look) -> String {
    let mut out = format!("{}\n", figure.title);
    let Some((x, y)) = axes(figure) else { return out };
    let width = look.width.clamp(40, 120) - LEFT;
    let mut canvas = Canvas { cells: vec![vec![Cell::default(); width]; HEIGHT], x, y };
    let style =
        |series: &Series| names.iter().position(|name| *name == series.name).unwrap_or(0) % SHAPES.len();
    for wanted in [&[Mark::Bars][..], &[Mark::Theory], &[Mark::Line, Mark::Dots]] {
        for series in figure.series.iter().filter(|series| wanted.contains(&series.mark)) {
            let style = style(series);
            match series.mark {
                Mark::Bars => canvas.bars(series, bar_width(figure) / 2.0, style),
                Mark::Theory => canvas.line(series, style, true),
                Mark::Line => canvas.line(series, style, false),
                Mark::Dots => {}
            }
        }
    }
    // Shapes stand above all lines; the first series on top.
    let measured = |series: &&Series| matches!(series.mark, Mark::Line | Mark::Dots);
    for series in figure.series.iter().filter(measured).rev() {
        canvas.shapes(series, style(series));
    }

    let ticks = y.ticks(5);
    let row = |at: f64| canvas.nearest((0.0, at)).1 / 4;
    for (number, cells) in canvas.cells.iter().enumerate() {
        let label = ticks.iter().find(|tick| row(tick.at) == number).map_or("", |tick| tick.label.as_str());
        let mut line = format!("{label:>pad$} {}", if label.is_empty() { '│' } else { '┤' }, pad = LEFT - 2);
        cells.iter().for_each(|cell| cell.show(look.colour, &mut line));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let (mut line, mut labels) = (vec!['─'; width], vec![' '; width]);
    for tick in x.ticks(6) {
        let at = (canvas.nearest((tick.at, 0.0)).0 / 2).min(width - 1);
        line[at] = '┬';
        let text: Vec<char> = tick.label.chars().collect();
        let from = at.saturating_sub(text.len() / 2).min(width - text.len().min(width));
        let place = from..(from + text.len()).min(width);
        // A label that would touch its neighbour is left out.
        if labels[place.start.saturating_sub(1)..(place.end + 1).min(width)].iter().all(|c| *c == ' ') {
            labels[place].copy_from_slice(&text);
        }
    }
    let pad = " ".repeat(LEFT);
    out += &format!("{}└{}\n", &pad[1..], line.iter().collect::<String>());
    out += format!("{pad}{}", labels.iter().collect::<String>()).trim_end();
    let side = width.saturating_sub(figure.x.label.chars().count()) / 2;
    out += &format!("\n{pad}{}{}\n\n", " ".repeat(side), figure.x.label);

    // The legend, and what the vertical axis measures.
    let mut room = 0;
    out += &format!("{pad}{}:", figure.y.label);
    for series in entries(figure) {
        let style = style(series);
        let mark = match series.mark {
            Mark::Theory => "⠒ ⠒".to_owned(),
            Mark::Bars => "▆".to_owned(),
            Mark::Line | Mark::Dots => SHAPES[style].to_string(),
        };
        let length = mark.chars().count() + 3 + series.name.chars().count();
        if room < length {
            out += &format!("\n{pad}");
            room = width;
        }
        room -= length.min(room);
        out += &format!("{} {}  ", coloured(&mark, style, look.colour), series.name);
        while out.ends_with("   ") {
            out.pop();
        }
    }
    if has_dashes(figure) {
        out += &format!("\n{pad}⠒ ⠒ the same by formula");
    }
    out.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn coloured(text: &str, style: usize, colour: bool) -> String {
    if colour { format!("\x1b[{}m{text}\x1b[0m", COLOURS[style]) } else { text.to_owned() }
}

/// One character: dots of braille, or another sign, of one series.
#[derive(Clone, Copy, Default)]
struct Cell {
    dots: u8,
    sign: Option<char>,
    style: usize,
}

impl Cell {
    fn show(self, colour: bool, out: &mut String) {
        let braille = char::from_u32(0x2800 + u32::from(self.dots)).filter(|_| self.dots > 0);
        match self.sign.or(braille) {
            Some(sign) => *out += &coloured(sign.encode_utf8(&mut [0; 4]), self.style, colour),
            None => out.push(' '),
        }
    }
}

struct Canvas {
    cells: Vec<Vec<Cell>>,
    x: Span,
    y: Span,
}

impl Canvas {
    /// Columns and rows of braille dots.
    fn dots(&self) -> (usize, usize) {
        (self.cells[0].len() * 2, HEIGHT * 4)
    }

    fn place(&self, [x, y, _]: [f64; 3]) -> Option<(f64, f64)> {
        let inside = |place: f64| (0.0..=1.0).contains(&place).then_some(place);
        Some((inside(self.x.place(x)?)?, inside(self.y.place(y)?)?))
    }

    /// Column and row of the dot at a place.
    fn nearest(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let (columns, rows) = self.dots();
        ((x * (columns - 1) as f64).round() as usize, ((1.0 - y) * (rows - 1) as f64).round() as usize)
    }

    fn dot(&mut self, place: (f64, f64), style: usize) {
        // Bits of a braille character, by column and row of the dot.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (column, row) = self.nearest(place);
        let cell = &mut self.cells[row / 4][column / 2];
        cell.dots |= BITS[column % 2][row % 4];
        cell.style = style;
        // Lines run in front of bars.
        cell.sign = None;
    }

    /// A line through the points, whole or in dashes.
    fn line(&mut self, series: &Series, style: usize, dashed: bool) {
        let mut walked = 0.0;
        for pair in series.points.windows(2) {
            let (Some(a), Some(b)) = (self.place(pair[0]), self.place(pair[1])) else { continue };
            let (columns, rows) = self.dots();
            let length = f64::max((b.0 - a.0).abs() * columns as f64, (b.1 - a.1).abs() * rows as f64);
            let steps = libm::ceil(length).max(1.0) as usize;
            for step in 0..steps {
                let share = step as f64 / steps as f64;
                // Four dots, and a gap as long.
                if !dashed || ((walked + share * length) as usize / 4).is_multiple_of(2) {
                    self.dot((a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share), style);
                }
            }
            walked += length;
        }
    }

    fn shapes(&mut self, series: &Series, style: usize) {
        for point in &series.points {
            let Some(place) = self.place(*point) else { continue };
            let (column, row) = self.nearest(place);
            self.cells[row / 4][column / 2] = Cell { dots: 0, sign: Some(SHAPES[style]), style };
        }
    }

    /// Columns of blocks, in eighths of a row.
    fn bars(&mut self, series: &Series, half: f64, style: usize) {
        const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let width = self.cells[0].len();
        for [x, y, _] in &series.points {
            let ends = [x - half, x + half].map(|end| self.x.clamped(end) * width as f64);
            let height = (self.y.clamped(*y) * (HEIGHT * 8) as f64).round() as usize;
            let from = (ends[0].round() as usize).min(width - 1);
            for column in from..(ends[1].round() as usize).max(from + 1).min(width) {
                for row in 0..height.div_ceil(8).min(HEIGHT) {
                    let sign = EIGHTHS[(height - row * 8).min(8) - 1];
                    self.cells[HEIGHT - 1 - row][column] = Cell { dots: 0, sign: Some(sign), style };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mean};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn points_stand_where_their_numbers_say() {
        let at = |mean| Mean { mean, standard_error: 0.0, trials: 9 };
        let figure = Figure::new("Title", Axis::linear("keys"), Axis::linear("rate"))
            .dots("first", [(0.0, at(0.0)), (100.0, at(100.0))])
            .dots("second", [(100.0, at(0.0)), (100.0, at(100.0))]);
        let text = draw(&figure, &["first", "second"], &Look { width: 60, colour: false });
        let lines = lines(&text);
        let place = |sign| {
            let row = lines[1..=HEIGHT].iter().position(|line| line.contains(sign)).unwrap();
            (row, lines[row + 1].chars().position(|c| c == sign).unwrap())
        };
        // 4 % of room above are three dots of the first row, which is where the first stands on top of the other.
        assert_eq!((place('●'), place('■')), ((0, 10 + 47), (HEIGHT - 1, 10 + 47)), "{text}");
        assert!(lines[HEIGHT].chars().nth(10) == Some('●'), "{text}");
        assert!(lines[HEIGHT].starts_with("       0 ┤") && text.contains("      50 ┤"), "{text}");
        assert!(
            text.contains("keys") && text.contains("rate:\n") && text.contains("● first  ■ second\n"),
            "{text}"
        );
        assert!(lines.iter().all(|line| line.chars().count() <= 60 && !line.ends_with(' ')), "{text}");
    }

    #[test]
    fn lines_are_whole_and_theory_is_dashed() {
        let whole = [(0.0, 1.0), (100.0, 1.0)];
        let of = |figure: Figure| {
            let text = draw(&figure, &["a"], &Look::default());
            lines(&text)[1..=HEIGHT]
                .join("")
                .chars()
                .filter(|c| ('\u{2801}'..='\u{28ff}').contains(c))
                .count()
        };
        let empty = || Figure::new("", Axis::linear(""), Axis::linear(""));
        let line = of(empty().line("a", whole.map(|(x, y)| (x, Mean::of(&[y])))));
        let theory = of(empty().theory("a", whole));
        // 70 columns, the last two of them room: shapes stand in the first and the 68th.
        assert_eq!(line, 66);
        assert!((30..50).contains(&theory), "{theory}");
    }

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        let figure = Figure::new("", Axis::linear(""), Axis::linear(""))
            .bars("a", [(0.0, 1.0), (1.0, 4.0), (2.0, 2.0)]);
        let text = draw(&figure, &["a"], &Look { width: 40, colour: false });
        let full = |column: usize| {
            lines(&text)[1..=HEIGHT].iter().filter(|line| line.chars().nth(column) == Some('█')).count()
        };
        // 16 rows stand for 4 and 4 % of room.
        assert_eq!((full(11), full(24), full(37)), (3, 15, 7), "{text}");
    }

    #[test]
    fn colours_are_escapes_that_end() {
        let figure =
            Figure::new("", Axis::linear(""), Axis::linear("")).theory("b", [(0.0, 0.0), (1.0, 1.0)]);
        let text = draw(&figure, &["a", "b"], &Look { width: 80, colour: true });
        assert!(
            text.contains("\x1b[31m") && text.matches("\x1b[31m").count() == text.matches("\x1b[0m").count()
        );
        assert!(!draw(&figure, &["a", "b"], &Look::default()).contains('\x1b'));
    }

    #[test]
    fn nothing_to_draw_is_a_title() {
        assert_eq!(
            draw(&Figure::new("Empty", Axis::log(""), Axis::log("")), &[], &Look::default()),
            "Empty\n"
        );
    }
}
