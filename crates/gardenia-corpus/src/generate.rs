//! A corpus with planted duplicates, and the truth about them: for tests, benchmarks and first
//! steps.

use crate::input::Packing;
use anyhow::Context;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// What is generated.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Documents in all.
    pub documents: u64,
    /// Files that they are spread over.
    pub files: u64,
    /// Same seed, same corpus.
    pub seed: u64,
    /// Share of documents that are copies of one before.
    pub exact: f64,
    /// Share that are similar to one before.
    pub near: f64,
    /// Share in which one paragraph is a copy of one before.
    pub paragraph: f64,
    /// Similarities of near-duplicates are drawn between these.
    pub similarity: (f64, f64),
    /// Words of a paragraph, on average.
    pub words: u64,
    /// Paragraphs of a document.
    pub paragraphs: u64,
    /// How the files are compressed.
    pub packing: Packing,
    /// Make one copy of a document at most, so that pairs do not disturb each other.
    pub once: bool,
}

/// The truth about a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// Its id.
    pub id: String,
    /// `new`, `exact`, `near` or `paragraph`.
    pub kind: String,
    /// The document that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The Jaccard similarity of the 5-word shingles of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The paragraph that is a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paragraph: Option<u64>,
}

/// Documents that copies are made from: the last of them, so that memory stays bounded.
const RECENT: usize = 5_000;

struct Source {
    id: String,
    paragraphs: Vec<Vec<u32>>,
}

/// Words of the language.
const VOCABULARY: u32 = 50_000;

fn word(number: u32, out: &mut String) {
    const SYLLABLES: [&str; 20] = [
        "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we",
        "xi", "yo", "zu",
    ];
    let mut rest = number;
    loop {
        out.push_str(SYLLABLES[(rest % 20) as usize]);
        rest /= 20;
        if rest == 0 {
            return;
        }
    }
}

fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}

fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Words occur unequally often, as in any language: the logarithm of their rank is uniform.
fn draw(random: &mut Xoshiro256PlusPlus) -> u32 {
    let rank = f64::from(VOCABULARY).powf(unit(random));
    (rank as u32).min(VOCABULARY - 1)
}

fn paragraph(random: &mut Xoshiro256PlusPlus, words: u64) -> Vec<u32> {
    let words = words / 2 + below(random, words + 1);
    (0..words.max(1)).map(|_| draw(random)).collect()
}

/// All runs of five words.
fn shingles(paragraphs: &[Vec<u32>]) -> HashSet<[u32; 5]> {
    let words: Vec<u32> = paragraphs.concat();
    words.windows(5).map(|run| [run[0], run[1], run[2], run[3], run[4]]).collect()
}

/// A copy in which words are replaced until it has about this similarity, and the similarity that
/// it has.
fn vary(random: &mut Xoshiro256PlusPlus, paragraphs: &[Vec<u32>], similarity: f64) -> (Vec<Vec<u32>>, f64) {
    let before = shingles(paragraphs);
    let total: usize = paragraphs.iter().map(Vec::len).sum();
    // A word replaced changes five shingles, so that k of them leave (S − 5k)/(S + 5k).
    let share = (1.0 - similarity) / (1.0 + similarity);
    let wanted = (before.len() as f64 * share / 5.0).round() as usize;
    let (mut copy, mut places) = (paragraphs.to_vec(), HashSet::new());
    let mut tries = 0;
    while places.len() < wanted && tries < wanted * 20 + 100 {
        tries += 1;
        let place = below(random, total as u64) as usize;
        if (place.saturating_sub(4)..place + 5).any(|near| places.contains(&near)) {
            continue; // two so near would change fewer shingles
        }
        places.insert(place);
        let mut rest = place;
        for paragraph in &mut copy {
            if rest < paragraph.len() {
                paragraph[rest] = VOCABULARY + draw(random); // a word that no other document has
                break;
            }
            rest -= paragraph.len();
        }
    }
    let after = shingles(&copy);
    let common = before.intersection(&after).count() as f64;
    let all = before.union(&after).count().max(1) as f64;
    (copy, common / all)
}

