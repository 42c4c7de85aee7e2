//! What concerns whole filters: combining, clearing, facts, planning, the table of kinds.

use crate::handle::{Collected, State, filter, filter_mut, gardenia_filter, given, out_pointer, put, text};
use crate::status::{Failure, answer, gardenia_status, status};
use gardenia::plan::{Design, Need};
use gardenia::spec::{Param, Takes};
use gardenia::theory::bloom::Estimate;
use gardenia::{Ability, AnyFilter, Kind};
use serde_json::{Value, json};
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// That a filter cannot do something, and which kinds can.
pub(crate) fn cannot(filter: &AnyFilter, ability: &str) -> Failure {
    let able =
        Kind::ALL.into_iter().filter(|kind| kind.abilities().iter().any(|able| able.name() == ability));
    let able: Vec<&str> = able.map(Kind::name).take(3).collect();
    let kind = filter.kind().name();
    Failure::unsupported(format_args!(
        "a filter of kind {kind} cannot {ability}: use a kind such as {}",
        able.join(", ")
    ))
}

/// Merges the keys of `other` into `filter`: afterwards it answers as if all keys of both had been inserted. `other` stays as
/// it is. For kinds with the ability "merge", and filters made from the same spec.
///
/// Thread safety: one thread, and no other call on `filter` meanwhile; `other` may be asked.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses; `other` is a filter. They may be the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_merge(
    filter: *mut gardenia_filter,
    other: *const gardenia_filter,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { combine(filter, other, "merge", AnyFilter::merge) })
}

/// Keeps the keys that are in both filters: every key of both is still found, at a higher false-positive rate than that of a
/// filter built from the common keys. For kinds with the ability "intersect".
///
/// Thread safety: one thread, and no other call on `filter` meanwhile; `other` may be asked.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// That of `gardenia_merge`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_intersect(
    filter: *mut gardenia_filter,
    other: *const gardenia_filter,
) -> gardenia_status {
    // SAFETY: by the caller.
    status(|| unsafe { combine(filter, other, "intersect", AnyFilter::intersect_with) })
}

/// # Safety
/// That of `gardenia_merge`.
unsafe fn combine(
    handle: *mut gardenia_filter,
    other: *const gardenia_filter,
    ability: &str,
    work: fn(&mut AnyFilter, &AnyFilter) -> Option<Result<(), gardenia::Mismatch>>,
) -> Result<(), Failure> {
    // A filter cannot be borrowed twice: one that is combined with itself is combined with its copy.
    let copy = std::ptr::eq(handle, other);
    // SAFETY: by the caller. The borrow ends before the next begins, or is of another filter.
    let copied = if copy { Some(unsafe { filter(other) }?.own()?.try_clone()?) } else { None };
    // SAFETY: by the caller.
    let ours = unsafe { filter_mut(handle) }?.own_mut()?;
    let theirs = match &copied {
        Some(copied) => copied,
        // SAFETY: by the caller, and another filter than ours.
        None => unsafe { filter(other) }?.own()?,
    };
    match work(ours, theirs) {
        Some(combined) => Ok(combined?),
        None => Err(cannot(ours, ability)),
    }
}

/// Removes all keys, and keeps size and options. A filter that is collecting its keys forgets them; one that was built from
/// all its keys at once cannot be cleared.
///
/// Thread safety: one thread, and no other call on the filter meanwhile.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter that no other call uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_clear(filter: *mut gardenia_filter) -> gardenia_status {
    status(|| {
        // SAFETY: by the caller.
        let handle = unsafe { filter_mut(filter) }?;
        if let State::Collecting(collected) = &mut handle.state {
            *collected = Arc::new(Collected::new(collected.spec.clone()));
            return Ok(());
        }
        let filter = handle.own_mut()?;
        if filter.clear() { Ok(()) } else { Err(gardenia::InsertError::Fixed.into()) }
    })
}

/// Whether the filter can do something: 1 or 0, or a negative status. Abilities are words such as "insert", "remove", "count",
/// "merge", "share"; `gardenia_kinds_json` lists those of each kind.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; `ability` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_can(filter: *const gardenia_filter, ability: *const c_char) -> c_int {
    answer(|| {
        // SAFETY: by the caller.
        let (handle, word) = unsafe { (self::filter(filter)?, text(ability, "the ability")?) };
        let Some(ability) = Ability::ALL.into_iter().find(|ability| ability.name() == word) else {
            let known = Ability::ALL.map(Ability::name).join(", ");
            return Err(Failure::argument(format_args!("no ability is called {word:?}: use one of {known}")));
        };
        Ok(match &handle.state {
            State::Collecting(collected) => collected.spec.kind().can(ability),
            State::Owned(filter) => filter.can(ability),
            State::Mapped(filter) => filter.can(ability),
            State::Shared(_) | State::Moving => matches!(ability, Ability::Insert | Ability::Share),
        })
    })
}

