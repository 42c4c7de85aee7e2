//! The machine that figures were measured on.

use gardenia::simd::Level;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Host {
    pub(crate) processor: String,
    /// What blocked filters use of it.
    pub(crate) instructions: String,
    pub(crate) cores: usize,
}

impl Host {
    pub(crate) fn here() -> Self {
        let instructions = match Level::best() {
            Level::Portable => "portable".to_owned(),
            Level::Avx2 => "AVX2".to_owned(),
            Level::Avx512 => "AVX-512".to_owned(),
            other => format!("{other:?}"),
        };
        let processor = std::fs::read_to_string("/proc/cpuinfo").ok().as_deref().and_then(model);
        Self {
            processor: processor.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH)),
            instructions,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The processor's name in the kernel's table.
fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"))?;
    let name = line.trim_start_matches([' ', '\t', ':']).trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[test]
fn the_processor_is_read_from_the_kernels_table() {
    let table = "processor\t: 0\nmodel name\t: Rose 3000: Thorn\nmodel name\t: Other\n";
    assert_eq!(model(table).as_deref(), Some("Rose 3000: Thorn"));
    assert_eq!(model("model name\t: \n"), None);
    assert_eq!(model("processor\t: 0\n"), None);
}
