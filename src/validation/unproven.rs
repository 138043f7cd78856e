//! What has no closed form, and what stands in for one.

/// A part of the model without an oracle.
#[derive(Clone, Copy, Debug)]
pub struct Unproven {
    /// The part.
    pub what: &'static str,
    /// What is tested in its stead.
    pub instead: &'static str,
    /// The tests' names.
    pub tests: &'static [&'static str],
}

/// Everything without an oracle.
pub const UNPROVEN: &[Unproven] = &[
    Unproven {
        what: "autoscalers that average over windows or look now and then",
        instead: "their rules one by one, and conservation on random scenarios",
        tests: &[
            "a_burst_panics_and_panic_does_not_go_down",
            "c016_arrivals_wake_a_model_and_polls_may_miss_them",
            "every_run_obeys_the_books",
        ],
    },
    Unproven {
        what: "chunked prefill, KV blocks, preemption, a limit on the batch",
        instead: "a second implementation that takes one iteration at a time, on random traces",
        tests: &[
            "fast_forwarding_agrees_with_plain_iterations_on_random_traces",
            "a_prompt_is_computed_in_chunks_that_ride_along_with_decoding",
        ],
    },
    Unproven {
        what: "static batches with windows, padding and answers of different lengths",
        instead: "exact traces",
        tests: &[
            "a_static_batch_waits_for_its_window_or_until_it_is_full",
            "a_static_batch_is_padded_to_its_longest_member",
        ],
    },
    Unproven {
        what: "a constant keep-alive where cold requests take longer than warm ones",
        instead: "exact traces, and that a larger warm pool only spares cold starts",
        tests: &[
            "a_replica_for_each_request_and_no_queue",
            "a_larger_warm_pool_only_spares_cold_starts",
        ],
    },
    Unproven {
        what: "eviction of the least recently used model where starts take time and the busy may not go",
        instead: "who goes and who stays, on exact traces",
        tests: &[
            "one_model_more_evicts_only_the_least_recently_used",
            "a_busy_model_is_never_evicted",
        ],
    },
    Unproven {
        what: "starts in phases, from levels of warmth, over links that loads share",
        instead: "exact traces, and totals that were measured elsewhere",
        tests: &[
            "starts_at_the_same_time_share_the_link",
            "c021_warmth_is_a_ladder",
            "cold_starts_meet_the_measured_totals",
        ],
    },
    Unproven {
        what: "demand that varies over the day and the week",
        instead: "its mean and its shape",
        tests: &["a_curve_moves_arrivals_without_changing_their_number"],
    },
    Unproven {
        what: "the times of the catalogue's hardware and engines",
        instead: "kernel sums and measurements of others",
        tests: &[
            "prefill_meets_the_kernel_sums",
            "weight_reads_meet_the_kernel_sums",
        ],
    },
];
