//! How fast the schemes converge: the difference of the false-positive probability from its limit
//! p, against n.
//!
//! The paper proves Pr(F) = p + O(1/n) for every scheme (Theorems 6.1 and 6.2). The differences are
//! parts of a percent, and counting false positives one by one would take days to see them. Three
//! things help. With a step given, all m queries of that step are answered at once by ANDing
//! rotated copies of the bits; each filter is asked for n steps. The steps that visit few cells,
//! rare and very wrong, are all asked, and weighed. And most of the difference between filters is
//! that of their shares of ones, whose mean is known: what it makes of the rate, k·fill^(k-1) for
//! each, is taken off. The rate of independent positions needs no queries: it is fill^k.

use crate::schemes::{
    AllFirst, Filter, KIRSCH, Size, expected, library_expected, library_filter, library_mean_fill, limit,
    mean_fill,
};
use crate::theory::{Overlap, convergence};
use crate::{
    Axis, Bench, Cell, Checks, Experiment, Figure, Fit, Form, Mean, Outcome, Plan, Progress, Stream, Table,
    Way,
};

/// The order of convergence of all schemes.
#[derive(Clone, Copy, Debug, Default)]
pub struct KmConvergence {
    /// The simulated scheme that leaves out what makes it: it shows that the verdicts notice.
    pub broken: Option<Way>,
}

const PER_ITEM: [u64; 2] = [8, 16];
const ITEMS: [u64; 6] = [250, 500, 1_000, 2_000, 4_000, 8_000];
const QUICK: usize = 3;

/// Sizes at which the library's filters are asked for all first hash values, too.
const LIBRARY: [u64; 2] = [1_000, 2_000];

/// The rate of one filter, freed from what its share of ones makes of it.
fn rate(size: &Size, way: Way, broken: bool, stream: &mut Stream) -> f64 {
    let filter = Filter::new(size, way, broken, stream);
    let (k, mean) = (f64::from(size.hashes), mean_fill(size, way));
    let fill = filter.ones() as f64 / size.cells(way) as f64;
    let rate = if way == Way::Standard {
        libm::pow(fill, k)
    } else {
        AllFirst::new(&filter, size, way, broken).rate(size.items, stream)
    };
    rate - k * libm::pow(mean, k - 1.0) * (fill - mean)
}

/// The same of a filter of the library.
fn library_rate(size: &Size, way: Way, stream: &mut Stream) -> f64 {
    let filter = library_filter(size, way, stream);
    let (k, mean) = (f64::from(size.hashes), library_mean_fill(size, way));
    let fill = filter.ones() as f64 / size.cells(way) as f64;
    let rate = if way == Way::Standard {
        libm::pow(fill, k)
    } else {
        // Its double hashing never takes the step 0.
        let mut all = AllFirst::new(&filter, size, way, false);
        if way == Way::Double {
            all.rate_without_zero(size.items, stream)
        } else {
            all.rate(size.items, stream)
        }
    };
    rate - k * libm::pow(mean, k - 1.0) * (fill - mean)
}

/// One scheme at one number of bits per key: the differences at each n, as shares of p.
struct Curve {
    per_item: u64,
    way: Way,
    points: Vec<(Size, Mean)>,
    /// What theory says of them.
    theory: Vec<f64>,
}

impl Curve {
    /// The slope in logarithms, from points that are above 0, and that of the theory at the same
    /// points; none if these are too few.
    fn slope(&self) -> Option<(Mean, f64)> {
        let positive = |((size, off), theory): (&(Size, Mean), &f64)| {
            let (n, error) = (libm::log(size.items as f64), off.standard_error / off.mean);
            let known = off.mean > 0.0 && off.standard_error > 0.0;
            known.then(|| ((n, libm::log(off.mean), error), (n, libm::log(*theory), error)))
        };
        let (found, theory): (Vec<_>, Vec<_>) =
            self.points.iter().zip(&self.theory).filter_map(positive).unzip();
        (found.len() >= 2).then(|| (Fit::of(&found).slope, Fit::of(&theory).slope.mean))
    }

