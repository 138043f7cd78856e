//! Named, independent random streams from one seed.
//!
//! Every source of randomness has a name (`"provider/model/arrivals"`); its generator is seeded by hashing the seed, the
//! replication and the name. So streams do not depend on the order in which they are made, adding a model does not shift
//! another's draws, and two settings of one policy meet the same demand (common random numbers).

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

/// The generator behind every stream: named and portable, unlike the standard one.
pub type Stream = Xoshiro256PlusPlus;

/// Makes the streams of one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    root: u64,
}

impl Streams {
    /// The streams of replication `replication` under `seed`. Every seed is valid, zero too.
    pub fn new(seed: u64, replication: u64) -> Self {
        Self {
            root: mix(mix(seed) ^ replication),
        }
    }

    /// The stream called `name`.
    pub fn stream(self, name: &str) -> Stream {
        // FNV-1a over the name, then SplitMix64 to fill the 256-bit state.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut seed = [0; 32];
        let mut state = mix(self.root ^ mix(hash));
        for chunk in seed.chunks_exact_mut(8) {
            state = mix(state);
            chunk.copy_from_slice(&state.to_le_bytes());
        }
        Stream::from_seed(seed)
    }
}

/// One step of `SplitMix64` (Steele, Lea, Flood 2014): a bijection that scatters every bit.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn seeds_replications_and_names_all_give_different_streams() {
        let mut first: Vec<u64> = Vec::new();
        for seed in [0, 1, 2, 1 << 32] {
            for replication in 0..3 {
                for name in ["a", "b", "ab"] {
                    first.push(Streams::new(seed, replication).stream(name).next_u64());
                }
            }
        }
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 4 * 3 * 3);
    }

    #[test]
    fn a_stream_repeats_exactly() {
        let draws = |_| Streams::new(7, 0).stream("gaps").next_u64();
        assert_eq!(draws(0), draws(1));
    }
}
