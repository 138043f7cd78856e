//! Requests that no replica can ever hold are said before a run, with the length that fits.

use crate::support::plan;
use std::process::Command;
use thermocline::experiment::too_long::too_long;

fn scenario(memory: &str, output: &str, prompt: u32) -> String {
    format!(
        "benchmark = {{ requests = 3, prompt_tokens = {prompt} }}
        [providers.acme.deployments.\"llama-3.1-8b\"]
        gpu = \"h100-sxm\"
        engine = {{}}
        memory = \"{memory}\"
        traffic.users = {{ arrivals = \"10/h\", prompt_tokens = 400, output_tokens = {output} }}\n"
    )
}

/// Room and share as by hand: all prompts have 400 tokens, and answers of one length are longer or are not.
#[test]
fn the_length_that_fits_is_the_smaller_of_cache_and_context() {
    let fitted = plan(&scenario("fitted", "100", 64));
    assert_eq!(too_long(&fitted), [], "500 tokens fit");
    let long = too_long(&plan(&scenario("fitted", "100000", 64)));
    let [found] = long.as_slice() else {
        panic!("one warning: {long:?}")
    };
    assert_eq!(
        (found.share, found.is_part, found.hits_benchmark),
        (1.0, true, false)
    );
    // Half of the answers are of 1 and half of `room` tokens, so half of the requests are longer by 400.
    let mixed = format!(
        "{{ mixture.parts = [{{ weight = 1, of = 1 }}, {{ weight = 1, of = {} }}] }}",
        found.room
    );
    let half = too_long(&plan(&scenario("fitted", &mixed, 64)));
    // Three standard errors of 4000 draws are 0.024.
    assert!((half[0].share - 0.5).abs() < 0.026, "{half:?}");
    assert_eq!(half[0].room, found.room);
    let whole = plan(&scenario("whole", &mixed, 64));
    assert_eq!(too_long(&whole), [], "the whole GPU holds them");
}

#[test]
fn commands_warn_and_go_on() {
    let text = scenario("fitted", "100", 60_000);
    let room = too_long(&plan(&text))[0].room.to_string();
    for command in ["check", "simulate"] {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("thermocline"))
            .args([command, "-"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                use std::io::Write as _;
                if let Some(stdin) = &mut child.stdin {
                    stdin.write_all(text.as_bytes())?;
                }
                child.wait_with_output()
            })
            .expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr).replace(['\u{202f}', ' '], "");
        assert!(output.status.success(), "{error}");
        assert!(error.contains(&format!("morethan{room}tokens")), "{error}");
        assert!(error.contains("benchmark'sownrequests"), "{error}");
    }
}
