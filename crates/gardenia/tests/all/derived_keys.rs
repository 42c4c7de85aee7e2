//! Keys by `#[derive(Key)]`.

use gardenia::{Hashed, Key};

fn bytes(key: &impl Key) -> Vec<u8> {
    key.with_bytes(<[u8]>::to_vec)
}

fn portable<K: Key>(_: &K) -> bool {
    K::PORTABLE
}

#[derive(Key)]
struct Node<'a, T> {
    value: &'a str,
    extra: T,
    next: Option<Box<Node<'a, T>>>,
}

#[derive(Key)]
enum Tree {
    Leaf(u8),
    Branch(Box<Self>, Box<Tree>),
}

/// A type of the same name as one that contains it.
mod other {
    #[derive(gardenia::Key)]
    pub(super) struct Mixed<'a>(pub(super) gardenia::Hashed<'a, u8>);
}

#[derive(Key)]
struct Mixed<'a> {
    same_name: other::Mixed<'a>,
    next: Option<Box<Mixed<'a>>>,
}

#[derive(Key)]
struct Beside<'a> {
    next: Option<(Box<Self>, Hashed<'a, u8>)>,
}

#[test]
fn a_type_that_contains_itself_is_a_key_like_the_tuple_of_its_fields() {
    let last = Node { value: "b", extra: 2, next: None };
    let list = Node { value: "a", extra: 1, next: Some(Box::new(last)) };
    assert_eq!(bytes(&list), bytes(&("a", 1, Some(("b", 2, None::<u8>)))));
    let tree = Tree::Branch(Box::new(Tree::Leaf(7)), Box::new(Tree::Leaf(8)));
    assert_eq!(bytes(&tree), bytes(&("Branch", ("Leaf", 7), ("Leaf", 8))));
    assert!(portable(&list) && portable(&tree));
}

#[test]
fn all_that_is_beside_the_type_itself_counts_for_whether_it_is_portable() {
    assert!(!portable(&Node { value: "a", extra: Hashed(&1), next: None }));
    assert!(!portable(&Mixed { same_name: other::Mixed(Hashed(&1)), next: None }));
    assert!(!portable(&Beside { next: None }));
}
