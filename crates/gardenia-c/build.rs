//! Gives the shared library the name that programs look for when they start: it changes with the
//! major version, and below 1.0 with the minor one.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let version = |part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).expect("set by cargo");
        let major = version("MAJOR");
        let interface = if major == "0" { format!("0.{}", version("MINOR")) } else { major };
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libgardenia.so.{interface}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
