//! Papers: the curves of three of them, and fresh simulations with real filters.

use super::{Answer, Call, finite, refuse, start};
use crate::job::Job;
use crate::server::Shared;
use gardenia::index::{AnyScheme, Scheme, SchemeId};
use gardenia::theory::{bloom, choices, sample};
use gardenia::{AnyFilter, Filter, Spec};
use serde::Deserialize;
use serde_json::{Value, json};

const MOST_ITEMS: u64 = 1_000_000;
const QUERIES: u64 = 50_000;

#[derive(Clone, Copy, PartialEq)]
enum Figure {
    /// Kirsch and Mitzenmacher (2006): schemes against the number of keys.
    Schemes,
    /// Lumetta and Mitzenmacher (2007): choices against the number of hashes.
    Choices,
    /// Grothoff: the whole numbers next to b·ln 2, against the bits per key; rates as multiples of
    /// that without rounding.
    Hashes,
}

impl Figure {
    fn named(name: &str) -> Answer<Self> {
        match name {
            "schemes" => Ok(Self::Schemes),
            "choices" => Ok(Self::Choices),
            "hashes" => Ok(Self::Hashes),
            _ => refuse(400, format!("{name}: figures are schemes, choices and hashes")),
        }
    }
}

/// What is drawn: c bits per key, n keys, k hashes.
#[derive(Clone, Copy, Deserialize)]
struct Setting {
    c: f64,
    n: u64,
    k: u32,
}

impl Setting {
    fn checked(self) -> Answer<Self> {
        if !(1.0..=64.0).contains(&self.c)
            || !(1..=MOST_ITEMS).contains(&self.n)
            || !(1..=32).contains(&self.k)
        {
            return refuse(400, "c must be between 1 and 64, n between 1 and a million, k between 1 and 32");
        }
        Ok(self)
    }
    fn cells(&self, items: u64) -> u64 {
        ((self.c * items as f64).round() as u64).max(1)
    }
}

/// A point that can be simulated: where it is, the filter, and how many keys go in.
struct Point {
    series: String,
    x: f64,
    spec: String,
    items: u64,
    /// The rate that is drawn as 1.
    unit: f64,
}

/// The numbers of keys of the figure of schemes: up to n, by factors of about three.
fn sizes(most: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (0..)
        .map(|power| (100.0 * 10f64.powf(f64::from(power) / 2.0)) as u64)
        .take_while(|size| *size < most)
        .collect();
    all.push(most);
    all
}

fn halves(c: f64) -> impl Iterator<Item = f64> {
    (4..=(2.0 * c) as u64).map(|half| half as f64 / 2.0)
}