/// Facts about a filter. Set `struct_size` to `sizeof(gardenia_info)` before the call: a later version of the library, whose
/// struct may be longer, then writes no more than the program has room for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the names of C")]
pub struct gardenia_info {
    /// Bytes of this struct, as the caller knows it.
    pub struct_size: usize,
    /// Number of the kind, as in files.
    pub kind: u32,
    /// Probes per key; 0 if the kind has none.
    pub hashes: u32,
    /// Number of cells.
    pub cells: u64,
    /// Bytes that the cells take.
    pub memory_bytes: u64,
    /// Keys that it was planned for; 0 if it was made by its size.
    pub planned_items: u64,
    /// False-positive rate that it was planned for; 0 if it was made by its size.
    pub planned_fpp: f64,
    /// The current false-positive rate.
    pub fpp: f64,
    /// The share of cells that are set.
    pub fill: f64,
    /// How many distinct keys it holds, estimated; NaN if the kind cannot tell.
    pub estimated_items: f64,
}

/// Bytes of the struct in its first version: a later one is longer, and programs that know only this much still work.
const FIRST_INFO: usize = 72;
const _: () = assert!(size_of::<gardenia_info>() == FIRST_INFO);

/// What both kinds of memory know.
struct Facts {
    kind: Kind,
    identity: gardenia::filter::Identity,
    about: (u64, f64),
    memory_bytes: u64,
    fpp: f64,
    fill: f64,
    estimate: Option<Estimate>,
    spec: Option<String>,
}

/// The facts of a filter, in whatever memory it is.
macro_rules! facts {
    ($filter:expr) => {
        Facts {
            kind: $filter.kind(),
            identity: $filter.identity(),
            about: ($filter.about().planned_items(), $filter.about().planned_fpp()),
            memory_bytes: $filter.memory_bytes() as u64,
            fpp: $filter.fpp(),
            fill: $filter.fill(),
            estimate: $filter.estimated_items(),
            spec: $filter.spec().map(|spec| spec.to_string()),
        }
    };
}

fn facts(handle: &gardenia_filter) -> Result<Facts, Failure> {
    Ok(match &handle.state {
        State::Mapped(mapped) => facts!(mapped),
        _ => facts!(handle.own()?),
    })
}

/// Facts about a filter, as a struct.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter; `out` is a struct with `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_get_info(
    filter: *const gardenia_filter,
    out: *mut gardenia_info,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let (facts, struct_size) =
            unsafe { (facts(self::filter(filter)?)?, (&raw const (*out).struct_size).read()) };
        if struct_size < FIRST_INFO {
            return Err(Failure::argument(format_args!(
                "struct_size is {struct_size}: set it to sizeof(gardenia_info) before the call"
            )));
        }
        let info = gardenia_info {
            struct_size: size_of::<gardenia_info>(),
            kind: facts.kind.number().into(),
            hashes: facts.identity.hashes,
            cells: facts.identity.cells,
            memory_bytes: facts.memory_bytes,
            planned_items: facts.about.0,
            planned_fpp: facts.about.1,
            fpp: facts.fpp,
            fill: facts.fill,
            estimated_items: facts.estimate.map_or(f64::NAN, |estimate| estimate.items),
        };
        let known = struct_size.min(info.struct_size);
        // SAFETY: by the caller there is room for as many bytes as the caller knows.
        unsafe { out.cast::<u8>().copy_from_nonoverlapping((&raw const info).cast(), known) };
        Ok(())
    })
}

/// Facts about a filter as JSON. Fields are added in later versions, never renamed or removed.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: the caller frees `*out` with `gardenia_free_string`.
///
/// # Safety
/// `filter` is a filter; `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_info_json(
    filter: *const gardenia_filter,
    out: *mut *mut c_char,
) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let facts = facts(unsafe { self::filter(filter) }?)?;
        let json = json!({
            "kind": facts.kind.name(),
            "number": facts.kind.number(),
            "spec": facts.spec,
            "hasher": facts.identity.hasher.name(),
            "hashes": facts.identity.hashes,
            "cells": facts.identity.cells,
            "memory_bytes": facts.memory_bytes,
            "planned_items": facts.about.0,
            "planned_fpp": facts.about.1,
            "fpp": facts.fpp,
            "fill": facts.fill,
            "estimated_items": facts.estimate.map(|estimate| estimate.items),
        });
        // SAFETY: by the caller.
        unsafe { put(out, given(json.to_string())?) }
    })
}

