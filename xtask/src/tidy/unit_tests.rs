//! Which lines of a file are unit tests: those of items under `#[cfg(test)]`, and no others.

use std::ops::RangeInclusive;
use syn::spanned::Spanned;

/// The lines (from 1) of each item that only tests compile.
pub(crate) fn of(file: &syn::File) -> Vec<RangeInclusive<usize>> {
    let tests = file.items.iter().filter(|item| attributes(item).iter().any(is_test));
    tests.map(|item| item.span().start().line..=item.span().end().line).collect()
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, or `#[cfg(all(test, …))]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let condition = list.tokens.to_string().replace(' ', "");
    list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_item_ends_where_it_ends() {
        let text = "#[cfg(test)]\nmod out_of_line;\nfn ships() {}\n#[cfg(all(test, unix))]\nmod tests {\n}\n#[cfg(not(test))]\nfn too() {}\n";
        assert_eq!(super::of(&syn::parse_file(text).unwrap()), [1..=2, 4..=6]);
    }
}