/// The whole numbers next to b·ln 2, and the best.
fn around(bits: f64, items: u64) -> [(&'static str, u32); 3] {
    let exact = bits * std::f64::consts::LN_2;
    let cells = (bits * items as f64) as u64;
    [
        ("rounded down", (exact as u32).max(1)),
        ("rounded up", exact.ceil() as u32),
        ("best", bloom::best_hashes(cells, items)),
    ]
}

/// The rate of a Bloom filter with b·ln 2 hashes, as if that were a whole number: 2 to the power of
/// −b·ln 2.
fn unrounded(bits: f64) -> f64 {
    choices::fpp_information(bits * std::f64::consts::LN_2)
}

fn schemes() -> impl Iterator<Item = SchemeId> {
    SchemeId::ALL.into_iter()
}

/// `papers?figure=&c=&n=&k=`: curves by theory.
pub(super) fn curves(call: &Call<'_>) -> Answer {
    let figure = Figure::named(&call.text("figure").unwrap_or_default())?;
    let setting = Setting {
        c: call.number("c")?.unwrap_or(8.0),
        n: call.number("n")?.unwrap_or(10_000),
        k: call.number("k")?.unwrap_or(6),
    };
    let setting = setting.checked()?;
    let Setting { n, k, .. } = setting;
    let cells = setting.cells(n);
    let line = |name: String, points: Vec<(f64, f64)>| {
        let points: Vec<_> = points.into_iter().map(|(x, y)| json!([x, finite(y)])).collect();
        json!({ "name": name, "points": points })
    };
    let lines: Vec<Value> = match figure {
        Figure::Schemes => schemes()
            .map(|id| {
                let scheme = AnyScheme::new(id, k);
                let rate = |items: &u64| {
                    (*items as f64, scheme.planned_fpp(scheme.fit(setting.cells(*items)), *items))
                };
                line(id.name().into(), sizes(n).iter().map(rate).collect())
            })
            .collect(),
        Figure::Choices => (1..=4)
            .map(|choice| {
                let rate = |hashes: u32| (f64::from(hashes), choices::fpp(cells, n, hashes, choice));
                line(
                    format!("{choice} choices").replace("1 choices", "1 choice"),
                    (1..=16).map(rate).collect(),
                )
            })
            .collect(),
        Figure::Hashes => (0..3)
            .map(|which| {
                let rate = |bits: f64| {
                    let hashes = around(bits, n)[which].1;
                    (bits, bloom::fpp((bits * n as f64) as u64, n, hashes) / unrounded(bits))
                };
                line(around(8.0, n)[which].0.into(), halves(setting.c).map(rate).collect())
            })
            .collect(),
    };
    Ok(json!({ "lines": lines, "cells": cells, "best": bloom::best_hashes(cells, n) }))
}

fn points(figure: Figure, setting: Setting) -> Vec<Point> {
    let Setting { n, k, .. } = setting;
    match figure {
        Figure::Schemes => schemes()
            .flat_map(|id| {
                sizes(n).into_iter().map(move |items| {
                    let cells = AnyScheme::new(id, k).fit(setting.cells(items));
                    let spec = format!("bloom bits={cells} hashes={k} scheme={}", id.name());
                    Point { series: id.name().into(), x: items as f64, spec, items, unit: 1.0 }
                })
            })
            .collect(),
        Figure::Choices => (1..=4u32)
            .flat_map(|choice| {
                (1..=16u32).map(move |hashes| {
                    let bits = setting.cells(n);
                    let spec = match choice {
                        1 => format!("bloom bits={bits} hashes={hashes}"),
                        _ => format!("choice bits={bits} hashes={hashes} choices={choice}"),
                    };
                    let series = if choice == 1 { "1 choice".into() } else { format!("{choice} choices") };
                    Point { series, x: hashes.into(), spec, items: n, unit: 1.0 }
                })
            })
            .collect(),
        Figure::Hashes => halves(setting.c)
            .flat_map(|bits| {
                around(bits, n).map(|(series, hashes)| {
                    let spec =
                        format!("bloom bits={} hashes={hashes} scheme=independent", (bits * n as f64) as u64);
                    Point { series: series.into(), x: bits, spec, items: n, unit: unrounded(bits) }
                })
            })
            .collect(),
    }
}

#[derive(Deserialize)]
struct Simulation {
    figure: String,
    seed: u64,
    #[serde(flatten)]
    setting: Setting,
}

/// `simulate` with a [`Simulation`]: fills real filters for each point and asks them for absent
/// keys.
pub(super) fn simulate(shared: &Shared, call: &Call<'_>) -> Answer {
    let Simulation { figure, seed, setting } = call.json()?;
    let (figure, setting) = (Figure::named(&figure)?, setting.checked()?);
    if figure != Figure::Schemes && setting.n > 100_000 {
        return refuse(400, "a simulation of this figure needs n of at most 100,000");
    }
    start(shared, call, move |job| run(job, &points(figure, setting), seed))
}

fn run(job: &Job, points: &[Point], seed: u64) -> Answer {
    let mut measured: Vec<Value> = Vec::new();
    let told = |measured: &[Value]| json!({ "points": measured, "queries": QUERIES });
    for (number, point) in points.iter().enumerate() {
        if job.is_stopped() {
            break;
        }
        let spec: Spec = point.spec.parse()?;
        // Small filters differ from each other: as many of them as hold ten thousand keys together.
        let filters = (10_000 / point.items).clamp(1, 100);
        let mut found = 0;
        for number in 0..filters {
            let mut filter = spec.clone().seed(seed.wrapping_add(number)).build()?;
            (0..point.items).for_each(|key| _ = filter.insert(key));
            found += absent(&filter, point.items, QUERIES / filters);
        }
        let rate = sample::rate(found, QUERIES / filters * filters);
        let [y, low, high] = [rate.rate, rate.low, rate.high].map(|rate| rate / point.unit);
        measured.push(json!({ "name": point.series, "x": point.x, "y": y, "low": low, "high": high }));
        job.report((number + 1) as f64 / points.len() as f64, told(&measured));
    }
    Ok(told(&measured))
}

/// How many of `queries` keys after the first `items` are reported as present.
fn absent(filter: &AnyFilter, items: u64, queries: u64) -> u64 {
    let digests: Vec<_> = (items..items + queries).map(|key| filter.hasher().digest_key(&key)).collect();
    let mut answers = vec![false; digests.len()];
    filter.contains_digests(&digests, &mut answers);
    answers.into_iter().map(u64::from).sum()
}
