//! The report: one HTML file with all tables and pictures, which needs nothing from anywhere else.
//!
//! Colours follow the reader's light or dark setting; at the width of a telephone pictures stand
//! below each other and wide tables scroll within their own frame.

use crate::drawing::{legend, names, svg};
use crate::report::{Report, Run, escape};
use crate::{Cell, Table, Verdict};
use std::fmt::Write;

/// Tables up to this long are shown at once, longer ones behind a line that opens them.
const SHORT: usize = 14;

/// The whole page. `command` is what a reader would type to get it, `facts` more about the run, in
/// a line.
pub(crate) fn page(run: &Run, command: &str, facts: &str) -> String {
    let experiments = run.experiments();
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>The lab of Gardenia</title>\n";
    let _ = writeln!(out, "<style>{}</style>\n</head>\n<body>\n<header>", include_str!("report.css"));
    out += "<h1>The lab of Gardenia</h1>\n";
    out += "<p>The experiments of the papers on Bloom filters, repeated: our numbers beside the papers' and beside theory. Each \
            row has a verdict, computed from the numbers by the rule below its table. <i>Agrees</i>: within that rule. <i>Explained</i>: \
            we know why the paper's number or formula is off (most are misprints), and the row shows the corrected one. \
            <i>Differs</i>: anything else; such a run fails.</p>\n";
    let _ = writeln!(out, "<p class=\"total\">{}</p>", chips(experiments.iter().flat_map(Report::verdicts)));
    let _ =
        writeln!(out, "<pre>{}</pre>\n<p class=\"facts\">{}</p>\n</header>", escape(command), escape(facts));
    out += "<nav aria-label=\"Experiments\"><ol>\n";
    for report in experiments {
        let _ = writeln!(
            out,
            "<li><a href=\"#{name}\"><code>{name}</code> <span>{}</span></a> <div>{}</div></li>",
            escape(report.title()),
            chips(report.verdicts()),
            name = report.name(),
        );
    }
    out += "</ol></nav>\n<main>\n";
    experiments.iter().for_each(|report| section(report, &mut out));
    out + "</main>\n</body>\n</html>\n"
}

fn section(report: &Report, out: &mut String) {
    let name = report.name();
    let _ = writeln!(out, "<section id=\"{name}\">\n<h2>{}</h2>", escape(report.title()));
    let _ = writeln!(out, "<p class=\"source\"><code>{name}</code> · {}</p>", escape(report.source()));
    let _ = writeln!(
        out,
        "<p class=\"claim\">{}</p>\n<p>{}</p>",
        escape(report.claim()),
        chips(report.verdicts())
    );
    let figures = report.figures();
    if !figures.is_empty() {
        let names = names(figures);
        out.push_str("<div class=\"figures\">\n");
        for figure in figures {
            let _ = writeln!(
                out,
                "<figure><figcaption>{}</figcaption>{}{}</figure>",
                escape(&figure.title),
                svg(figure, &names),
                legend(figure, &names)
            );
        }
        out.push_str("</div>\n");
    }
    report.tables().iter().for_each(|table| self::table(table, out));
    out.push_str("</section>\n");
}

fn table(table: &Table, out: &mut String) {
    let judged = table.judged();
    let differs = table.rows.iter().any(|row| row.verdict.as_ref().is_some_and(Verdict::differs));
    let long = table.rows.len() > SHORT;
    if long {
        let open = if differs { " open" } else { "" };
        let of = chips(table.rows.iter().filter_map(|row| row.verdict.as_ref()));
        let count = table.rows.len();
        let _ = writeln!(
            out,
            "<details{open}><summary><b>{}</b> ({count} rows) {of}</summary>",
            escape(&table.title)
        );
    } else {
        let _ = writeln!(out, "<h3>{}</h3>", escape(&table.title));
    }
    let sticky = if judged { " class=\"judged\"" } else { "" };
    let _ = write!(out, "<div class=\"scroll\"><table{sticky}>\n<thead><tr>");
    let textual: Vec<bool> = (0..table.columns.len()).map(|column| table.is_text(column)).collect();
    let class = |column: usize| if textual[column] { " class=\"t\"" } else { "" };
    for (column, name) in table.columns.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(name));
    }
    out.push_str(if judged { "<th scope=\"col\" class=\"t\">verdict</th>" } else { "" });
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (column, cell) in row.cells.iter().enumerate() {
            let text = match cell {
                Cell::Mean(..) => {
                    let text = cell.show();
                    let (mean, error) = text.split_once(" ± ").unwrap_or((&text, ""));
                    format!("{mean}<small> ± {error}</small>")
                }
                _ => escape(&cell.show()),
            };
            let _ = write!(out, "<td{}>{text}</td>", class(column));
        }
        if judged {
            let _ = write!(out, "<td class=\"t\">{}</td>", row.verdict.as_ref().map_or(String::new(), chip));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    for (class, text) in table.below() {
        let _ = writeln!(out, "<p class=\"note {class}\">{}</p>", escape(&text));
    }
    out.push_str(if long { "</details>\n" } else { "" });
}

