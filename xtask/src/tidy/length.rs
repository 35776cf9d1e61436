//! Length: a file is one idea, a function fits a screen.

use super::{complaint, source::Source};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The longest file, in lines.
const FILE_LINES: usize = 600;
/// The longest function, in lines.
const FUNCTION_LINES: usize = 70;
/// The longest line, in characters.
const COLUMNS: usize = 120;
/// The word, in a file's header, of a file that is a table of data rather than code.
const DATA_TABLE: &str = "A table of data.";

/// Complaints about a file or a function that is too long.
pub(crate) fn check(source: &Source) -> Result<Vec<String>, String> {
    let lines = source.text.lines().count();
    let is_table = source.comments.iter().take(20).any(|comment| comment.contains(DATA_TABLE));
    let mut complaints = Vec::new();
    if lines > FILE_LINES && !is_table {
        complaints.push(complaint(
            source,
            1,
            format_args!("{lines} lines, more than {FILE_LINES}"),
        ));
    }
    let file = source.syntax.as_ref().map_err(|error| format!("{}: {error}", source.path))?;
    let mut functions = Functions::default();
    functions.visit_file(file);
    for (name, line, length) in functions.found {
        if length > FUNCTION_LINES {
            let text = format!("function {name} has {length} lines, more than {FUNCTION_LINES}");
            complaints.push(complaint(source, line, text));
        }
    }
    Ok(complaints)
}

/// Lines whose code and comment are too long. What a string holds does not count: broken, it could not be searched for.
pub(crate) fn columns(source: &Source) -> Vec<String> {
    let lines = source.code.iter().zip(&source.comments).enumerate();
    let wide = lines.map(|(at, (code, comment))| {
        let marks = if comment.is_empty() { 0 } else { "//".len() };
        (at + 1, code.chars().count() + marks + comment.chars().count())
    });
    let long = wide.filter(|(_, columns)| *columns > COLUMNS);
    let text = |columns| format!("{columns} columns, more than {COLUMNS}");
    long.map(|(line, columns)| complaint(source, line, text(columns))).collect()
}

/// The functions of a file: name, line, length.
#[derive(Default)]
struct Functions {
    found: Vec<(String, usize, usize)>,
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let last = block.span().end().line;
        self.found.push((signature.ident.to_string(), first, last + 1 - first));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.note(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_and_a_long_file_are_named() {
        let text = format!("fn short() {{}}\nfn long() {{\n{}}}\n", "let _ = 1;\n".repeat(69));
        let complaints = check(&Source::new("crates/x/src/a.rs", text)).unwrap();
        assert_eq!(complaints, ["crates/x/src/a.rs:2: function long has 71 lines, more than 70"]);
        let text = "// line\n".repeat(601);
        assert_eq!(
            check(&Source::new("a.rs", text)).unwrap(),
            ["a.rs:1: 601 lines, more than 600"]
        );
    }

    #[test]
    fn a_long_line_is_named() {
        let fine = format!("// {}\nconst A: &str = \"{}\";", "é".repeat(117), "é".repeat(200));
        let text = format!("{fine}\n// {}\n", "é".repeat(118));
        let found = columns(&Source::new("crates/x/src/a.rs", text));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "crates/x/src/a.rs:3: 121 columns, more than 120");
    }

    #[test]
    fn a_table_of_data_may_be_long() {
        let text = format!("//! Names. A table of data.\n{}", "// row\n".repeat(700));
        assert!(check(&Source::new("a.rs", text)).unwrap().is_empty());
    }
}
