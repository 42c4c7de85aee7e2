//! The report as a page: numbers and plots in one file, without scripts and without anything from
//! elsewhere.

use crate::decide::Reason;
use crate::report::Report;
use gardenia_terminal::human;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222;background:#fff}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;border-bottom:1px solid #ddd;text-align:right}\
td:first-child,th:first-child{text-align:left}td.text{text-align:left;max-width:36em;overflow-wrap:anywhere}\
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}.bar{fill:#4477aa}.line{stroke:#4477aa;stroke-width:2;fill:none}\
.axis{stroke:#888}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}}";

/// The page.
pub fn page(report: &Report) -> String {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Corpus report</title>",
    );
    let _ = write!(
        out,
        "<meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\n<h1>Corpus report</h1>\n"
    );
    let total = &report.total;
    let _ = writeln!(out, "<pre>{}</pre>", escape(&report.text()));
    let reasons: Vec<(String, f64)> = total
        .removed
        .iter()
        .map(|(reason, removed)| (reason.text().to_owned(), removed.bytes as f64))
        .collect();
    if !reasons.is_empty() {
        let _ = write!(
            out,
            "<h2>Bytes removed, by reason</h2>\n{}",
            bars(&reasons, |bytes| human::bytes(bytes as u64))
        );
    }
    if !total.bands.is_empty() {
        // Of documents of similarity s the share sʳ of the bands agrees.
        let rows = report.options.near.as_ref().map_or(1, |near| near.bands.rows);
        let bands = total.bands.len() - 1;
        let name = |known: usize| match known {
            0 => "no band known".to_owned(),
            known => {
                let similarity = (known as f64 / bands as f64).powf(1.0 / rows as f64);
                format!("about {similarity:.2} ({known} of {bands} bands)")
            }
        };
        let counts = total.bands.iter().enumerate();
        let bins: Vec<(String, f64)> = counts.map(|(at, count)| (name(at), *count as f64)).collect();
        let _ = write!(
            out,
            "<h2>Documents by similarity to what came before</h2>\n{}",
            bars(&bins, |count| human::count(count as u64))
        );
    }
    if !report.curve.is_empty() {
        let points: Vec<(f64, f64)> =
            report.curve.iter().map(|point| (point.similarity, point.removed)).collect();
        let _ = write!(
            out,
            "<h2>Share of documents removed, by similarity to one before</h2>\n{}",
            line(&points)
        );
    }
    if !total.overlaps.is_empty() {
        let width = 100 / total.overlaps.len();
        let bins: Vec<(String, f64)> = total
            .overlaps
            .iter()
            .enumerate()
            .map(|(at, count)| (format!("{}–{}%", at * width, (at + 1) * width), *count as f64))
            .collect();
        let _ = write!(
            out,
            "<h2>Units by share of known n-grams</h2>\n{}",
            bars(&bins, |count| human::count(count as u64))
        );
    }
    if !report.repeated.is_empty() {
        out.push_str("<h2>Removed most often</h2>\n<table><tr><th>times</th><th>text</th></tr>\n");
        for repeated in &report.repeated {
            let (times, text) = (repeated.times(), escape(&repeated.text));
            let _ = writeln!(out, "<tr><td>{times}</td><td class=\"text\">{text}</td></tr>");
        }
        out.push_str("</table>\n");
    }
    out.push_str(
        "<h2>Files</h2>\n<table><tr><th>file</th><th>documents</th><th>kept</th><th>bytes</th><th>kept</th>",
    );
    let used: Vec<Reason> =
        Reason::ALL.into_iter().filter(|reason| total.removed.contains_key(reason)).collect();
    for reason in &used {
        let _ = write!(out, "<th>{}</th>", escape(reason.text()));
    }
    out.push_str("</tr>\n");
    for file in &report.files {
        let tally = &file.tally;
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
            escape(&file.file),
            human::count(tally.documents),
            human::count(tally.kept),
            human::bytes(tally.bytes_in),
            human::bytes(tally.bytes_out)
        );
        for reason in &used {
            let units = tally.removed.get(reason).map_or(0, |removed| removed.units);
            let _ = write!(out, "<td>{}</td>", human::count(units));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n</html>\n");
    out
}

/// Horizontal bars with names and values.
fn bars(bars: &[(String, f64)], show: impl Fn(f64) -> String) -> String {
    let most = bars.iter().map(|bar| bar.1).fold(1.0, f64::max);
    let mut out = format!("<svg viewBox=\"0 0 800 {}\" width=\"800\" role=\"img\">", bars.len() * 22 + 4);
    for (at, (name, value)) in bars.iter().enumerate() {
        let (y, width) = (at * 22 + 2, value / most * 380.0);
        let _ = write!(
            out,
            "<text x=\"280\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"bar\" x=\"290\" y=\"{y}\" width=\"{width:.1}\" height=\"18\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text>",
            y + 14,
            escape(name),
            296.0 + width,
            y + 14,
            show(*value)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A curve between 0 and 1.
fn line(points: &[(f64, f64)]) -> String {
    let place = |(x, y): (f64, f64)| (60.0 + x * 500.0, 220.0 - y * 200.0);
    let mut out = String::from(
        "<svg viewBox=\"0 0 620 260\" width=\"620\" role=\"img\"><path class=\"axis\" d=\"M60 20V220H560\" fill=\"none\"/>",
    );
    for tick in 0..=4 {
        let share = f64::from(tick) / 4.0;
        let ((x, _), (_, y)) = (place((share, 0.0)), place((0.0, share)));
        let _ = write!(out, "<text x=\"{x}\" y=\"240\" text-anchor=\"middle\">{share}</text>");
        let _ = write!(
            out,
            "<text x=\"52\" y=\"{}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            human::percent(share)
        );
    }
    out.push_str("<polyline class=\"line\" points=\"");
    for point in points {
        let (x, y) = place(*point);
        let _ = write!(out, "{x:.1},{y:.1} ");
    }
    out.push_str("\"/></svg>\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
