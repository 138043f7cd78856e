//! Paths into a scenario that name what is not there: `--set`, `--vary`, `--free` and what `[calibrate]` frees.

use crate::questions::told;
use crate::support::problems;
use thermocline::scenario::{self, Overrides, Varied};

const ONE: &str = "
time.horizon = \"10m\"
[providers.acme.deployments.model]
traffic.others.arrivals = \"1/m\"
[providers.other.deployments.\"model-3.1\"]
";

fn set(argument: &str) -> Result<(), String> {
    let overrides = Overrides {
        set: vec![argument.to_owned()],
        ..Overrides::default()
    };
    let loaded = scenario::load("test.toml", ONE, &overrides);
    loaded.map(|_| ()).map_err(|error| error.to_string())
}

fn varied(argument: &str) -> Result<(), String> {
    let overrides = Overrides {
        varied: vec![Varied {
            option: "--vary".to_owned(),
            argument: argument.to_owned(),
        }],
        ..Overrides::default()
    };
    let loaded = scenario::load("test.toml", ONE, &overrides);
    loaded.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn a_path_through_an_unknown_name_is_refused() {
    let cases = [
        (
            "providers.acem.deployments.model.scaling.min=1",
            "there is no provider `acem`",
            "did you mean `acme`?",
        ),
        (
            "providers.acme.deployments.modle.scaling.min=1",
            "there is no deployment `modle`",
            "did you mean `model`?",
        ),
        (
            "providers.*.deployments.modle.scaling.min=1",
            "there is no deployment `modle`",
            "did you mean `model`?",
        ),
        (
            "providers.acme.deployments.model.traffic.othres.arrivals=1/s",
            "there is no traffic stream `othres`",
            "did you mean `others`?",
        ),
        (
            "providers.other.deployments.model-3.1.scaling.min=1",
            "there is no deployment `model-3`",
            "did you mean `\"model-3.1\"`?",
        ),
    ];
    for (argument, message, help) in cases {
        for (option, refused) in [("--set", set(argument)), ("--vary", varied(argument))] {
            let text = refused.expect_err(argument);
            let place = format!("--> {option}:1:");
            for expected in [message, help, place.as_str()] {
                assert!(text.contains(expected), "{argument}: no {expected}: {text}");
            }
            assert!(!text.contains("is missing"), "{argument}: {text}");
        }
    }
}

#[test]
fn a_new_entry_is_given_whole_and_never_tried() {
    let whole = [
        "providers.new={ deployments = { m = {} } }",
        "providers.acme.deployments.new={}",
        "providers.*.deployments.*.traffic.more={ arrivals = \"1/h\" }",
        "benchmark.sessions.noon=Mon 12:00",
    ];
    for argument in whole {
        assert_eq!(set(argument), Ok(()), "{argument}");
        let text = varied(argument).expect_err(argument);
        assert!(text.contains("there is no "), "{argument}: {text}");
    }
    let text = set("providers.new.deployments.m.scaling.min=1").expect_err("a part");
    let how = "a new one is given whole: --set 'providers.new={ .. }'";
    assert!(text.contains(how), "{text}");
    // Where only some providers have the model, the others do not get it.
    assert_eq!(
        varied("providers.*.deployments.model.scaling.min=1"),
        Ok(())
    );
}

#[test]
fn the_commands_refuse_what_would_be_invented() {
    let path = "providers.breadth-frist.deployments.niche.scaling.min";
    let free = format!("{path}=0..2");
    let one = format!("{path}=1");
    let cases: [(&str, &[&str], &str); 3] = [
        ("sweep", &["lesson", "--vary", &free], "--vary:1:"),
        (
            "plan",
            &["lesson", "--objective=cv < 1%", "--free", &free],
            "--free:1:",
        ),
        ("simulate", &["lesson", "--set", &one], "--set:1:"),
    ];
    for (command, arguments, place) in cases {
        let (code, text) = told(command, arguments);
        assert_eq!(code, Some(2), "{command}: {text}");
        for expected in ["did you mean `breadth-first`?", place] {
            assert!(text.contains(expected), "{command}: no {expected}: {text}");
        }
    }
}

#[test]
fn paths_that_are_freed_are_checked_where_they_stand() {
    let freed = |path: &str| {
        problems(&format!(
            "{ONE}[calibrate.size]\nrange.integer = {{ from = 1, to = 4 }}\npath = \"{path}\"\n"
        ))
    };
    let cases = [
        (
            "providers.acme.deployments.model.scaling.min",
            "nothing: it is accepted",
            "",
        ),
        (
            "providers.acem.deployments.model.scaling.min",
            "there is no provider `acem`",
            "test.toml:8:19",
        ),
        (
            "providers.acme.deployments.model.scaling.mni",
            "unknown key `mni`",
            "test.toml:8:50",
        ),
        (
            "providers.acme.deployments.*.traffic.none.arrivals",
            "there is no traffic stream `none`",
            "test.toml:8:46",
        ),
        ("providers.acme..model", "is malformed", "test.toml:8:24"),
        (
            "providers.acme.deployments.model.scaling.keep_alive",
            "`keep_alive` must be a duration",
            "test.toml:7:",
        ),
    ];
    for (path, message, place) in cases {
        let text = freed(path);
        for expected in [message, place] {
            assert!(text.contains(expected), "{path}: no {expected}: {text}");
        }
    }
}
