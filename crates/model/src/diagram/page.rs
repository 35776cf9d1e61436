//! A diagram as an HTML page, light or dark as the reader prefers.

use super::Diagram;
use super::svg::{escaped, picture_width};

const STYLE: &str = ":root{color-scheme:light dark}\
    body{margin:0 auto;max-width:1280px;padding:16px;font:16px/1.5 system-ui,sans-serif;\
    background:light-dark(#fff,#14181c);color:light-dark(#1b1f24,#e6e6e6)}\
    h1{font-size:1.25rem;overflow-wrap:anywhere}h2{font-size:1rem;margin-top:2em}\
    .scroll{overflow-x:auto;border:1px solid light-dark(#d5dbe1,#333b43);border-radius:8px;padding:8px}\
    pre{margin:0;font:13px/1.45 ui-monospace,monospace}\
    code{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}\
    svg{display:block}.wide{display:none;margin:1em 0 .25em;font-weight:bold}";

/// What a page takes next to a picture, in CSS pixels: margins, padding and borders.
const AROUND: usize = 50;
/// The widest page.
const WIDEST: usize = 1312;
/// Width of a character of the text, rounded up.
const CHARACTER: usize = 8;

impl Diagram {
    /// The diagram as a self-contained HTML page: the picture, the same in text, and `notes` under their heads. Text
    /// between backquotes in a note is set as code.
    pub fn page(&self, notes: &[(&str, &str)]) -> String {
        let title = escaped(self.heading());
        let more: String =
            self.title.lines().skip(1).map(|line| format!("<p>{}</p>\n", coded(line))).collect();
        // The page has the title as its heading.
        let untitled = Diagram { title: String::new(), ..self.clone() };
        let text = untitled.text();
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let picture = scrolling("picture", picture_width(&untitled), &untitled.svg());
        let pre = format!("<pre>{}</pre>", escaped(&text));
        let pre = scrolling("text", longest * CHARACTER, &pre);
        let notes: String = notes
            .iter()
            .map(|(head, note)| format!("<h2>{}</h2>\n<p>{}</p>\n", escaped(head), coded(note)))
            .collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{more}\
             {picture}{notes}<h2>The same in text</h2>\n{pre}</body>\n</html>\n",
        )
    }
}

/// Content of this width in a box that scrolls sideways, and says so where the window is too narrow for it.
fn scrolling(name: &str, width: usize, content: &str) -> String {
    let shown = format!("#wide-{name}{{display:block}}");
    let style = match width + AROUND {
        room if room > WIDEST => shown,
        room => format!("@media(max-width:{}px){{{shown}}}", room - 1),
    };
    format!(
        "<style>{style}</style>\n\
         <p class=\"wide\" id=\"wide-{name}\">The {name} is wider than the window: scroll it sideways \u{2192}</p>\n\
         <div class=\"scroll\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\">\n{content}</div>\n"
    )
}

fn coded(note: &str) -> String {
    let parts = note.split('`').enumerate();
    let set = parts.map(|(at, part)| {
        if at % 2 == 1 { format!("<code>{}</code>", escaped(part)) } else { escaped(part) }
    });
    set.collect()
}
