//! The page's files, embedded in the program.

/// A file that is served: its path, its type, its bytes, and whether it is part of the page.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) is_page: bool,
}

macro_rules! assets {
    ($($path:literal $file:literal $kind:literal;)+) => {
        const ALL: &[Asset] =
            &[$(Asset { path: $path, kind: $kind, bytes: include_bytes!(concat!("../page/", $file)), is_page: true }),+];
    };
}

assets! {
    "/" "index.html" "text/html; charset=utf-8";
    "/style.css" "style.css" "text/css; charset=utf-8";
    "/main.js" "main.js" "text/javascript; charset=utf-8";
    "/kit.js" "kit.js" "text/javascript; charset=utf-8";
    "/chart.js" "chart.js" "text/javascript; charset=utf-8";
    "/plan.js" "plan.js" "text/javascript; charset=utf-8";
    "/inside.js" "inside.js" "text/javascript; charset=utf-8";
    "/inspect.js" "inspect.js" "text/javascript; charset=utf-8";
    "/streams.js" "streams.js" "text/javascript; charset=utf-8";
    "/papers.js" "papers.js" "text/javascript; charset=utf-8";
    "/icon.svg" "icon.svg" "image/svg+xml";
}

/// The full report of the lab, which the page links to: no part of the page, with a style of its
/// own.
const LAB: Asset = Asset {
    path: "/lab.html",
    kind: "text/html; charset=utf-8",
    bytes: include_bytes!("../../../docs/lab/index.html"),
    is_page: false,
};

/// The file at this path. Only these paths exist: nothing is read from disk.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ALL.iter().chain([&LAB]).find(|asset| asset.path == path)
}

/// Bytes of all files of the page together, without the lab's report, which is loaded only if one
/// asks for it.
#[must_use]
pub fn weight() -> usize {
    ALL.iter().map(|asset| asset.bytes.len()).sum()
}
