//! Small workloads: what both simulations are given.

use std::fmt::Write;
use thermocline::distribution::Distribution;
use thermocline::streams::Streams;
use thermocline::time::Duration;

/// Whole nanoseconds, an instant or a span.
pub(crate) type Nanos = u64;

/// Until when workloads are simulated.
pub(crate) const HORIZON: Nanos = 2_000_000_000_000;

/// Some models of one provider on one stock of GPUs.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) seed: u32,
    /// The stock, if it can run out; each replica takes one.
    pub(crate) gpus: Option<u32>,
    pub(crate) evict_idle: bool,
    pub(crate) models: Vec<Model>,
}

/// A model, how it scales, and who asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) service: Service,
    /// Lengths of the phases of a start.
    pub(crate) start: Vec<Nanos>,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) initial: u32,
    pub(crate) buffer: u32,
    pub(crate) target: u32,
    /// None is for ever.
    pub(crate) keep_alive: Option<Nanos>,
    pub(crate) cancel_surplus_starts: bool,
    pub(crate) idle_order: &'static str,
    pub(crate) queue_limit: Option<u32>,
    pub(crate) queue_timeout: Option<Nanos>,
    pub(crate) hold_while_cold: bool,
    pub(crate) sharing: Option<Sharing>,
    /// When the oldest ready replica dies.
    pub(crate) failures: Vec<Nanos>,
    pub(crate) streams: Vec<Stream>,
}

/// How models share the replicas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    pub(crate) at_once: u32,
    pub(crate) keeps_own: bool,
    pub(crate) switch: Nanos,
    pub(crate) first_fit: bool,
}

/// How a replica works.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    Slots {
        slots: u32,
        times: Times,
    },
    Static {
        batch_size: u32,
        window: Nanos,
        release_early: bool,
        times: Times,
    },
    Continuous(Continuous),
}

/// Stated service times: a fixed time to the first token, and a spread one after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) prefill: Nanos,
    pub(crate) decode_low: Nanos,
    pub(crate) decode_high: Nanos,
}

/// A continuous batch; times in whole nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Continuous {
    pub(crate) max_sequences: u32,
    pub(crate) max_batched_tokens: u32,
    pub(crate) kv_tokens: u32,
    pub(crate) block_tokens: u32,
    pub(crate) max_context_tokens: u32,
    pub(crate) is_by_priority: bool,
    pub(crate) base: Nanos,
    pub(crate) per_sequence: Nanos,
    pub(crate) per_context_token: Nanos,
    pub(crate) per_prompt_token: Nanos,
    /// Even, because half of it counts.
    pub(crate) per_pair: Nanos,
}

/// Equal requests at listed instants.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) times: Vec<Nanos>,
    pub(crate) prompt_tokens: u32,
    /// 0, 50 or 100.
    pub(crate) cached_percent: u32,
    pub(crate) output_tokens: u32,
    /// Which of the models that share the replicas; 0 is their own.
    pub(crate) model: usize,
    pub(crate) priority: u8,
    pub(crate) wakes: bool,
    pub(crate) timeout: Option<Nanos>,
}

/// A request's work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) key: usize,
    pub(crate) priority: u8,
    pub(crate) prompt_tokens: u32,
    pub(crate) cached_tokens: u32,
    pub(crate) output_tokens: u32,
    pub(crate) prefill: Nanos,
    pub(crate) decode: Nanos,
}

/// A span in scenario notation.
pub(crate) fn span(nanos: Nanos) -> String {
    format!("{nanos}ns")
}

fn span_or(nanos: Option<Nanos>, otherwise: &str) -> String {
    nanos.map_or_else(|| otherwise.to_owned(), span)
}

impl Workload {
    /// The work of each request of a stream, in order: its service times are drawn from a stream of that name.
    pub(crate) fn jobs(&self, model: usize, stream: usize) -> Vec<Job> {
        let name = format!("p/m{model}/traffic/t{stream}/service");
        let mut random = Streams::new(u64::from(self.seed), 0).stream(&name);
        let (service, from) = (
            &self.models[model].service,
            &self.models[model].streams[stream],
        );
        let job = |_: &Nanos| {
            let (prefill, decode) = match service {
                Service::Slots { times, .. } | Service::Static { times, .. } => (
                    times.prefill,
                    Duration::from_secs(times.decode().sample(&mut random)).as_nanos(),
                ),
                Service::Continuous(_) => (0, 0),
            };
            Job {
                key: 0,
                priority: from.priority,
                prompt_tokens: from.prompt_tokens,
                cached_tokens: from.prompt_tokens * from.cached_percent / 100,
                output_tokens: from.output_tokens,
                prefill,
                decode,
            }
        };
        from.times.iter().map(job).collect()
    }