/// The name of the filter's kind, such as "blocked". It lives as long as the program. NULL if the filter is NULL.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: the text belongs to the library.
///
/// # Safety
/// `filter` is a filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_kind_name(filter: *const gardenia_filter) -> *const c_char {
    let name = crate::status::call(|| {
        // SAFETY: by the caller.
        Ok(c_name(unsafe { self::filter(filter) }?.kind))
    });
    name.unwrap_or(std::ptr::null())
}

/// The name of a kind with a NUL byte, made once for all kinds.
fn c_name(kind: Kind) -> *const c_char {
    static NAMES: std::sync::OnceLock<Vec<(Kind, std::ffi::CString)>> = std::sync::OnceLock::new();
    let names = NAMES.get_or_init(|| {
        Kind::ALL
            .into_iter()
            .map(|kind| (kind, std::ffi::CString::new(kind.name()).unwrap_or_default()))
            .collect()
    });
    names.iter().find(|(known, _)| *known == kind).map_or(std::ptr::null(), |(_, name)| name.as_ptr())
}

/// The table of kinds as JSON: name, number, what it is in a sentence, abilities and options of each; and of each option what
/// it means and accepts.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller frees `*out` with `gardenia_free_string`.
///
/// # Safety
/// `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_kinds_json(out: *mut *mut c_char) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        let kinds = Kind::ALL.into_iter().map(|kind| {
            json!({
                "name": kind.name(),
                "number": kind.number(),
                "summary": kind.summary(),
                "holds_keys": kind.holds_keys(),
                "abilities": kind.abilities().iter().map(|ability| ability.name()).collect::<Vec<_>>(),
                "options": kind.params().iter().map(|param| param.word()).collect::<Vec<_>>(),
            })
        });
        let options = Param::ALL.into_iter().map(|param| {
            let words = match param.takes() {
                Takes::Whole(least, most) => json!([least, most]),
                takes => takes.words().map_or(Value::Null, |words| json!(words)),
            };
            json!({ "name": param.word(), "meaning": param.meaning(), "values": words })
        });
        let (kinds, options): (Vec<Value>, Vec<Value>) = (kinds.collect(), options.collect());
        // SAFETY: by the caller.
        unsafe { put(out, given(json!({ "kinds": kinds, "options": options }).to_string())?) }
    })
}

/// Designs for a need, the best first, as JSON: "items=1M fpp=0.1% remove memory=20MiB". Each has a `spec` for `gardenia_new`.
///
/// If no design fits, the status is `GARDENIA_SPEC`, and the message names the needs that conflict.
///
/// Thread safety: any thread may call it at any time.
/// Ownership: the caller frees `*out` with `gardenia_free_string`.
///
/// # Safety
/// `need` ends with NUL; `out` is room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_plan_json(need: *const c_char, out: *mut *mut c_char) -> gardenia_status {
    status(|| {
        let out = out_pointer(out)?;
        // SAFETY: by the caller.
        let need: Need = unsafe { text(need, "the need") }?.parse().map_err(Failure::spec)?;
        let plan = need.plan().map_err(|impossible| match &impossible.nearest {
            Some(nearest) => Failure::spec(format_args!(
                "{impossible}; {}, this would do: {}",
                impossible.without, nearest.spec
            )),
            None => Failure::spec(&impossible),
        })?;
        let designs: Vec<Value> = plan.designs().iter().map(described).collect();
        // SAFETY: by the caller.
        unsafe { put(out, given(json!({ "designs": designs }).to_string())?) }
    })
}

fn described(design: &Design) -> Value {
    json!({
        "kind": design.kind.name(),
        "spec": design.spec.to_string(),
        "items": design.items,
        "bits_per_key": design.bits_per_key,
        "bytes": design.bytes,
        "file_bytes": design.file_bytes,
        "fpp": design.fpp,
        "bound": design.bound,
        "confidence": design.confidence,
        "lines": design.lines,
        "ns": design.ns,
        "why": design.why,
    })
}

/// Whether the filter holds no keys: 1 or 0, or a negative status.
///
/// Thread safety: any number of threads may call it on one filter.
/// Ownership: arguments stay the caller's, and are used during the call only.
///
/// # Safety
/// `filter` is a filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gardenia_is_empty(filter: *const gardenia_filter) -> c_int {
    answer(|| {
        // SAFETY: by the caller.
        let handle = unsafe { self::filter(filter) }?;
        Ok(match &handle.state {
            State::Collecting(collected) => collected.digests.is_empty(),
            State::Mapped(mapped) => mapped.fill() == 0.0,
            State::Shared(shared) => shared.is_empty(),
            _ => handle.own()?.is_empty(),
        })
    })
}