fn chip(verdict: &Verdict) -> String {
    let (class, sign) = style(verdict);
    format!("<span class=\"chip {class}\">{sign} {}</span>", verdict.word().to_lowercase())
}

/// How a verdict looks: its class and its sign.
fn style(verdict: &Verdict) -> (&'static str, char) {
    match verdict {
        Verdict::Agrees => ("agrees", '✓'),
        Verdict::Explained(_) => ("explained", '≈'),
        Verdict::Differs(_) => ("differs", '✗'),
    }
}

/// How many of each.
fn chips<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> String {
    let mut counts: Vec<(&str, char, String, u64)> = Vec::new();
    for verdict in verdicts {
        let (class, sign) = style(verdict);
        match counts.iter_mut().find(|(other, ..)| *other == class) {
            Some((.., count)) => *count += 1,
            None => counts.push((class, sign, verdict.word().to_lowercase(), 1)),
        }
    }
    counts.sort_by_key(|(class, ..)| {
        ["agrees", "explained", "differs"].iter().position(|known| known == class)
    });
    let one = |(class, sign, word, count): &(&str, char, String, u64)| {
        let word = if *count == 1 { word.as_str() } else { word.trim_end_matches('s') };
        format!("<span class=\"chip {class}\">{sign} {count} {word}</span>")
    };
    counts.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Experiment, Figure, Form, Mean, Outcome, Plan, Progress};

    struct Roses;
    impl Experiment for Roses {
        fn name(&self) -> &'static str {
            "roses"
        }
        fn title(&self) -> &'static str {
            "Roses & thorns"
        }
        fn source(&self) -> &'static str {
            "A garden"
        }
        fn claim(&self) -> &'static str {
            "Roses < violets."
        }
        fn run(&self, _: &Plan, _: &dyn Progress) -> anyhow::Result<Outcome> {
            let mut short = Table::new("Short", &["name", "n"]);
            let mean = Cell::Mean(Mean::of(&[1.0, 2.0]), Form::Fixed(1));
            short.row(vec![Cell::text("<b>"), mean], Some(Verdict::Explained("a & b".to_owned())));
            let mut long = Table::new("Long", &["n"]);
            (0..20).for_each(|n| long.row(vec![Cell::Count(n)], Some(Verdict::Agrees)));
            let figure = Figure::new("Red", Axis::linear("x"), Axis::linear("y"))
                .theory("law", [(0.0, 1.0), (1.0, 2.0)]);
            Ok(Outcome { tables: vec![short, long], figures: vec![figure] })
        }
    }

    fn page_of(outcome: Outcome) -> String {
        page(
            &Run::new(&Plan::quick(), vec![Report::new(&Roses, outcome)]),
            "gardenia lab run <all>",
            "seed 1",
        )
    }

    #[test]
    fn a_page_is_whole_and_everything_is_escaped() {
        let page = page_of(Roses.run(&Plan::quick(), &()).unwrap());
        for part in [
            "Roses &amp; thorns",
            "Roses &lt; violets.",
            "&lt;b&gt;",
            "gardenia lab run &lt;all&gt;",
            "<a href=\"#roses\">",
            "✓ 20 agree<",
            "≈ 1 explained",
            "1.5<small> ± 0.50</small>",
            "row 1 explained: a &amp; b",
            "<figcaption>Red</figcaption><svg",
            "</svg>law</li>",
            "<details><summary><b>Long</b> (20 rows)",
        ] {
            assert!(page.contains(part), "no {part} in {page}");
        }
        assert!(
            !page.contains("Roses & thorns") && !page.contains("Roses < violets") && !page.contains("a & b")
        );
        // Each element that is opened is closed.
        for element in
            ["section", "table", "tr", "td", "div", "details", "figure", "ul", "ol", "span", "small", "svg"]
        {
            let open =
                page.matches(&format!("<{element}>")).count() + page.matches(&format!("<{element} ")).count();
            assert_eq!(open, page.matches(&format!("</{element}>")).count(), "{element}");
        }
        // Nothing is fetched.
        assert!(!page.contains("http") && !page.contains("<script") && !page.contains("url("));
    }

    #[test]
    fn a_long_table_is_open_if_something_differs() {
        let mut outcome = Roses.run(&Plan::quick(), &()).unwrap();
        outcome.tables[1].rows[7].verdict = Some(Verdict::Differs(vec!["eight".to_owned()]));
        let page = page_of(outcome);
        assert!(page.contains("<details open>") && page.contains("✗ 1 differs"), "{page}");
        assert!(page.contains("<p class=\"note differs\">row 8 differs: eight</p>"), "{page}");
    }
}
