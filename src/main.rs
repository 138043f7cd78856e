//! The `thermocline` program.
use thermocline::{
    experiment::{Keep, repeat::repeat},
    scenario,
    stats::CvDefinition,
};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let n: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    match scenario::load(
        &path,
        &text,
        &scenario::Overrides {
            set: std::env::args().skip(3).collect(),
            ..Default::default()
        },
    ) {
        Err(e) => println!("{e}"),
        Ok((plan, _)) => {
            for p in &plan.providers {
                for (d, preds) in p.predictions.iter().enumerate() {
                    for pr in preds {
                        println!(
                            "{} {} on {}: prefill64 {:.4} prefill512 {:.4} step1 {:.4} step32 {:.4} kv {}",
                            p.name,
                            p.fleet.deployments[d].name,
                            pr.placement,
                            pr.performance.prefill(64, 0),
                            pr.performance.prefill(512, 0),
                            pr.performance.step(1, 500.0),
                            pr.performance.step(32, 32000.0),
                            pr.performance.memory().kv_capacity_tokens()
                        );
                        for (w, s) in &pr.starts {
                            println!(
                                "   {:?} {:.1}: {}",
                                w,
                                s.median_s(),
                                s.phases
                                    .iter()
                                    .map(|p| format!("{} {:.1}", p.stage.name(), p.time.median_s))
                                    .collect::<Vec<_>>()
                                    .join(", ")
                            );
                        }
                    }
                }
            }
            let out = repeat(&plan, n, CvDefinition::StdOverMean, Keep::default(), &|| ());
            for row in &out.rows {
                let t = row.summary.ttft.as_ref().unwrap();
                println!(
                    "{} {}: median {:.3} p95 {:.3} std/median {:.0}% max {:.1} cold {:?}",
                    plan.providers[row.provider].name,
                    plan.sessions[row.session].name,
                    t.median_s,
                    t.p95_s,
                    t.std_over_median_percent.unwrap_or(0.),
                    t.max_s,
                    row.summary.cold_requests()
                );
                if let Some(r) = &row.reported {
                    let f = |s: &thermocline::experiment::repeat::Spread| {
                        format!(
                            "{:.3}/{:.3}/{:.3}",
                            s.p05.unwrap(),
                            s.p50.unwrap(),
                            s.p95.unwrap()
                        )
                    };
                    println!(
                        "    median {} p95 {} std/median {} cold {}",
                        f(&r.ttft_median_s),
                        f(&r.ttft_p95_s),
                        f(&r.std_over_median_percent),
                        f(&r.cold_requests)
                    );
                }
            }
            for run in &out.runs {
                for d in &run.fleet {
                    println!(
                        "{:?} p50 {:?} p95 {:?}",
                        d.ledger,
                        d.ttft.quantile(0.5),
                        d.ttft.quantile(0.95)
                    );
                }
            }
        }
    }
}
