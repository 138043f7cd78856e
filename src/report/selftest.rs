//! The client's own error: what `selftest` prints.

use std::io::{self, Write};

use serde::Serialize;

use super::grid::{Column, fitted};
use super::number::{counted, fine};
use super::text::{BOLD, wrapped};
use super::{Format, VERSION, markdown};
use crate::http::selftest::{AnswerResult, BIAS_LIMIT_S, DelayError, SelfTest, Spread};

/// The number of the layout of the JSON.
const SCHEMA: u32 = 1;
/// Heads of the table; its name first.
const HEADS: [&str; 6] = [
    "true TTFT",
    "requests",
    "bias (median)",
    "p95",
    "std",
    "request's way",
];

/// Writes the result of a self-test. Text is `width` characters wide.
pub fn write(
    result: &SelfTest,
    format: Format,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => text(result, width, out),
        Format::Json => json(result, out),
        Format::Csv => csv(result, out),
        Format::Markdown => table(result, out),
    }
}

fn text(result: &SelfTest, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{BOLD}The client against a server of known times, on loopback{BOLD:#}\n"
    )?;
    let rows: Vec<[String; 6]> = result.delays.iter().map(cells).collect();
    let column = |index: usize| {
        let cells = rows.iter().map(|row| row[index].clone()).collect();
        Column::numbers(HEADS[index], cells).rank(u8::try_from(index).unwrap_or(u8::MAX))
    };
    let columns: Vec<Column> = (0..HEADS.len()).map(column).collect();
    writeln!(out, "{}\n", fitted(columns.clone(), columns, width, 3))?;
    let note = "The bias is the client's stamp of the first token less the server's of having sent it. The request's way is \
                the server's stamp of having read the request less the client's of having written it; it holds the server's \
                own waking up.";
    for line in wrapped(note, width) {
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    for sentence in sentences(result) {
        for line in wrapped(&sentence, width) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// The verdicts, in words.
fn sentences(result: &SelfTest) -> Vec<String> {
    let worst = worst(result);
    let is_within = worst.abs() < BIAS_LIMIT_S;
    let bias = format!(
        "Bias at the median: {} at worst, {} {}.",
        fine(worst),
        if is_within { "below" } else { "not below" },
        fine(BIAS_LIMIT_S)
    );
    let wrong = result
        .answers
        .iter()
        .filter(|answer| !answer.wrong.is_empty());
    let total = result.answers.len();
    let understood = total - wrong.clone().count();
    let mut sentences = vec![
        bias,
        format!("Answers understood: {understood} of {total}."),
    ];
    sentences.extend(wrong.map(|answer| format!("  {}: {}", answer.name, answer.wrong.join("; "))));
    sentences
}

/// The bias at the delay where it is largest \[s\].
fn worst(result: &SelfTest) -> f64 {
    let medians = result.delays.iter().map(|delay| delay.first_token.median_s);
    medians
        .max_by(|a, b| a.abs().total_cmp(&b.abs()))
        .unwrap_or(0.0)
}

fn cells(delay: &DelayError) -> [String; 6] {
    [
        fine(delay.delay_s),
        delay.requests.to_string(),
        fine(delay.first_token.median_s),
        fine(delay.first_token.p95_s),
        fine(delay.first_token.std_s),
        fine(delay.request.median_s),
    ]
}

fn table(result: &SelfTest, out: &mut dyn Write) -> io::Result<()> {
    markdown::header(&HEADS, 0, out)?;
    for delay in &result.delays {
        markdown::line(&cells(delay), out)?;
    }
    writeln!(out, "\n{}", sentences(result).join("\n"))?;
    let requests = result
        .delays
        .iter()
        .map(|delay| delay.requests as u64)
        .sum();
    writeln!(
        out,
        "\nthermocline {VERSION}, {}",
        counted(requests, "request")
    )
}

#[derive(Debug, Serialize)]
struct Results<'a> {
    schema: u32,
    version: &'static str,
    passes: bool,
    bias_limit_s: f64,
    bias_s: f64,
    std_s: f64,
    delays: Vec<Row>,
    answers: Vec<Answer<'a>>,
}

#[derive(Debug, Serialize)]
struct Row {
    delay_s: f64,
    requests: usize,
    bias_s: f64,
    bias_p95_s: f64,
    bias_std_s: f64,
    request_median_s: f64,
    request_p95_s: f64,
    request_std_s: f64,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    name: &'a str,
    expected: &'a str,
    is_right: bool,
    wrong: &'a [String],
}

impl From<&DelayError> for Row {
    fn from(delay: &DelayError) -> Self {
        let (token, request): (&Spread, &Spread) = (&delay.first_token, &delay.request);
        Self {
            delay_s: delay.delay_s,
            requests: delay.requests,
            bias_s: token.median_s,
            bias_p95_s: token.p95_s,
            bias_std_s: token.std_s,
            request_median_s: request.median_s,
            request_p95_s: request.p95_s,
            request_std_s: request.std_s,
        }
    }
}

impl<'a> From<&'a AnswerResult> for Answer<'a> {
    fn from(answer: &'a AnswerResult) -> Self {
        Self {
            name: answer.name,
            expected: answer.expected,
            is_right: answer.wrong.is_empty(),
            wrong: &answer.wrong,
        }
    }
}

fn json(result: &SelfTest, out: &mut dyn Write) -> io::Result<()> {
    let results = Results {
        schema: SCHEMA,
        version: VERSION,
        passes: result.passes(),
        bias_limit_s: BIAS_LIMIT_S,
        bias_s: result.all.median_s,
        std_s: result.all.std_s,
        delays: result.delays.iter().map(Row::from).collect(),
        answers: result.answers.iter().map(Answer::from).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &results)?;
    writeln!(out)
}

fn csv(result: &SelfTest, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for delay in &result.delays {
        writer
            .serialize(Row::from(delay))
            .map_err(io::Error::from)?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(bias: f64, wrong: &[&str]) -> SelfTest {
        let spread = |median_s: f64| Spread {
            median_s,
            p95_s: 2.0 * median_s,
            std_s: 0.5 * median_s,
        };
        SelfTest {
            delays: vec![DelayError {
                delay_s: 0.05,
                requests: 7,
                first_token: spread(bias),
                request: spread(4e-5),
            }],
            all: spread(bias),
            answers: vec![AnswerResult {
                name: "CRLF",
                expected: "ok",
                wrong: wrong.iter().map(|&wrong| wrong.to_owned()).collect(),
            }],
        }
    }

    fn written(result: &SelfTest, format: Format) -> String {
        let mut out = Vec::new();
        write(result, format, 80, &mut out).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_says_whether_the_client_may_be_trusted() {
        let good = written(&result(8e-5, &[]), Format::Text);
        assert!(
            good.contains("Bias at the median: 80.0 us at worst, below 1.0 ms."),
            "{good}"
        );
        assert!(good.contains("Answers understood: 1 of 1."), "{good}");
        assert!(
            good.contains("50.0 ms") && good.contains("160.0 us"),
            "{good}"
        );
        let bad = written(
            &result(-2e-3, &["the outcome is empty, not ok"]),
            Format::Text,
        );
        assert!(
            bad.contains("Bias at the median: -2.0 ms at worst, not below 1.0 ms."),
            "{bad}"
        );
        assert!(bad.contains("CRLF: the outcome is empty, not ok"), "{bad}");
    }

    #[test]
    fn programs_get_the_same() {
        let good = result(8e-5, &[]);
        let json: serde_json::Value =
            serde_json::from_str(&written(&good, Format::Json)).expect("JSON");
        assert_eq!(
            (&json["passes"], &json["delays"][0]["bias_s"]),
            (&true.into(), &8e-5.into())
        );
        assert_eq!(json["answers"][0]["is_right"], true);
        let csv = written(&good, Format::Csv);
        assert!(
            csv.starts_with("delay_s,requests,bias_s,bias_p95_s,bias_std_s,"),
            "{csv}"
        );
        let markdown = written(&good, Format::Markdown);
        assert!(markdown.contains("| 50.0 ms | 7 | 80.0 us |"), "{markdown}");
    }
}
