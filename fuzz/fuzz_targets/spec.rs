//! Any text as a spec, and any JSON: what is read is printed and read again as the same.
#![no_main]

use gardenia::Spec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<Spec>() {
        assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(&spec));
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<Spec>(&json).unwrap(), spec);
        let _ = spec.check();
    }
    if let Ok(spec) = serde_json::from_str::<Spec>(text) {
        assert_eq!(spec.to_string().parse::<Spec>().as_ref(), Ok(&spec));
    }
});
