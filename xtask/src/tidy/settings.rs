//! Settings: the library `decide` has callers without a command line, so no text of it names a flag. It names a setting
//! as `Type::field`, in backticks, and the command line's table turns each such name into a flag.

use super::{complaint, source::Source};
use syn::visit::{self, Visit};

/// Where texts name settings.
const LIBRARY: &str = "crates/decide/src/";
/// The table of names and flags.
const TABLE: &str = "crates/cli/src/settings.rs";

/// Complaints about all files.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let table = sources.iter().find(|source| source.path == TABLE);
    let known = table.map_or_else(Vec::new, |table| {
        texts(table).into_iter().flat_map(|(_, text)| names(&text)).collect()
    });
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with(LIBRARY)) {
        for (line, text) in texts(source) {
            if has_flag(&text) {
                complaints.push(complaint(source, line, "a flag in a library: name the setting"));
            }
            let missing = names(&text).into_iter().filter(|name| !known.contains(name));
            complaints.extend(
                missing.map(|name| complaint(source, line, format!("`{name}` is not in {TABLE}"))),
            );
        }
    }
    complaints
}

/// Whether people read a flag in this text. A text that is nothing but a flag is an argument of a program.
fn has_flag(text: &str) -> bool {
    let letter = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    text.contains(' ') && text.match_indices("--").any(|(at, _)| letter(&text[at + 2..]))
}

/// The settings that a text names.
fn names(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|name| name.contains("::")).map(String::from).collect()
}

/// Lines and literals, those in arguments of macros included, but no comments.
fn texts(source: &Source) -> Vec<(usize, String)> {
    let Ok(file) = &source.syntax else { return Vec::new() };
    let mut texts = Texts(Vec::new());
    texts.visit_file(file);
    texts.0
}

struct Texts(Vec<(usize, String)>);

impl Texts {
    fn in_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.in_tokens(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.0.push((literal.span().start().line, text.value()));
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push((text.span().start().line, text.value()));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.in_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_names_settings() {
        let table = "const FLAGS: [(&str, &str); 1] = [(\"`Runs::shell`\", \"--shell\")];\n";
        let found = |code: &str| {
            let library = Source::new("crates/decide/src/a.rs", format!("fn f() {{ {code} }}\n"));
            check(&[Source::new(TABLE, table), library]).len()
        };
        assert_eq!(found("g(\"see `Runs::shell`\")"), 0);
        assert_eq!(found("g(\"see --shell\")"), 1);
        assert_eq!(found("g(format!(\"see --shell {x}\"))"), 1);
        assert_eq!(found("g(\"see `Runs::input`\")"), 1);
        assert_eq!(found("g(\"--json\")"), 0);
    }
}
