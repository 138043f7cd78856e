//! Published figures beside simulated ones.