    /// n times the differences, found and by theory: means by the errors of those that were found.
    fn constants(&self) -> (Mean, f64) {
        let (mut all, mut found, mut theory) = (0.0, 0.0, 0.0);
        for ((size, off), by_theory) in self.points.iter().zip(&self.theory) {
            let n = size.items as f64;
            let weight = 1.0 / (n * off.standard_error * n * off.standard_error).max(f64::MIN_POSITIVE);
            all += weight;
            found += weight * n * off.mean;
            theory += weight * n * by_theory;
        }
        let trials = self.points[0].1.trials;
        (Mean { mean: found / all, standard_error: libm::sqrt(1.0 / all), trials }, theory / all)
    }

    fn row(&self, table: &mut Table) {
        let slope = self.slope();
        let (found, theory) = self.constants();
        let mut checks = Checks::default();
        if let Some((slope, by_theory)) = slope {
            // It is the trials that tell the errors, not the points.
            checks.is("slope", Mean { trials: self.points[0].1.trials, ..slope }, by_theory);
        }
        checks.is("constant", found, theory);
        // The theorem's own bound, which holds for all n.
        for (size, off) in &self.points {
            let (cells, n, k) = (size.cells(self.way), size.items, size.hashes);
            let overlap = match self.way {
                Way::Standard => Overlap::independent(cells, n, k),
                Way::Partition => Overlap::partition(cells, n, k),
                _ => Overlap::double(cells, n, k),
            };
            let difference = Mean {
                mean: off.mean * limit(size),
                standard_error: off.standard_error * limit(size),
                ..*off
            };
            let what = format!("n = {n}: the difference, by the bound of Theorem 6.1");
            checks.at_most(&what, difference, convergence(n, k, &overlap));
        }
        let cells = vec![
            Cell::Count(self.per_item),
            Cell::text(self.way.name()),
            slope.map_or(Cell::Empty, |(slope, _)| Cell::Mean(slope, Form::Fixed(3))),
            Cell::number(slope.map(|(_, theory)| theory), Form::Fixed(3)),
            Cell::Mean(found, Form::Fixed(2)),
            Cell::Number(theory, Form::Fixed(2)),
            Cell::Number(found.mean / theory - 1.0, Form::Percent(1)),
        ];
        table.judge(cells, checks);
    }
}

