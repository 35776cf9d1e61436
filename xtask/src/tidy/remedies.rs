//! Remedies: what a failure tells the user to do has one style, as in `give both the same`: a phrase after the cause,
//! without a capital and a full stop of its own.
//!
//! Read are texts that are the second argument of `Failure::new`, `CommandFailure::new`, `Problem::new` or a method
//! `problem`, or the value of a variable `remedy`.

use super::{complaint, source::Source};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, Lit, Pat};

/// Complaints about one file.
pub(crate) fn check(source: &Source) -> Vec<String> {
    let Ok(file) = &source.syntax else { return Vec::new() };
    let mut remedies = Remedies(Vec::new());
    remedies.visit_file(file);
    let wrong = remedies.0.iter().filter(|(_, text)| {
        let capital = text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase() || c == ' ');
        capital || text.ends_with('.')
    });
    let what = "a remedy is a phrase: no capital, no full stop";
    wrong.map(|(line, _)| complaint(source, *line, what)).collect()
}

/// Lines and texts.
struct Remedies(Vec<(usize, String)>);

impl Remedies {
    /// A text, or the template of a `format!`.
    fn add(&mut self, expression: &Expr) {
        let text = match expression {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            Expr::Macro(text) if text.mac.path.is_ident("format") => {
                let first = text.mac.tokens.clone().into_iter().next();
                first
                    .and_then(|first| syn::parse_str::<syn::LitStr>(&first.to_string()).ok())
                    .map(|text| text.value())
            }
            _ => None,
        };
        self.0.extend(text.map(|text| (expression.span().start().line, text)));
    }
}

impl<'ast> Visit<'ast> for Remedies {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let Expr::Path(function) = &*call.func {
            let names: Vec<String> =
                function.path.segments.iter().map(|part| part.ident.to_string()).collect();
            if let [.., of, new] = &names[..]
                && ["Failure", "CommandFailure", "Problem"].contains(&of.as_str())
                && new == "new"
                && let Some(remedy) = call.args.get(1)
            {
                self.add(remedy);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if call.method == "problem"
            && let Some(remedy) = call.args.get(1)
        {
            self.add(remedy);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (Pat::Ident(name), Some(value)) = (&local.pat, &local.init)
            && name.ident == "remedy"
        {
            self.add(&value.expr);
        }
        visit::visit_local(self, local);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_a_phrase() {
        let check = |code: &str| check(&Source::new("crates/x/src/a.rs", code)).len();
        let call = |remedy: &str| format!("fn f() {{ Failure::new(\"No.\", {remedy}); }}\n");
        assert_eq!(check(&call("\"name a file\"")), 0);
        assert_eq!(check(&call("\"Name a file\"")), 1);
        assert_eq!(
            check(&call("format!(\"name {file}.\")").replace("Failure", "CommandFailure")),
            1
        );
        assert_eq!(check(&call("\"FIRST is at most LAST\"")), 0);
        assert_eq!(check("fn f() { let remedy = \"Name a file\"; }\n"), 1);
    }
}
