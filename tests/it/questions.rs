//! What tests of the questions share: asking one as a user would.

use std::process::Command;

/// Runs a command at 80 columns without colours: its exit code, and what it says, else why not.
pub(crate) fn told(command: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
        .args(["--color", "never", "--width", "80", command])
        .args(arguments)
        .output()
        .expect("the program starts");
    let said = if output.stdout.is_empty() {
        output.stderr
    } else {
        output.stdout
    };
    (output.status.code(), String::from_utf8(said).expect("text"))
}
