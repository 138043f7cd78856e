//! What can be wrong with a scenario, and how it is shown.

use std::fmt;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{
    AnnotationKind, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

use crate::foreign::did_you_mean;

/// Problems shown before the rest is only counted.
const SHOWN: usize = 50;

/// One of the texts a scenario is made of: the file, or a `--set` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(usize);

impl SourceId {
    /// The scenario file.
    pub const FILE: Self = Self(0);
}

/// A range of bytes in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Which text.
    pub source: SourceId,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The file as a whole: where something is missing from its top level. It is shown without a caret.
    pub const FILE: Self = Self {
        source: SourceId::FILE,
        start: 0,
        end: 0,
    };
}

/// The named texts of a scenario, for carets to point into.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<(String, String)>);

impl Sources {
    /// Adds a text under the name to show for it. The first one is the file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        self.0.push((name.into(), text.into()));
        SourceId(self.0.len() - 1)
    }

    /// The text of a source, empty when there is none.
    pub fn text(&self, source: SourceId) -> &str {
        self.0.get(source.0).map_or("", |(_, text)| text)
    }

    /// The name of a source, empty when there is none.
    pub fn name(&self, source: SourceId) -> &str {
        self.0.get(source.0).map_or("", |(name, _)| name)
    }
}

/// Something wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: lower case, no final stop.
    pub message: String,
    /// Where; `None` for the file as a whole.
    pub span: Option<Span>,
    /// What was found there, shown beside the caret; may be empty.
    pub label: String,
    /// How to put it right, in one line.
    pub help: Option<String>,
}

/// What is wrong with a value, by someone who does not know which key it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The message after the name of the key: `must be positive`.
    pub says: String,
    /// What was found: `is -4.0`.
    pub found: String,
    /// How to put it right.
    pub help: Option<String>,
    /// Where, when it is only a part of the value.
    pub part: Option<Box<Part>>,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// As a path after the key: `.1`.
    pub path: String,
    /// Where it stands.
    pub span: Span,
}

impl Complaint {
    /// A complaint about the whole value.
    pub fn new(says: impl Into<String>, found: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            says: says.into(),
            found: found.into(),
            help: Some(help.into()),
            part: None,
        }
    }
}

/// Every problem of a scenario, in the order of the text. Displayed as compilers do, with file, line, column and caret.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", self.render(&Renderer::plain()))]
pub struct ScenarioError {
    sources: Sources,
    problems: Vec<Problem>,
}

impl ScenarioError {
    /// Puts the problems in order.
    pub fn new(sources: Sources, mut problems: Vec<Problem>) -> Self {
        // Stable, so that of several problems in one place the first found stays first.
        problems.sort_by_key(|problem| problem.span.unwrap_or(Span::FILE));
        problems.dedup();
        Self { sources, problems }
    }

    /// The problems, in the order of the text.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The problems in texts of this name.
    pub(super) fn problems_in(&self, name: &str) -> impl Iterator<Item = &Problem> {
        let is_in = move |span: Span| self.sources.name(span.source) == name;
        let all = self.problems.iter();
        all.filter(move |problem| problem.span.is_some_and(is_in))
    }

    /// As displayed, with ANSI colours.
    pub fn styled(&self) -> impl fmt::Display {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let renderer = renderer.clone().decor_style(DecorStyle::Ascii);
        let mut shown: Vec<String> = self
            .problems
            .iter()
            .take(SHOWN)
            .map(|problem| self.render_one(problem, &renderer))
            .collect();
        if let Some(more @ 1..) = self.problems.len().checked_sub(SHOWN) {
            shown.push(format!("and {more} more"));
        }
        shown.join("\n\n")
    }

    fn render_one(&self, problem: &Problem, renderer: &Renderer) -> String {
        let title = Level::ERROR.primary_title(normalize_untrusted_str(&problem.message));
        let mut group = match problem.span {
            None => title.element(Origin::path(self.sources.name(SourceId::FILE))),
            Some(span) => {
                let text = self.sources.text(span.source);
                let mut annotation = AnnotationKind::Primary.span(within(text, span));
                if !problem.label.is_empty() {
                    annotation = annotation.label(normalize_untrusted_str(&problem.label));
                }
                title.element(
                    Snippet::source(text)
                        .path(self.sources.name(span.source))
                        .annotation(annotation),
                )
            }
        };
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
        }
        renderer.render(&[group])
    }
}

/// The span as a range that the text has, on character boundaries.
fn within(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    start..end
}

/// `did you mean …?` when one of the names is near, else all of them.
pub(super) fn suggest(word: &str, names: &[&str]) -> String {
    match did_you_mean(word, names.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => "nothing can be given here".to_owned(),
        None => format!("known here: {}", names.join(", ")),
    }
}