/// Writes the corpus into a directory: `part-0000.jsonl` and so on, and `truth.jsonl` beside the
/// directory of them.
pub fn generate(recipe: &Recipe, directory: &Path) -> anyhow::Result<()> {
    let corpus = directory.join("corpus");
    std::fs::create_dir_all(&corpus).with_context(|| corpus.display().to_string())?;
    let truth_path = directory.join("truth.jsonl");
    let mut truth =
        BufWriter::new(File::create(&truth_path).with_context(|| truth_path.display().to_string())?);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(recipe.seed);
    let mut recent: Vec<Source> = Vec::new();
    let (files, mut number) = (recipe.files.max(1), 0);
    for file in 0..files {
        let extension = match recipe.packing {
            Packing::Plain => "",
            Packing::Gzip => ".gz",
            Packing::Zstd => ".zst",
        };
        let path = corpus.join(format!("part-{file:04}.jsonl{extension}"));
        let open = File::create(&path).with_context(|| path.display().to_string())?;
        let mut out: Box<dyn Write> = match recipe.packing {
            Packing::Plain => Box::new(BufWriter::new(open)),
            Packing::Gzip => {
                Box::new(BufWriter::new(flate2::write::GzEncoder::new(open, flate2::Compression::new(4))))
            }
            Packing::Zstd => Box::new(BufWriter::new(zstd::Encoder::new(open, 3)?.auto_finish())),
        };
        let end = recipe.documents * (file + 1) / files;
        while number < end {
            let id = format!("doc-{number}");
            let (paragraphs, about) = document(recipe, &mut random, &mut recent, &id);
            let mut line = format!("{{\"id\": \"{id}\", \"source\": \"generated\", \"text\": \"");
            for (at, paragraph) in paragraphs.iter().enumerate() {
                if at > 0 {
                    line.push_str("\\n");
                }
                for (at, number) in paragraph.iter().enumerate() {
                    if at > 0 {
                        line.push(' ');
                    }
                    word(*number, &mut line);
                }
                line.push('.');
            }
            line.push_str("\"}\n");
            out.write_all(line.as_bytes())?;
            serde_json::to_writer(&mut truth, &about)?;
            truth.write_all(b"\n")?;
            if about.kind == "new" {
                if recent.len() < RECENT {
                    recent.push(Source { id, paragraphs });
                } else {
                    let place = below(&mut random, RECENT as u64) as usize;
                    recent[place] = Source { id, paragraphs };
                }
            }
            number += 1;
        }
        out.flush()?;
    }
    Ok(truth.flush()?)
}

fn document(
    recipe: &Recipe,
    random: &mut Xoshiro256PlusPlus,
    recent: &mut Vec<Source>,
    id: &str,
) -> (Vec<Vec<u32>>, Truth) {
    let mut about =
        Truth { id: id.to_owned(), kind: "new".into(), of: None, similarity: None, paragraph: None };
    let fresh = |random: &mut Xoshiro256PlusPlus| -> Vec<Vec<u32>> {
        (0..recipe.paragraphs.max(1)).map(|_| paragraph(random, recipe.words)).collect()
    };
    let chance = unit(random);
    if recent.is_empty() {
        return (fresh(random), about);
    }
    let place = below(random, recent.len() as u64) as usize;
    let taken;
    let source = match recipe.once && chance < recipe.exact + recipe.near + recipe.paragraph {
        true => {
            taken = recent.swap_remove(place);
            &taken
        }
        false => &recent[place],
    };
    let of = Some(source.id.clone());
    if chance < recipe.exact {
        about = Truth { kind: "exact".into(), of, ..about };
        return (source.paragraphs.clone(), about);
    }
    if chance < recipe.exact + recipe.near {
        let (low, high) = recipe.similarity;
        let wanted = low + (high - low) * unit(random);
        let (paragraphs, similarity) = vary(random, &source.paragraphs, wanted);
        about = Truth { kind: "near".into(), of, similarity: Some(similarity), ..about };
        return (paragraphs, about);
    }
    let mut paragraphs = fresh(random);
    if chance < recipe.exact + recipe.near + recipe.paragraph {
        let place = below(random, paragraphs.len() as u64) as usize;
        paragraphs[place] = source.paragraphs[below(random, source.paragraphs.len() as u64) as usize].clone();
        about = Truth { kind: "paragraph".into(), of, paragraph: Some(place as u64), ..about };
    }
    (paragraphs, about)
}
