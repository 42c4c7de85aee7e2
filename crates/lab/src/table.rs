//! Tables with typed cells: aligned text for people; CSV and JSON, with all digits, for programs.

use crate::{Checks, Mean, Verdict};
use serde::{Serialize, Serializer};

/// How a number is shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// This number of digits after the point.
    Fixed(usize),
    /// This number of digits after the point, and a power of ten: `2.159e-2`.
    Power(usize),
    /// Percent with a sign, and this number of digits after the point: `+0.15%`.
    Percent(usize),
}

impl Form {
    fn show(self, value: f64) -> String {
        match self {
            Self::Fixed(digits) => format!("{value:.digits$}"),
            Self::Power(_) if value == 0.0 => "0".to_owned(),
            Self::Power(digits) => format!("{value:.digits$e}"),
            Self::Percent(digits) => format!("{:+.digits$}%", value * 100.0),
        }
    }

    /// A standard error, to two digits.
    fn show_error(self, error: f64) -> String {
        match self {
            Self::Power(_) if error != 0.0 => format!("{error:.1e}"),
            _ if error == 0.0 || !error.is_finite() => error.to_string(),
            Self::Fixed(_) | Self::Power(_) => two_digits(error),
            Self::Percent(_) => format!("{}%", two_digits(error * 100.0)),
        }
    }
}

fn two_digits(value: f64) -> String {
    let decimals = (1.0 - libm::floor(libm::log10(value))).clamp(0.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing.
    Empty,
    /// Words.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64, Form),
    /// A mean with its standard error.
    Mean(Mean, Form),
}

impl Cell {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The number, or nothing.
    #[must_use]
    pub fn number(value: Option<f64>, form: Form) -> Self {
        value.map_or(Self::Empty, |value| Self::Number(value, form))
    }

    pub(crate) fn show(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => text.clone(),
            Self::Count(count) => thousands(*count),
            Self::Number(value, form) => form.show(*value),
            Self::Mean(Mean { mean, standard_error, .. }, form) => {
                format!("{} ± {}", form.show(*mean), form.show_error(*standard_error))
            }
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(value, _) => serializer.serialize_f64(*value),
            Self::Mean(mean, _) => mean.serialize(serializer),
        }
    }
}

/// 1,000,000
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A row, and whether it shows what it should; `None` if it claims nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// One cell per column.
    pub cells: Vec<Cell>,
    /// The verdict.
    pub verdict: Option<Verdict>,
    /// The comparisons that it comes from.
    #[serde(skip)]
    pub checks: Checks,
}

