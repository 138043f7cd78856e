//! The `thermocline` program.
use thermocline::{
    experiment::{Keep, repeat::repeat},
    scenario,
    stats::CvDefinition,
};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    match scenario::load(
        &path,
        &text,
        &scenario::Overrides {
            set: std::env::args().skip(2).collect(),
            ..Default::default()
        },
    ) {
        Err(e) => println!("{e}"),
        Ok((plan, _)) => {
            let out = repeat(&plan, 1, CvDefinition::StdOverMean, Keep::default(), &|| ());
            for row in &out.rows {
                println!("{:#?}", row.summary);
            }
            for run in &out.runs {
                for d in &run.fleet {
                    println!("{:?} {:?}", d.ledger, d.ttft.quantile(0.95));
                }
            }
        }
    }
}
