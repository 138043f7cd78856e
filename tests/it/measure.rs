//! The command `measure` as a user has it: against a server of known times, killed, interrupted, misled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration as Wall;

use tempfile::TempDir;
use thermocline::http::Clock;
use thermocline::http::scripted::{Script, ScriptedServer};
use thermocline::journal::{Journal, Observations};
use thermocline::time::Time;

/// A secret that is easy to find wherever it turns up.
const KEY: &str = "sk-thermocline-5f2c9a";

/// A folder, a server that answers each script under its name, and the program.
struct Rig {
    folder: TempDir,
    server: ScriptedServer,
}

impl Rig {
    fn new(scripts: Vec<(&str, Script)>) -> Self {
        let scripts = scripts
            .into_iter()
            .map(|(name, script)| (name.to_owned(), script));
        let server = ScriptedServer::start(scripts.collect(), Clock::starting_at(Time::ZERO), None);
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            server: server.expect("a free port"),
        }
    }

    /// One that answers at once.
    fn quick() -> Self {
        Self::new(vec![("quick", answer(0))])
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("run.jsonl")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thermocline"));
        command
            .current_dir(self.folder.path())
            .env("MEASURE_TEST_KEY", KEY)
            .env("NO_COLOR", "1")
            .arg("measure")
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// The options of a run that writes `run.jsonl` here: its target is the script `name`.
    fn options(&self, name: &str, more: &[&str]) -> Vec<String> {
        let url = self.server.base_url(name);
        let own = [
            "--url",
            &url,
            "--model",
            "m",
            "--name",
            name,
            "--discard",
            "0",
        ];
        own.iter()
            .chain(more)
            .map(|&option| option.to_owned())
            .collect()
    }

    fn run(&self, options: &[String], more: &[&str]) -> Output {
        let options: Vec<&str> = options
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        self.command(&options).output().expect("the program runs")
    }

    fn observations(&self) -> Observations {
        let text = fs::read_to_string(self.file()).expect("the file");
        Observations::read("run.jsonl", &text).expect("it is whole")
    }

    /// Waits until the server has read `count` requests.
    fn wait_for(&self, count: usize) {
        while self.server.served().len() < count {
            std::thread::sleep(Wall::from_micros(500));
        }
    }
}

