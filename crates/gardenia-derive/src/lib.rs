//! `#[derive(Key)]` of the crate gardenia, which exports it with its feature `derive`.

use proc_macro::TokenStream;
use proc_macro2::{Group, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, parse_macro_input, parse_quote};

/// Makes a struct or an enum a key, also of filters that are saved.
///
/// The canonical bytes of a struct are those of a tuple of its fields, in their order; of an enum,
/// those of a tuple of the variant's name and its fields. Every field must be a key. Fields may be
/// renamed and variants may be moved; anything else changes the bytes, and filters that were saved
/// before no longer find the keys.
///
/// A type may contain itself, as in `next: Option<Box<Node>>`, if it is written as in its
/// declaration (`Node`, `Node<T>`) or as `Self`. Two types that contain each other do not compile
/// ("cycle detected", E0391): implement `Key` by hand for one of them.
#[proc_macro_derive(Key)]
pub fn derive_key(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput)).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(mut input: DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let (name, own) = (&input.ident, input.generics.split_for_impl().1);
    let own = [words(quote!(#name #own)), words(quote!(Self))];
    let mut types = Vec::new();
    let mut arm = |path, name: Option<String>, fields: &Fields| {
        types.extend(fields.iter().map(|field| without(&own, field.ty.to_token_stream())));
        let (members, name) = (fields.members(), name.iter());
        let parts: Vec<_> = (0..fields.len()).map(|at| format_ident!("part{at}")).collect();
        let parts = &parts;
        quote! {
            #path { #(#members: #parts),* } => {
                #(::gardenia::hash::push_part(&mut bytes, #name);)*
                #(::gardenia::hash::push_part(&mut bytes, #parts);)*
            }
        }
    };
    let arms: Vec<_> = match &input.data {
        Data::Struct(data) => vec![arm(quote!(Self), None, &data.fields)],
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| {
                let name = &variant.ident;
                arm(quote!(Self::#name), Some(name.to_string()), &variant.fields)
            });
            arms.collect()
        }
        Data::Union(_) => Vec::new(),
    };
    if arms.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "Key is derived for structs, and for enums with variants",
        ));
    }
    let generics: Vec<_> = input.generics.type_params().map(|param| param.ident.clone()).collect();
    for generic in generics {
        input.generics.make_where_clause().predicates.push(parse_quote!(#generic: ::gardenia::Key));
    }
    let (name, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        impl #generics ::gardenia::Key for #name #arguments #bounds {
            const PORTABLE: bool = true #(&& <#types as ::gardenia::Key>::PORTABLE)*;
            fn with_bytes<GardeniaOutput>(&self, f: impl FnOnce(&[u8]) -> GardeniaOutput) -> GardeniaOutput {
                let mut bytes = ::gardenia::hash::parts();
                match self {
                    #(#arms)*
                }
                f(&bytes)
            }
        }
    })
}

fn words(tokens: proc_macro2::TokenStream) -> Vec<String> {
    tokens.into_iter().map(|token| token.to_string()).collect()
}

/// A type with a portable key in place of the type that contains it: whether a type is portable
/// would otherwise depend on itself, which the compiler refuses. All else in the type still counts.
fn without(own: &[Vec<String>; 2], tokens: proc_macro2::TokenStream) -> proc_macro2::TokenStream {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let (mut out, mut at) = (proc_macro2::TokenStream::new(), 0);
    while at < tokens.len() {
        let here = |own: &&Vec<String>| {
            let rest = tokens[at..].iter().map(ToString::to_string);
            // `other::Node` is another type, and so is a lifetime of the type's name.
            rest.take(own.len()).eq(own.iter().cloned())
                && (at == 0
                    || !matches!(&tokens[at - 1], TokenTree::Punct(mark) if ":'".contains(mark.as_char())))
        };
        if let Some(own) = own.iter().find(here) {
            at += own.len();
            out.extend(quote!(::core::primitive::bool));
            continue;
        }
        out.extend([match &tokens[at] {
            TokenTree::Group(group) => Group::new(group.delimiter(), without(own, group.stream())).into(),
            token => token.clone(),
        }]);
        at += 1;
    }
    out
}
