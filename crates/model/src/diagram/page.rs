//! A diagram as an HTML page, light or dark as the reader prefers.

use super::Diagram;
use super::svg::escaped;

const STYLE: &str = ":root{color-scheme:light dark}\
    body{margin:0 auto;max-width:1280px;padding:16px;font:16px/1.5 system-ui,sans-serif;\
    background:light-dark(#fff,#14181c);color:light-dark(#1b1f24,#e6e6e6)}\
    h1{font-size:1.25rem;overflow-wrap:anywhere}h2{font-size:1rem;margin-top:2em}\
    .scroll{overflow-x:auto;border:1px solid light-dark(#d5dbe1,#333b43);border-radius:8px;padding:8px}\
    pre{margin:0;font:13px/1.45 ui-monospace,monospace}\
    code{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}\
    svg{display:block}";

impl Diagram {
    /// The diagram as a self-contained HTML page: the picture, the same in text, and `notes` under their heads. Text
    /// between backquotes in a note is set as code.
    pub fn page(&self, notes: &[(&str, &str)]) -> String {
        let title = escaped(&self.title);
        // The page has the title as its heading.
        let untitled = Diagram { title: String::new(), ..self.clone() };
        let text = escaped(&untitled.text());
        let notes: String = notes
            .iter()
            .map(|(head, note)| format!("<h2>{}</h2>\n<p>{}</p>\n", escaped(head), coded(note)))
            .collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
             <div class=\"scroll\" tabindex=\"0\">\n{}</div>\n{notes}<h2>The same in text</h2>\n\
             <div class=\"scroll\" tabindex=\"0\"><pre>{text}</pre></div>\n</body>\n</html>\n",
            untitled.svg()
        )
    }
}

fn coded(note: &str) -> String {
    let parts = note.split('`').enumerate();
    let set = parts.map(|(at, part)| {
        if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    });
    set.collect()
}
