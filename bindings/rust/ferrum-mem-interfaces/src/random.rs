//! Random numbers that a seed determines.

/// The generator SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0, below 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A number from `low`, below `high` unless both are equal.
    pub(crate) fn uniform(&mut self, low: f32, high: f32) -> f32 {
        let span = f64::from(high) - f64::from(low);
        let number = (f64::from(low) + span * self.fraction()) as f32;
        // The conversion may round up to the end.
        if number >= high && low < high {
            high.next_down()
        } else {
            number
        }
    }

    /// Two numbers of the standard normal distribution (Box and Muller, 1958).
    pub(crate) fn normal_pair(&mut self) -> [f64; 2] {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.fraction()).sin_cos();
        [radius * cosine, radius * sine]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation for the seed 1234567.
    #[test]
    fn test_numbers_are_those_of_the_generator() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn test_a_uniform_number_is_below_the_end() {
        let mut random = Random::new(3);
        let end = 1.0f32.next_up();
        assert!((0..100).all(|_| random.uniform(1.0, end) == 1.0));
        assert_eq!(random.uniform(2.0, 2.0), 2.0);
    }
}
