//! Specs of every kind in the table, and of every option that can be chosen from some words or is
//! given or not.

use gardenia::spec::{Param, Takes, Value};
use gardenia::{Kind, Spec};

/// The kinds that hold keys.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.holds_keys())
}

/// A spec for this many keys at this rate, where the kind has these options.
pub(crate) fn plain(kind: Kind, items: u64, fpp: f64) -> Spec {
    let has = |param| kind.params().contains(&param);
    let spec = if has(Param::Items) { Spec::new(kind).items(items) } else { Spec::new(kind) };
    if has(Param::Fpp) { spec.fpp(fpp) } else { spec }
}

/// The plain spec of a kind, and one for each word of its options; what excludes each other is left
/// out.
pub(crate) fn varied(kind: Kind, items: u64, fpp: f64) -> Vec<Spec> {
    let plain = plain(kind, items, fpp);
    let mut specs = vec![plain.clone()];
    for &param in kind.params() {
        let values: Vec<Value> = match (param.takes(), param.takes().words()) {
            (_, Some(words)) => words.iter().map(|word| Value::Word(word)).collect(),
            (Takes::Nothing, None) => vec![Value::Given],
            _ => Vec::new(),
        };
        specs.extend(values.into_iter().map(|value| plain.clone().with(param, value)));
    }
    // Those of one policy only.
    let presets = Spec::names().filter_map(|(name, _)| Spec::named(name)).filter(|spec| spec.kind() == kind);
    let presets: Vec<Spec> = presets.filter(|spec| spec.given().next().is_some()).collect();
    for preset in presets {
        let both = preset.given().fold(plain.clone(), |spec, param| match preset.get(param) {
            Some(value) => spec.with(param, value),
            None => spec,
        });
        specs.extend(kind.params().iter().map(|&param| both.clone().with(param, Value::Given)));
        specs.push(both);
    }
    specs.retain(|spec| spec.check().is_ok() && spec.filled().is_ok());
    specs
}

/// All of them.
pub(crate) fn all(items: u64, fpp: f64) -> impl Iterator<Item = Spec> {
    kinds().flat_map(move |kind| varied(kind, items, fpp))
}