    /// The provider in scenario notation.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::from("[providers.p]\n");
        if let Some(gpus) = self.gpus {
            writeln!(text, "gpus.g = {gpus}\nevict_idle = {}", self.evict_idle).expect("text");
        }
        for (index, model) in self.models.iter().enumerate() {
            writeln!(text, "[providers.p.deployments.m{index}]\ngpu = \"g\"").expect("text");
            model.write(&mut text);
        }
        format!("seed = {}\n{text}", self.seed)
    }
}

impl Times {
    fn decode(self) -> Distribution {
        let seconds = |nanos| Duration::from_nanos(nanos).as_secs();
        Distribution::Uniform {
            low: seconds(self.decode_low),
            high: seconds(self.decode_high),
        }
    }

    fn to_toml(self) -> String {
        format!(
            "prefill = \"{}\", decode.uniform = {{ low = \"{}\", high = \"{}\" }}",
            span(self.prefill),
            span(self.decode_low),
            span(self.decode_high)
        )
    }
}

impl Service {
    fn to_toml(&self) -> String {
        match self {
            Self::Slots { slots, times } => {
                format!("slots = {{ slots = {slots}, {} }}", times.to_toml())
            }
            Self::Static {
                batch_size,
                window,
                release_early,
                times,
            } => format!(
                "static = {{ batch_size = {batch_size}, window = \"{}\", release_early = {release_early}, {} }}",
                span(*window),
                times.to_toml()
            ),
            Self::Continuous(config) => config.to_toml(),
        }
    }
}

impl Continuous {
    fn to_toml(self) -> String {
        format!(
            "continuous = {{ max_sequences = {}, max_batched_tokens = {}, kv_tokens = {}, block_tokens = {}, \
             max_context_tokens = {}, admission = \"{}\", step = {{ base = \"{}\", per_sequence = \"{}\", \
             per_context_token = \"{}\", prefill_per_token = \"{}\", prefill_per_pair = \"{}\" }} }}",
            self.max_sequences,
            self.max_batched_tokens,
            self.kv_tokens,
            self.block_tokens,
            self.max_context_tokens,
            if self.is_by_priority {
                "priority"
            } else {
                "fcfs"
            },
            span(self.base),
            span(self.per_sequence),
            span(self.per_context_token),
            span(self.per_prompt_token),
            span(self.per_pair)
        )
    }
}

impl Model {
    fn write(&self, text: &mut String) {
        const PHASES: [&str; 2] = ["provision", "load_weights"];
        let start: Vec<String> = PHASES
            .iter()
            .zip(&self.start)
            .map(|(phase, nanos)| format!("{phase} = \"{}\"", span(*nanos)))
            .collect();
        let limit = self
            .queue_limit
            .map_or("\"unlimited\"".to_owned(), |limit| limit.to_string());
        let failures: Vec<String> = self.failures.iter().map(|nanos| span(*nanos)).collect();
        writeln!(
            text,
            "idle_order = \"{}\"\nservice.{}\ncold_start = {{ {} }}\n\
             scaling = {{ min = {}, max = {}, initial = {}, buffer = {}, keep_alive = \"{}\", \
             cancel_surplus_starts = {}, rule.arrival.target = {} }}\n\
             queue = {{ limit = {limit}, timeout = \"{}\", hold_while_cold = {} }}\n\
             losses.failures_at = {failures:?}",
            self.idle_order,
            self.service.to_toml(),
            start.join(", "),
            self.min,
            self.max,
            self.initial,
            self.buffer,
            span_or(self.keep_alive, "infinite"),
            self.cancel_surplus_starts,
            self.target,
            span_or(self.queue_timeout, "none"),
            self.hold_while_cold,
        )
        .expect("text");
        if let Some(sharing) = self.sharing {
            writeln!(text, "{}", sharing.to_toml()).expect("text");
        }
        for (index, stream) in self.streams.iter().enumerate() {
            stream.write(index, text);
        }
    }
}

impl Sharing {
    fn to_toml(self) -> String {
        format!(
            "sharing.{} = {{ at_once = {}, switch = \"{}\", order = \"{}\" }}",
            if self.keeps_own { "adapters" } else { "models" },
            self.at_once,
            span(self.switch),
            if self.first_fit { "first-fit" } else { "fcfs" },
        )
    }
}

impl Stream {
    fn write(&self, index: usize, text: &mut String) {
        let times: Vec<String> = self.times.iter().map(|nanos| span(*nanos)).collect();
        writeln!(
            text,
            "traffic.t{index} = {{ arrivals.at.times = {times:?}, prompt_tokens = {}, cached_share = \"{}%\", \
             output_tokens = {}, priority = {}, wakes = {}, timeout = \"{}\"{} }}",
            self.prompt_tokens,
            self.cached_percent,
            self.output_tokens,
            self.priority,
            self.wakes,
            span_or(self.timeout, "none"),
            if self.model == 0 {
                String::new()
            } else {
                format!(", model = \"other-{}\"", self.model)
            },
        )
        .expect("text");
    }
}
