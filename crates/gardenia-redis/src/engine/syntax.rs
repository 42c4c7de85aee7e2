//! How a command is called, in one line: `key error:f capacity:n [EXPANSION expansion:n]
//! [NONSCALING]`.
//!
//! The line is what `COMMAND DOCS` and the hints of clients are made from, and it gives the least
//! number of words. Words in capitals are written as they stand, and belong to the argument behind
//! them; others are arguments, with a type behind a colon: `n` a whole number, `f` any number;
//! `key` and `source` are keys. Brackets hold what may be left out, parentheses what belongs
//! together, `A|B` is one of several words, and `...` behind something means that it may be
//! repeated.

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Any bytes.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// The name of a key: of the first or of the second specification of keys.
    Key(u8),
    /// A word that is written as it stands.
    Word,
    /// One of several.
    OneOf,
    /// Several that belong together.
    Block,
}

/// An argument, or several of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// What it is called.
    pub name: String,
    /// The word before it, or the word that it is.
    pub token: Option<String>,
    /// What it is.
    pub kind: Type,
    /// Whether it can be left out.
    pub optional: bool,
    /// Whether it can be repeated.
    pub multiple: bool,
    /// The arguments of a block, or the alternatives, one of them given.
    pub parts: Vec<Arg>,
}

impl Arg {
    fn new(name: &str, kind: Type) -> Self {
        let name = name.to_ascii_lowercase();
        Self { name, token: None, kind, optional: false, multiple: false, parts: Vec::new() }
    }

    fn word(word: &str) -> Self {
        Self { token: Some(word.to_owned()), ..Self::new(word, Type::Word) }
    }

    /// Words that it needs at least.
    fn least(&self) -> usize {
        match self.kind {
            _ if self.optional => 0,
            Type::Word | Type::OneOf => 1,
            Type::Block => self.parts.iter().map(Self::least).sum(),
            _ => 1 + usize::from(self.token.is_some()),
        }
    }
}

/// The arguments of a line.
///
/// ```
/// use gardenia_redis::engine::syntax::{arity, parse};
/// let args = parse("key [NOCREATE] ITEMS item...");
/// assert_eq!(args[2].token.as_deref(), Some("ITEMS"));
/// assert!(args[1].optional && args[2].multiple);
/// assert_eq!(arity(&args), -4); // the command's name, the key, ITEMS, and an item
/// ```
#[must_use]
pub fn parse(line: &str) -> Vec<Arg> {
    let spaced = line.replace('[', " [ ").replace(']', " ] ").replace('(', " ( ").replace(')', " ) ");
    sequence(&mut spaced.split_whitespace().peekable())
}

fn sequence<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Vec<Arg> {
    let mut args: Vec<Arg> = Vec::new();
    while let Some(word) = words.next() {
        let (word, repeated) = word.strip_suffix("...").map_or((word, false), |word| (word, true));
        let mut arg = match word {
            "]" | ")" => break,
            // Behind a bracket or a parenthesis.
            "" => {
                args.last_mut().into_iter().for_each(|last| last.multiple = true);
                continue;
            }
            "[" | "(" => {
                let mut parts = sequence(words);
                let mut arg = match parts.len() {
                    1 => parts.remove(0),
                    _ => Arg { parts, ..Arg::new("block", Type::Block) },
                };
                arg.optional |= word == "[";
                arg
            }
            _ if word.contains('|') => {
                Arg { parts: word.split('|').map(Arg::word).collect(), ..Arg::new("field", Type::OneOf) }
            }
            _ if word.starts_with(|first: char| first.is_ascii_uppercase()) => Arg::word(word),
            _ => match word.split_once(':') {
                Some((name, "n")) => Arg::new(name, Type::Integer),
                Some((name, _)) => Arg::new(name, Type::Number),
                None if word == "key" => Arg::new(word, Type::Key(0)),
                None if word == "source" => Arg::new(word, Type::Key(1)),
                None => Arg::new(word, Type::Text),
            },
        };
        arg.multiple |= repeated;
        // A word belongs to what follows it, unless that is a word itself or stands in brackets.
        match args.last_mut() {
            Some(last)
                if last.kind == Type::Word && !last.optional && arg.kind != Type::Word && !arg.optional =>
            {
                arg.token = last.token.take();
                *last = arg;
            }
            _ => args.push(arg),
        }
    }
    args
}

/// The number of words, with the command's name; negative if it is the least.
#[must_use]
pub fn arity(args: &[Arg]) -> i32 {
    fn is_open(args: &[Arg]) -> bool {
        args.iter()
            .any(|arg| arg.optional || arg.multiple || (arg.kind == Type::Block && is_open(&arg.parts)))
    }
    let least = 1 + args.iter().map(Arg::least).sum::<usize>() as i32;
    if is_open(args) { -least } else { least }
}

#[test]
fn lines_become_arguments() {
    let shown = |line: &str| {
        fn show(arg: &Arg) -> String {
            let parts: Vec<String> = arg.parts.iter().map(show).collect();
            let inner = match arg.kind {
                Type::Block => format!("({})", parts.join(" ")),
                Type::OneOf => parts.join("|"),
                Type::Word => String::new(),
                kind => format!("{}:{kind:?}", arg.name),
            };
            let token = arg.token.clone().unwrap_or_default();
            let marks = [arg.optional.then_some("?"), arg.multiple.then_some("*")];
            format!("{token}{inner}{}", marks.into_iter().flatten().collect::<String>())
        }
        let args = parse(line);
        format!("{} {}", arity(&args), args.iter().map(show).collect::<Vec<_>>().join(" "))
    };
    for (line, args) in [
        ("", "1 "),
        ("key", "2 key:Key(0)"),
        ("key item...", "-3 key:Key(0) item:Text*"),
        ("key (item increment:n)...", "-4 key:Key(0) (item:Text increment:Integer)*"),
        ("key error:f [NONSCALING]", "-3 key:Key(0) error:Number NONSCALING?"),
        ("key [EXPANSION expansion:n] [NONSCALING]", "-2 key:Key(0) EXPANSIONexpansion:Integer? NONSCALING?"),
        ("key KIND kind [option...]", "-4 key:Key(0) KINDkind:Text option:Text?*"),
        ("key [A|B]", "-2 key:Key(0) A|B?"),
        (
            "key n:n source... [WEIGHTS weight:n...]",
            "-4 key:Key(0) n:Integer source:Key(1)* WEIGHTSweight:Integer?*",
        ),
        (
            "key k:n [width:n depth:n decay:f]",
            "-3 key:Key(0) k:Integer (width:Integer depth:Integer decay:Number)?",
        ),
    ] {
        assert_eq!(shown(line), args, "{line}");
    }
}
