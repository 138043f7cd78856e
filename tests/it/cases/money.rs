//! What is billed, and what it costs.

use crate::support::{ledger, plan, problems, run_plan};

/// A request that waits 30 s for its model, runs for 10 s, and leaves a replica that idles for 60 s.
fn once(billing: &str) -> String {
    format!(
        r#"
        time = {{ warm_up = "0s", horizon = "3m" }}
        benchmark = {{ requests = 1, discard = 0 }}
        [providers.p]
        {billing}
        [providers.p.deployments.m]
        price = "3600usd/h"
        service.slots = {{ prefill = "0s", decode = "10s" }}
        cold_start.load_weights = "30s"
        scaling = {{ keep_alive = "60s", max = 1 }}
        "#
    )
}

/// Loading, running and idling are billed or not; the provider pays for all of it.
#[test]
fn c105_the_bill_follows_its_rule_and_the_cost_does_not() {
    for (rule, billed_s) in [
        ("{ price = \"3600usd/h\" }", 100.0),
        ("{ price = \"3600usd/h\", boot = false }", 70.0),
        ("{ price = \"3600usd/h\", idle = false }", 40.0),
        (
            "{ price = \"3600usd/h\", boot = false, idle = false }",
            10.0,
        ),
        (
            "{ price = \"7200usd/h\", boot = false, idle = false }",
            20.0,
        ),
    ] {
        let plan = plan(&once(&format!("billing.time = {rule}")));
        let result = run_plan(&plan);
        let ledger = ledger(&result, 0);
        let billing = plan.providers[0].billing;
        let bill = billing.bill_usd(ledger).expect("a rule");
        assert!((bill - billed_s).abs() < 1e-9, "{rule}: {bill} USD");
        assert!(
            (ledger.cost_usd() - 100.0).abs() < 1e-9,
            "{rule}: the provider pays"
        );
    }
}

/// By token, time does not matter; a dedicated endpoint is cheaper above so many requests.
#[test]
fn a_bill_by_token_breaks_even_with_a_dedicated_endpoint() {
    let billing = "billing.tokens = { input_usd_per_million = 1, output_usd_per_million = 4 }
        billing.dedicated = \"3.2usd/h\"";
    let plan = plan(&once(billing));
    let result = run_plan(&plan);
    let ledger = ledger(&result, 0);
    let billing = plan.providers[0].billing;
    // 64 tokens each way.
    assert_eq!((ledger.prompt_tokens, ledger.output_tokens), (64, 64));
    let bill = billing.bill_usd(ledger).expect("a rule");
    assert!((bill - 64.0 * 5.0 / 1e6).abs() < 1e-15);
    let even = billing
        .break_even_per_hour(1, Some(bill))
        .expect("both have a price");
    assert!((even - 10_000.0).abs() < 1e-6, "{even}");
    let pair = billing
        .break_even_per_hour(2, Some(bill))
        .expect("both have a price");
    assert!((pair - 2.0 * even).abs() < 1e-6);
    assert_eq!(billing.break_even_per_hour(1, None), None);
}

#[test]
fn without_a_rule_nothing_is_billed() {
    let plan = plan(&once(""));
    let result = run_plan(&plan);
    assert_eq!(plan.providers[0].billing.bill_usd(ledger(&result, 0)), None);
    let wrong = problems(&once("billing.time.boot = \"yes\""));
    assert!(wrong.contains("billing.time.price` is missing"), "{wrong}");
    assert!(wrong.contains("must be true or false"), "{wrong}");
}