/// A table.
///
/// ```
/// use lab::{Cell, Form, Table, Verdict};
/// let mut table = Table::new("Roses", &["colour", "share"]);
/// table.row(vec![Cell::text("red"), Cell::Number(0.25, Form::Fixed(2))], Some(Verdict::Agrees));
/// assert_eq!(table.to_text(), "Roses\n\ncolour  share  verdict\nred      0.25  agrees\n");
/// assert_eq!(table.to_csv(), "colour,share,verdict\nred,0.25,agrees\n");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Whether it holds times: these differ from run to run, and no verdict hangs on them.
    pub timed: bool,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What a reader should know, each a paragraph below the table.
    pub notes: Vec<String>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        Self { title: title.into(), timed: false, columns, rows: Vec::new(), notes: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it does not have one cell per column.
    pub fn row(&mut self, cells: Vec<Cell>, verdict: Option<Verdict>) {
        assert_eq!(cells.len(), self.columns.len(), "one cell per column of {:?}", self.title);
        self.rows.push(Row { cells, verdict, checks: Checks::default() });
    }

    /// Adds a row whose verdict follows from comparisons.
    ///
    /// # Panics
    /// If it does not have one cell per column.
    pub fn judge(&mut self, cells: Vec<Cell>, checks: Checks) {
        self.row(cells, Some(checks.verdict()));
        if let Some(row) = self.rows.last_mut() {
            row.checks = checks;
        }
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(crate) fn judged(&self) -> bool {
        self.rows.iter().any(|row| row.verdict.is_some())
    }

    /// Aligned columns, reasons of verdicts and notes below them.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut lines = vec![self.columns.clone()];
        for row in &self.rows {
            lines.push(row.cells.iter().map(Cell::show).collect());
        }
        let judged = self.judged();
        if judged {
            lines[0].push("verdict".to_owned());
            for (line, row) in lines[1..].iter_mut().zip(&self.rows) {
                line.push(row.verdict.as_ref().map_or(String::new(), |verdict| verdict.word().to_owned()));
            }
        }
        let is_text = |column: usize| column >= self.columns.len() || self.is_text(column);
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let layout: Vec<(usize, bool)> = (0..lines[0].len()).map(|at| (width(at), is_text(at))).collect();
        let mut out = format!("{}\n\n", self.title);
        for line in &lines {
            let cells = line.iter().zip(&layout).map(|(cell, &(width, left))| {
                if left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            out.push('\n');
        }
        for (_, below) in self.below() {
            out.push('\n');
            wrap(&below, &mut out);
        }
        out
    }

    /// Whether a column holds nothing but words.
    pub(crate) fn is_text(&self, column: usize) -> bool {
        self.rows.iter().all(|row| matches!(row.cells[column], Cell::Text(_) | Cell::Empty))
    }

    /// Paragraphs below the table: the reasons of verdicts, each with its verdict's word, and the
    /// notes.
    pub(crate) fn below(&self) -> Vec<(&'static str, String)> {
        // A reason that several rows share is printed once.
        let mut shared: Vec<(&'static str, &str, Vec<u32>)> = Vec::new();
        for (row, number) in self.rows.iter().zip(1..) {
            let (word, reasons) = match &row.verdict {
                Some(Verdict::Differs(reasons)) => ("differs", reasons.as_slice()),
                Some(Verdict::Explained(reason)) => ("explained", std::slice::from_ref(reason)),
                _ => continue,
            };
            for reason in reasons {
                match shared.iter_mut().find(|(same, other, _)| (*same, *other) == (word, reason)) {
                    Some((.., rows)) => rows.push(number),
                    None => shared.push((word, reason, vec![number])),
                }
            }
        }
        let mut below: Vec<_> = shared
            .iter()
            .map(|(word, reason, rows)| (*word, format!("{} {}: {reason}", numbered(rows), verb(word, rows))))
            .collect();
        below.extend(self.notes.iter().map(|note| ("", note.clone())));
        below
    }

    /// Comma-separated values with all digits. A column of means is followed by one of their
    /// standard errors.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let means = |column: usize| self.rows.iter().any(|row| matches!(row.cells[column], Cell::Mean(..)));
        let means: Vec<bool> = (0..self.columns.len()).map(means).collect();
        let judged = self.judged();
        let mut head = Vec::new();
        for (name, mean) in self.columns.iter().zip(&means) {
            head.push(quoted(name));
            head.extend(mean.then(|| quoted(&format!("{name}, standard error"))));
        }
        if judged {
            head.push("verdict".to_owned());
        }
        let mut out = head.join(",") + "\n";
        for row in &self.rows {
            let mut line = Vec::new();
            for (cell, mean) in row.cells.iter().zip(&means) {
                let (value, error) = match cell {
                    Cell::Empty => (String::new(), String::new()),
                    Cell::Text(text) => (quoted(text), String::new()),
                    Cell::Count(count) => (count.to_string(), String::new()),
                    Cell::Number(value, _) => (exact(*value), String::new()),
                    Cell::Mean(Mean { mean, standard_error, .. }, _) => {
                        (exact(*mean), exact(*standard_error))
                    }
                };
                line.push(value);
                line.extend(mean.then_some(error));
            }
            if judged {
                line.push(
                    row.verdict.as_ref().map_or(String::new(), |verdict| verdict.word().to_lowercase()),
                );
            }
            out.push_str(&line.join(","));
            out.push('\n');
        }
        out
    }
}

/// All digits, in the shorter of both ways to write them.
fn exact(value: f64) -> String {
    let (plain, power) = (value.to_string(), format!("{value:e}"));
    if power.len() < plain.len() { power } else { plain }
}

/// Quoted where commas, quotes or line ends would end the cell.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Appends a paragraph, broken into lines of up to 100 characters.
pub fn wrap(text: &str, out: &mut String) {
    let mut width = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 100 {
            out.push('\n');
            width = 0;
        }
        if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
}

/// `row 3`, `rows 1 to 6, 9`.
fn numbered(rows: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &row in rows {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == row => *last = row,
            _ => runs.push((row, row)),
        }
    }
    let run = |&(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let runs: Vec<String> = runs.iter().map(run).collect();
    format!("{} {}", if rows.len() == 1 { "row" } else { "rows" }, runs.join(", "))
}

fn verb(word: &'static str, rows: &[u32]) -> &'static str {
    if word == "differs" && rows.len() > 1 { "differ" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("A table", &["name, quoted", "n", "rate", "off by"]);
        let rate = Mean { mean: 0.021_59, standard_error: 0.000_012, trials: 9 };
        let cells = |name: &str| {
            let rate = Cell::Mean(rate, Form::Power(3));
            vec![Cell::text(name), Cell::Count(10_000), rate, Cell::Number(0.0015, Form::Percent(2))]
        };
        table.row(cells("plain"), Some(Verdict::Agrees));
        table.row(cells("a \"b\", c"), Some(Verdict::Differs(vec!["too\nhigh".to_owned()])));
        table.row(vec![Cell::text("µ"), Cell::Empty, Cell::Empty, Cell::Empty], None);
        table.note("One note.");
        table
    }

    #[test]
    fn text_is_aligned_by_characters_and_gives_reasons() {
        let expected = "\
A table

name, quoted       n               rate  off by  verdict
plain         10,000  2.159e-2 ± 1.2e-5  +0.15%  agrees
a \"b\", c      10,000  2.159e-2 ± 1.2e-5  +0.15%  DIFFERS
µ

row 2 differs: too high

One note.
";
        assert_eq!(table().to_text(), expected);
    }

    #[test]
    fn csv_quotes_what_must_be_quoted_and_keeps_all_digits() {
        let expected = "\
\"name, quoted\",n,rate,\"rate, standard error\",off by,verdict
plain,10000,0.02159,1.2e-5,0.0015,agrees
\"a \"\"b\"\", c\",10000,0.02159,1.2e-5,0.0015,differs
µ,,,,,
";
        assert_eq!(table().to_csv(), expected);
    }

    #[test]
    fn json_has_numbers_as_numbers() {
        let json = serde_json::to_value(table()).unwrap();
        assert_eq!(json["rows"][1]["cells"][0], "a \"b\", c");
        assert_eq!(json["rows"][0]["cells"][2]["mean"], 0.021_59);
        assert_eq!(json["rows"][0]["cells"][2]["standard_error"], 0.000_012);
        assert_eq!(json["rows"][0]["verdict"]["verdict"], "agrees");
        assert_eq!(json["rows"][1]["verdict"]["why"][0], "too\nhigh");
        assert!(json["rows"][2]["verdict"].is_null() && json["rows"][2]["cells"][1].is_null());
    }

    #[test]
    fn errors_have_two_digits() {
        let show =
            |mean, standard_error, form| Cell::Mean(Mean { mean, standard_error, trials: 9 }, form).show();
        assert_eq!(show(0.501_92, 0.000_03, Form::Fixed(5)), "0.50192 ± 0.000030");
        assert_eq!(show(0.015, 0.002, Form::Percent(1)), "+1.5% ± 0.20%");
        assert_eq!(show(12.0, 3.0, Form::Fixed(0)), "12 ± 3.0");
        assert_eq!(show(0.0, 0.0, Form::Power(2)), "0 ± 0");
        assert_eq!(show(0.0, 1.2e-8, Form::Power(2)), "0 ± 1.2e-8");
    }
}
