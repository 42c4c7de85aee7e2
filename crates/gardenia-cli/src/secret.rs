//! Secrets of keyed filters: 32 hexadecimal digits, given directly or in a file.

use crate::args::SecretArgs;
use crate::message::hinted;
use anyhow::Context;
use gardenia::SecretKey;
use std::fs::File;
use std::io::Read;

impl SecretArgs {
    /// The secret, if one was given.
    pub(crate) fn read(&self) -> anyhow::Result<Option<SecretKey>> {
        let Some(path) = &self.secret_file else { return Ok(self.secret.clone()) };
        let read = || {
            // A secret is short: whoever gives a large file by mistake should not wait for it.
            let mut text = Vec::new();
            File::open(path)?.take(1024).read_to_end(&mut text)?;
            let hint = "openssl rand -hex 16 > secret.txt makes one";
            let secret = parse(&String::from_utf8_lossy(&text)).map_err(|reason| hinted(reason, hint));
            text.fill(0);
            std::hint::black_box(&text); // or the compiler would see that nobody reads it
            secret
        };
        read().with_context(|| path.display().to_string()).map(Some)
    }
}

/// A secret from its hexadecimal digits. The message must not repeat them.
pub(crate) fn parse(text: &str) -> Result<SecretKey, String> {
    let text = text.trim();
    if text.len() != 32 {
        return Err(format!("a secret has 32 hexadecimal digits, not {} characters", text.chars().count()));
    }
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("a secret has hexadecimal digits only (0-9, a-f)".to_owned());
    }
    let mut bytes = [0; 16];
    for (byte, at) in bytes.iter_mut().zip((0..32).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|error| error.to_string())?;
    }
    Ok(SecretKey::new(bytes))
}

#[test]
fn a_secret_is_its_bytes_in_hexadecimal() {
    let secret = parse("000102030405060708090a0B0C0D0e0f\n");
    assert_eq!(secret, Ok(SecretKey::new(std::array::from_fn(|i| i as u8))));
    assert!(parse("00").is_err() && parse(&"é".repeat(16)).is_err() && parse(&"+f".repeat(16)).is_err());
}
