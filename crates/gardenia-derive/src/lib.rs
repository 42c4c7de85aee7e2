//! `#[derive(Key)]` of the crate gardenia, which exports it with its feature `derive`.

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Fields, Type, parse_macro_input, parse_quote};

/// Makes a struct or an enum a key, also of filters that are saved.
///
/// The canonical bytes of a struct are those of a tuple of its fields, in their order; of an enum, those of a tuple of the
/// variant's name and its fields. Every field must be a key. Fields may be renamed and variants may be moved; anything else changes
/// the bytes, and filters that were saved before no longer find the keys.
#[proc_macro_derive(Key)]
pub fn derive_key(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput)).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(mut input: DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let mut types: Vec<Type> = Vec::new();
    let mut arm = |path, name: Option<String>, fields: &Fields| {
        types.extend(fields.iter().map(|field| field.ty.clone()));
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
