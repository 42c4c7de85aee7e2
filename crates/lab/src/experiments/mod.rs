//! The experiments, one file each, named as on the command line.

mod choice_double_hashing;
mod choice_efforts;
mod garden_a2;
mod garden_bitwise;
mod garden_counting;
mod garden_spectral;
mod garden_stable;
mod grothoff_k;
mod km_convergence;
mod km_count_min;
mod km_figure_1;
mod km_figure_2;
mod lumetta_elsewhere;
mod lumetta_rounds;
mod lumetta_table_1;
mod lumetta_table_2;
mod lumetta_table_3;
mod space;
mod speed;

pub use choice_double_hashing::ChoiceDoubleHashing;
pub use choice_efforts::ChoiceEfforts;
pub use garden_a2::GardenA2;
pub use garden_bitwise::GardenBitwise;
pub use garden_counting::GardenCounting;
pub use garden_spectral::GardenSpectral;
pub use garden_stable::GardenStable;
pub use grothoff_k::GrothoffK;
pub use km_convergence::KmConvergence;
pub use km_count_min::KmCountMin;
pub use km_figure_1::KmFigure1;
pub use km_figure_2::KmFigure2;
pub use lumetta_elsewhere::LumettaElsewhere;
pub use lumetta_rounds::LumettaRounds;
pub use lumetta_table_1::LumettaTable1;
pub use lumetta_table_2::LumettaTable2;
pub use lumetta_table_3::LumettaTable3;
pub use space::Space;
pub use speed::Speed;

use crate::Experiment;

/// All experiments, in the order in which a reader would want them.
#[must_use]
pub fn all() -> Vec<Box<dyn Experiment>> {
    vec![
        Box::new(KmFigure1::default()),
        Box::new(KmFigure2::default()),
        Box::new(KmConvergence::default()),
        Box::new(KmCountMin::default()),
        Box::new(GrothoffK::default()),
        Box::new(LumettaTable1::default()),
        Box::new(LumettaTable2::default()),
        Box::new(LumettaTable3::default()),
        Box::new(LumettaElsewhere::default()),
        Box::new(LumettaRounds::default()),
        Box::new(ChoiceEfforts),
        Box::new(ChoiceDoubleHashing),
        Box::new(GardenCounting::default()),
        Box::new(GardenSpectral::default()),
        Box::new(GardenBitwise::default()),
        Box::new(GardenStable::default()),
        Box::new(GardenA2::default()),
        Box::new(Space::default()),
        Box::new(Speed::default()),
    ]
}

/// The experiment with this name.
#[must_use]
pub fn find(name: &str) -> Option<Box<dyn Experiment>> {
    all().into_iter().find(|experiment| experiment.name() == name)
}

/// Trials for the library's filter beside `simulated` ones: a tenth, as long as that says
/// something.
fn fewer(simulated: u64) -> u64 {
    (simulated / 10).max(simulated.min(4))
}