impl Experiment for KmConvergence {
    fn name(&self) -> &'static str {
        "km-convergence"
    }
    fn title(&self) -> &'static str {
        "Convergence of double hashing"
    }
    fn source(&self) -> &'static str {
        "Kirsch and Mitzenmacher (2008), Theorems 6.1 and 6.2"
    }
    fn claim(&self) -> &'static str {
        "The false-positive probability of every scheme is p + O(1/n): the difference from p falls with slope -1."
    }

    fn run(&self, plan: &Plan, progress: &dyn Progress) -> anyhow::Result<Outcome> {
        plan.check()?;
        let trials = plan.trials(400, 100);
        let items = if plan.quick { &ITEMS[..QUICK] } else { &ITEMS[..] };
        // Words that are ANDed, and what it takes to fill.
        let work = |size: &Size, way: Way| {
            let (n, k) = (size.items, u64::from(size.hashes));
            let asked = if way == Way::Standard { 0 } else { n * k * size.range(way) / 64 };
            asked + 4 * n * k
        };
        let sizes = |per_item: u64| items.iter().map(move |&n| Size::best(per_item, n));
        let all =
            PER_ITEM.iter().flat_map(|&c| sizes(c)).flat_map(|size| Way::ALL.map(|way| work(&size, way)));
        let library = |per_item: u64| {
            LIBRARY.into_iter().take(if plan.quick { 1 } else { 2 }).map(move |n| Size::best(per_item, n))
        };
        let asked = PER_ITEM
            .iter()
            .flat_map(|&c| library(c))
            .flat_map(|size| Way::ALL.map(|way| work(&size, way)))
            .sum::<u64>();
        let bench = Bench::new(plan, self.name(), progress, trials * (all.sum::<u64>() + asked));
        let columns = ["m/n", "n", "scheme", "library", "promised", "off"];
        let mut promised =
            Table::new(format!("Rates of the library's filters over p: {trials} of each"), &columns);
        promised.note(
            "The bits are those that the library's scheme sets for n keys, and the rate is that of all its queries of n steps, freed from \
             the spread of the fill. A row agrees if the mean is within four standard errors of Scheme::planned_fpp.",
        );

        let columns = ["m/n", "scheme", "slope", "theory", "n·(Pr(F) - p)/p", "theory", "off"];
        let mut slopes = Table::new(format!("Pr(F) = p + O(1/n): {trials} filters at each n"), &columns);
        let (mut tables, mut figures) = (Vec::new(), Vec::new());
        for per_item in PER_ITEM {
            let mut curves = Vec::new();
            for way in Way::ALL {
                let mut points = Vec::new();
                for size in sizes(per_item) {
                    let (name, p) = (format!("{} {}", size.name(), way.name()), limit(&size));
                    let broken = self.broken == Some(way);
                    let rates = bench.trials(&name, trials, work(&size, way), |stream, _| {
                        Ok(rate(&size, way, broken, stream) / p - 1.0)
                    })?;
                    points.push((size, Mean::of(&rates)));
                }
                let theory =
                    points.iter().map(|(size, _)| expected(size, way).rate / limit(size) - 1.0).collect();
                let curve = Curve { per_item, way, points, theory };
                curve.row(&mut slopes);
                curves.push(curve);
            }
            tables.push(differences(&curves));
            figures.push(figure(&curves));
            for (size, way) in library(per_item).flat_map(|size| Way::ALL.map(|way| (size, way))) {
                let (name, p) = (format!("library {} {}", size.name(), way.name()), limit(&size));
                let rates = bench.trials(&name, trials, work(&size, way), |stream, _| {
                    Ok(library_rate(&size, way, stream) / p)
                })?;
                let found = Mean::of(&rates);
                let promise = library_expected(&size, way) / p;
                let mut checks = Checks::default();
                checks.is("rate of the library's filters over p", found, promise);
                let cells = vec![
                    Cell::Count(per_item),
                    Cell::Count(size.items),
                    Cell::text(way.name()),
                    Cell::Mean(found, Form::Fixed(5)),
                    Cell::Number(promise, Form::Fixed(5)),
                    Cell::Number(found.relative_to(promise), Form::Percent(2)),
                ];
                promised.judge(cells, checks);
            }
        }
        slopes.note(format!("Source: {KIRSCH}, section 6."));
        slopes.note(
            "A row agrees if the slope of the logarithms, fitted by the points' errors, is within four standard errors of that of \
             the theory at the same points (-1, but for terms of higher order and what divides m/k), if n times the difference \
             is within four standard errors of the theory, and if every difference is below the bound of Theorem 6.1 with its \
             constants. The theory of independent positions and of the partition scheme is exact.",
        );
        slopes.note(
            "The theory has more than the library's excess: stored keys whose step is a small multiple of the query's meet it in \
             some positions, and under i² and triple hashing a query whose parabola has its axis among the positions folds, \
             and visits half as many cells. The latter is most of what triple hashing adds.",
        );
        tables.insert(0, slopes);
        tables.push(promised);
        Ok(Outcome { tables, figures })
    }
}

/// All points at one number of bits per key.
fn differences(curves: &[Curve]) -> Table {
    let columns: Vec<&str> =
        std::iter::once("n").chain(curves.iter().map(|curve| curve.way.name())).collect();
    let Size { hashes, .. } = curves[0].points[0].0;
    let title = format!("Pr(F)/p - 1 at {} bits per key, k = {hashes}", curves[0].per_item);
    let mut table = Table::new(title, &columns);
    for at in 0..curves[0].points.len() {
        let mut cells = vec![Cell::Count(curves[0].points[at].0.items)];
        cells.extend(curves.iter().map(|curve| Cell::Mean(curve.points[at].1, Form::Percent(3))));
        table.row(cells, None);
    }
    table
}

fn figure(curves: &[Curve]) -> Figure {
    let title = format!("{} bits per key", curves[0].per_item);
    let mut figure = Figure::new(title, Axis::log("keys, n"), Axis::log("Pr(F)/p - 1"));
    for curve in curves {
        let points = curve.points.iter().map(|(size, off)| (size.items as f64, *off));
        figure = figure.dots(curve.way.name(), points);
    }
    for curve in curves {
        let theory = curve.points.iter().zip(&curve.theory).map(|((size, _), off)| (size.items as f64, *off));
        figure = figure.theory(curve.way.name(), theory);
    }
    figure
}