/// An answer of two tokens, the first after `millis`.
fn answer(millis: u64) -> Script {
    let chunk = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    Script::stream()
        .until(millis)
        .body(chunk("Hi"))
        .body(chunk(" there"))
        .body("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
        .end()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails with both streams unless the program ended with `code`.
fn expect_code(output: &Output, code: i32) {
    let (out, err) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
}

fn spawned(mut command: Command) -> Child {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().expect("the program runs")
}

/// The next of a fixed series of numbers below `below`: Numerical Recipes' linear congruence, high bits.
fn below(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & 0xffff_ffff;
    (*state >> 8) % below
}

#[test]
fn a_run_killed_twenty_times_loses_no_row_and_doubles_none() {
    const KILLS: usize = 20;
    const REQUESTS: u32 = 200;
    let rig = Rig::new(vec![("quick", answer(1))]);
    let options = rig.options("quick", &["--requests", "200", "--gap", "2ms"]);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut state = 5;
    let mut whole_before = String::new();
    for kill in 0..KILLS {
        let file = if kill == 0 { "--out" } else { "--resume" };
        let mut child = spawned(rig.command(&[&options[..], &[file, "run.jsonl"]].concat()));
        // Up to eight requests later, at any moment of the next.
        let more = 1 + below(&mut state, 8) as usize;
        rig.wait_for(rig.server.served().len() + more);
        std::thread::sleep(Wall::from_micros(below(&mut state, 5000)));
        child.kill().expect("it still runs");
        child.wait().expect("it is gone");
        let text = fs::read_to_string(rig.file()).expect("the file");
        assert!(
            text.starts_with(&whole_before),
            "kill {kill} changed what was written before"
        );
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        text[..whole].clone_into(&mut whole_before);
        let (served, rows) = (rig.server.served().len(), whole_before.lines().count() - 1);
        assert!(
            served - rows <= kill + 1,
            "{served} served and {rows} rows after {} kills",
            kill + 1
        );
    }
    let output = rig.run(
        &options
            .iter()
            .map(|&option| option.to_owned())
            .collect::<Vec<_>>(),
        &["--resume", "run.jsonl"],
    );
    expect_code(&output, 0);
    let mut indices: Vec<u32> = rig
        .observations()
        .rows
        .iter()
        .map(|row| row.index)
        .collect();
    indices.sort_unstable();
    assert_eq!(indices, (1..=REQUESTS).collect::<Vec<u32>>());
    let served = rig.server.served().len();
    assert!(
        served <= REQUESTS as usize + KILLS,
        "{served} requests served"
    );
    assert!(
        stdout(&output).contains("200 requests: 200 ok"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_key_is_nowhere_even_where_the_server_echoes_it() {
    let error = format!("{{\"error\":{{\"message\":\"invalid key {KEY}\"}}}}");
    let refused = Script::answer(
        "401 Unauthorized",
        "Content-Type: application/json\r\n",
        &error,
    )
    .end();
    let in_stream = Script::stream().body(format!("data: {error}\n\n")).end();
    let rig = Rig::new(vec![
        ("refused", refused),
        ("stream", in_stream),
        ("quick", answer(0)),
    ]);
    let secrets = [
        "--key-env",
        "MEASURE_TEST_KEY",
        "--header-env",
        "X-Other=MEASURE_TEST_KEY",
        "--header",
    ];
    let title = format!("X-Title={KEY}-two");
    for name in ["refused", "stream", "quick"] {
        let options = rig.options(name, &secrets);
        let file = format!("{name}.jsonl");
        let more = [&title, "--requests", "2", "--gap", "0s", "--out", &file];
        let output = rig.run(&options, &more);
        let written = fs::read_to_string(rig.folder.path().join(&file)).expect("the file");
        let shown = format!("{}{}{written}", stdout(&output), stderr(&output));
        assert!(!shown.contains(KEY), "{shown}");
        assert!(
            shown.contains("MEASURE_TEST_KEY"),
            "the variable's name may be shown: {shown}"
        );
    }
    assert!(rig.server.served()[0].request.contains(KEY), "it was sent");
    let dry = rig.run(&rig.options("quick", &secrets), &[&title, "--dry-run"]);
    expect_code(&dry, 0);
    assert!(!stdout(&dry).contains(KEY), "{}", stdout(&dry));
}

#[test]
fn what_cannot_be_done_is_said_at_once_and_ends_with_two() {
    let rig = Rig::quick();
    let quick = rig.options(
        "quick",
        &["--requests", "2", "--gap", "0s", "--out", "run.jsonl"],
    );
    expect_code(&rig.run(&quick, &[]), 0);
    let other = rig.options("quick", &["--requests", "3", "--gap", "0s"]);
    let nowhere = [
        "--url",
        "http://127.0.0.1:1/v1",
        "--model",
        "m",
        "--name",
        "nowhere",
    ];
    let nowhere: Vec<String> = nowhere.iter().map(|&option| option.to_owned()).collect();
    let cases: [(&[String], &[&str], &str); 9] = [
        (&[], &[], "nothing to measure"),
        (&quick, &[], "is there already"),
        (
            &other,
            &["--resume", "run.jsonl"],
            "protocol.requests is 2 there and 3 here",
        ),
        (
            &other,
            &["--resume", "none.jsonl"],
            "could not open `none.jsonl`",
        ),
        (
            &nowhere,
            &["--out", "nowhere.jsonl"],
            "could not reach `nowhere` at http://127.0.0.1:1/v1: connection failed in phase connect",
        ),
        (
            &nowhere,
            &["--key-env", "MEASURE_NO_SUCH"],
            "environment variable `MEASURE_NO_SUCH` is not set",
        ),
        (&nowhere, &["--gap", "5", "--request", "1"], "--request"),
        (&nowhere, &["--gap", "5", "--requests=-1"], "2 problems"),
        (
            &nowhere,
            &["--requests", "0"],
            "`requests` must be from 1 to 1000000",
        ),
    ];
    for (options, more, expected) in cases {
        let output = rig.run(options, more);
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains(expected),
            "{expected}:\n{}",
            stderr(&output)
        );
    }
    assert!(
        !rig.folder.path().join("nowhere.jsonl").exists(),
        "nothing came back, so no file is left"
    );
}

#[test]
fn a_file_that_another_process_writes_is_left_alone() {
    let rig = Rig::quick();
    let options = rig.options("quick", &["--requests", "2", "--gap", "0s"]);
    expect_code(&rig.run(&options, &["--out", "run.jsonl"]), 0);
    let held = Journal::resume(&rig.file()).expect("nobody writes it");
    let output = rig.run(&options, &["--resume", "run.jsonl"]);
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("is being written by another process"),
        "{}",
        stderr(&output)
    );
    drop(held);
    expect_code(&rig.run(&options, &["--resume", "run.jsonl"]), 0);
}

#[test]
fn a_full_disk_ends_the_run_and_leaves_a_whole_file() {
    let rig = Rig::quick();
    let options = rig.options(
        "quick",
        &["--requests", "50", "--gap", "0s", "--out", "run.jsonl"],
    );
    let program = env!("CARGO_BIN_EXE_thermocline");
    // A limit on file sizes looks like a full disk to a program that ignores its signal.
    let script = format!("trap '' XFSZ; ulimit -f 8; exec {program} measure \"$@\"");
    let mut command = Command::new("sh");
    let command = command
        .current_dir(rig.folder.path())
        .args(["-c", &script, "sh"])
        .args(&options);
    let output = command.output().expect("a shell");
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("could not write to `run.jsonl`"),
        "{}",
        stderr(&output)
    );
    let observations = rig.observations();
    assert_eq!(observations.torn_bytes, 0);
    let served = rig.server.served().len();
    assert_eq!(
        observations.rows.len() + 1,
        served,
        "nothing is sent once nothing can be kept"
    );
    assert!(served < 50);
    expect_code(
        &rig.run(
            &rig.options("quick", &["--requests", "50", "--gap", "0s"]),
            &["--resume", "run.jsonl"],
        ),
        0,
    );
    assert_eq!(rig.observations().rows.len(), 50);
}

#[test]
fn an_interrupted_run_prints_its_summary() {
    let rig = Rig::quick();
    let options = rig.options(
        "quick",
        &["--requests", "50", "--gap", "1h", "--out", "run.jsonl"],
    );
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let mut command = rig.command(&options);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    while fs::read_to_string(rig.file()).map_or(0, |text| text.lines().count()) < 2 {
        std::thread::sleep(Wall::from_millis(5));
    }
    let id = child.id().to_string();
    let killed = Command::new("kill")
        .args(["-INT", &id])
        .status()
        .expect("a shell's tool");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    expect_code(&output, 130);
    assert!(
        stdout(&output).contains("1 request: 1 ok"),
        "{}",
        stdout(&output)
    );
    let said =
        "interrupted after 1 of 50 requests; the same command with --resume run.jsonl goes on";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
}

/// A targets file of two targets.
fn targets(rig: &Rig) -> PathBuf {
    let path = rig.folder.path().join("targets.toml");
    let text = format!(
        "[protocol]\nrequests = 3\ndiscard = 1\ngaps = \"20ms\"\njitter = \"5ms\"\nseed = 3\n\
         [targets.a]\nbase_url = \"{}\"\nmodel = \"m\"\n[targets.b]\nbase_url = \"{}\"\nmodel = \"m\"\n",
        rig.server.base_url("quick"),
        rig.server.base_url("slow")
    );
    fs::write(&path, text).expect("space");
    path
}

#[test]
fn targets_interleave_and_warm_ups_are_kept_but_tagged() {
    let rig = Rig::new(vec![("quick", answer(0)), ("slow", answer(40))]);
    let path = targets(&rig);
    let file = path.to_str().expect("a path");
    let output = rig
        .command(&[file, "--out", "run.jsonl"])
        .output()
        .expect("it runs");
    expect_code(&output, 0);
    let observations = rig.observations();
    assert_eq!(observations.header.protocol.seed, 3);
    for name in ["a", "b"] {
        let rows = observations.rows.iter().filter(|row| row.target == name);
        let tags: Vec<(u32, bool)> = rows.map(|row| (row.index, row.discarded)).collect();
        assert_eq!(tags, [(1, true), (2, false), (3, false), (4, false)]);
        let line = format!("{name} · m: 3 requests after 1 thrown away: 3 ok");
        assert!(stdout(&output).contains(&line), "{}", stdout(&output));
    }
    let order: Vec<&str> = observations
        .rows
        .iter()
        .map(|row| row.target.as_str())
        .collect();
    assert_ne!(
        order,
        ["a", "a", "a", "a", "b", "b", "b", "b"],
        "all see the same time"
    );
}

#[test]
fn the_closing_summary_is_what_analyze_says_of_the_file() {
    let rig = Rig::new(vec![("quick", answer(5))]);
    let options = rig.options(
        "quick",
        &["--requests", "8", "--gap", "0s", "--format", "json"],
    );
    let output = rig.run(&options, &["--out", "run.jsonl"]);
    expect_code(&output, 0);
    let analysed = Command::new(env!("CARGO_BIN_EXE_thermocline"))
        .current_dir(rig.folder.path())
        .args([
            "analyze",
            "run.jsonl",
            "--timezone",
            "local",
            "--format",
            "json",
        ])
        .output()
        .expect("the program runs");
    expect_code(&analysed, 0);
    assert_eq!(stdout(&output), stdout(&analysed));
    serde_json::from_str::<serde_json::Value>(&stdout(&output)).expect("it is JSON");
}

#[test]
fn a_dry_run_sends_nothing_and_writes_nothing() {
    let rig = Rig::quick();
    let path = targets(&rig);
    let file = path.to_str().expect("a path");
    let output = rig
        .command(&[file, "--dry-run", "--at", "14:00", "--key-env", "K"])
        .output();
    let output = output.expect("it runs");
    expect_code(&output, 2);
    let output = rig
        .command(&[file, "--dry-run", "--at", "14:00", "--at", "04:00"])
        .output();
    let output = output.expect("it runs");
    expect_code(&output, 0);
    let text = stdout(&output);
    for part in [
        "3 requests 0.02",
        "one at a time",
        "a: m at http",
        "04:00: ",
        "14:00: ",
        "16 to send",
        "seed 3",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(rig.server.served().is_empty());
    let files = fs::read_dir(rig.folder.path()).expect("the folder").count();
    assert_eq!(files, 1, "only the targets file");
}

#[test]
fn a_schedule_does_not_drift() {
    // 200 a second for two seconds against an answer of about a millisecond: the last one is due at 1.995 s.
    let rig = Rig::quick();
    let options = rig.options(
        "quick",
        &[
            "--requests",
            "400",
            "--over",
            "1995ms",
            "--concurrency",
            "8",
        ],
    );
    expect_code(&rig.run(&options, &["--out", "run.jsonl"]), 0);
    let rows = rig.observations().rows;
    let first = rows
        .iter()
        .map(|row| row.due_s)
        .fold(f64::INFINITY, f64::min);
    let due = rows.iter().map(|row| row.due_s).fold(0.0, f64::max);
    assert!((due - first - 1.995).abs() < 1e-6, "{first} to {due}");
    assert!(rows.iter().all(|row| row.send_lag_s.is_some()));
}

#[test]
fn help_fits_eighty_columns() {
    let rig = Rig::quick();
    for help in ["-h", "--help"] {
        let output = rig
            .command(&[help])
            .env("COLUMNS", "80")
            .output()
            .expect("it runs");
        expect_code(&output, 0);
        let text = stdout(&output);
        let long: Vec<&str> = text
            .lines()
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
    }
}

#[test]
fn the_path_of_a_file_is_only_the_users() {
    let rig = Rig::quick();
    let options = rig.options("quick", &["--requests", "1"]);
    expect_code(&rig.run(&options, &[]), 0);
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the folder");
        let names = entries.map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        names.collect::<Vec<String>>()
    };
    let names = names(rig.folder.path());
    let [name] = names.as_slice() else {
        panic!("{names:?}")
    };
    assert!(
        name.starts_with("quick-20")
            && Path::new(name)
                .extension()
                .is_some_and(|end| end == "jsonl"),
        "{name}"
    );
}
