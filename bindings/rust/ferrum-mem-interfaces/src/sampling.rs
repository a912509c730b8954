//! The choice of a token from logits: repetition penalty, temperature, top-k, top-p, and a draw.

use std::cmp::Ordering;

use ferrum_interfaces::KernelSamplingParams;
use ferrum_types::{FerrumError, Result};

use crate::random::Random;

fn wrong(said: String) -> FerrumError {
    FerrumError::invalid_parameter(format!("sampling: {said}"))
}

/// The index of the largest number, the first one of equal numbers. As in NumPy, NaN is the largest.
/// `None`: there are no numbers.
fn largest(numbers: &[f64]) -> Option<usize> {
    let above = |a: f64, b: f64| match a.partial_cmp(&b) {
        Some(order) => order == Ordering::Greater,
        None => a.is_nan() && !b.is_nan(),
    };
    (0..numbers.len()).reduce(|best, at| {
        if above(numbers[at], numbers[best]) {
            at
        } else {
            best
        }
    })
}

/// The token of the largest logit; the first one of equal logits. As in NumPy, NaN is the largest.
pub(crate) fn greedy(logits: &[f64]) -> Result<u32> {
    let best = largest(logits).ok_or_else(|| wrong("there are no logits".into()))?;
    u32::try_from(best).map_err(|error| wrong(error.to_string()))
}

fn check(params: &KernelSamplingParams) -> Result<()> {
    let KernelSamplingParams {
        temperature,
        top_p,
        repetition_penalty,
        ..
    } = params;
    if !(temperature.is_finite() && *temperature >= 0.0) {
        return Err(wrong(format!("the temperature is {temperature}")));
    }
    if top_p.is_nan() || *top_p <= 0.0 {
        return Err(wrong(format!("top_p is {top_p}")));
    }
    if !(repetition_penalty.is_finite() && *repetition_penalty > 0.0) {
        return Err(wrong(format!(
            "the repetition penalty is {repetition_penalty}"
        )));
    }
    let (ids, counts) = (
        params.repetition_token_ids.len(),
        params.repetition_token_freqs.len(),
    );
    if ids != counts {
        return Err(wrong(format!(
            "{ids} repeated tokens have {counts} frequencies"
        )));
    }
    Ok(())
}

/// Samples a token. The penalty of a token is `repetition_penalty` to the power of its frequency: a
/// positive logit is divided by it, a negative one multiplied. Temperature 0 is greedy, `top_k` 0 and
/// `top_p` from 1 on keep all tokens. The seed determines the draw.
pub(crate) fn sample(mut logits: Vec<f64>, params: &KernelSamplingParams) -> Result<u32> {
    check(params)?;
    if logits.iter().any(|it| it.is_nan()) {
        return Err(wrong("a logit is NaN".into()));
    }
    let repeated = params.repetition_token_ids.iter();
    for (token, frequency) in repeated.zip(&params.repetition_token_freqs) {
        let count = logits.len();
        let logit = logits
            .get_mut(*token as usize)
            .ok_or_else(|| wrong(format!("token {token} is not one of the {count} logits")))?;
        let penalty = f64::from(params.repetition_penalty).powf(f64::from(*frequency));
        *logit = if *logit > 0.0 {
            *logit / penalty
        } else {
            *logit * penalty
        };
    }
    if params.temperature == 0.0 {
        return greedy(&logits);
    }
    let best = greedy(&logits)?;
    let top = logits[best as usize];
    if !top.is_finite() {
        return Err(wrong(format!("the largest logit is {top}")));
    }
    // The most probable tokens first, the first one of equal tokens.
    let mut tokens: Vec<usize> = (0..logits.len()).collect();
    tokens.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    if params.top_k > 0 {
        tokens.truncate(params.top_k);
    }
    let temperature = f64::from(params.temperature);
    let weights = tokens
        .iter()
        .map(|it| ((logits[*it] - top) / temperature).exp());
    let mut weights: Vec<f64> = weights.collect();
    let limit = f64::from(params.top_p) * weights.iter().sum::<f64>();
    let (mut sum, mut kept) = (0.0, 0);
    while kept < weights.len() && (kept == 0 || params.top_p >= 1.0 || sum < limit) {
        sum += weights[kept];
        kept += 1;
    }
    weights.truncate(kept);
    let mut left = Random::new(params.rng_seed.into()).fraction() * sum;
    let drawn = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    Ok(tokens[drawn.unwrap_or(0)] as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> KernelSamplingParams {
        KernelSamplingParams {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            repetition_penalty: 1.0,
            repetition_token_ids: Vec::new(),
            repetition_token_freqs: Vec::new(),
            rng_seed: 0,
        }
    }

    /// How often each of the tokens is drawn, of 4000 seeds.
    fn counts(logits: &[f64], params: &KernelSamplingParams) -> Vec<usize> {
        let mut counts = vec![0; logits.len()];
        for rng_seed in 0..4000 {
            let params = KernelSamplingParams {
                rng_seed,
                ..params.clone()
            };
            counts[sample(logits.to_vec(), &params).unwrap() as usize] += 1;
        }
        counts
    }

    #[test]
    fn test_draws_follow_the_probabilities() {
        let logits = [1f64.ln(), 2f64.ln(), 5f64.ln(), f64::NEG_INFINITY];
        let drawn = counts(&logits, &params());
        for (count, expected) in drawn.iter().zip([500, 1000, 2500, 0]) {
            assert!(count.abs_diff(expected) < 150, "{drawn:?}");
        }
        // Twice the temperature takes the square roots.
        let warm = KernelSamplingParams {
            temperature: 2.0,
            ..params()
        };
        let drawn = counts(&logits[..2], &warm);
        assert!(drawn[0].abs_diff(1657) < 150, "{drawn:?}");
    }

    #[test]
    fn test_few_tokens_are_kept() {
        let logits = [1f64.ln(), 2f64.ln(), 5f64.ln(), 2f64.ln()];
        let two = KernelSamplingParams {
            top_k: 2,
            ..params()
        };
        let drawn = counts(&logits, &two);
        assert!(
            drawn[0] == 0 && drawn[3] == 0 && drawn[1] > 0 && drawn[2] > 0,
            "{drawn:?}"
        );
        let half = KernelSamplingParams {
            top_p: 0.5,
            ..params()
        };
        assert_eq!(counts(&logits, &half), [0, 0, 4000, 0]);
        let more = KernelSamplingParams {
            top_p: 0.51,
            ..params()
        };
        let drawn = counts(&logits, &more);
        assert!(drawn[1] > 0 && drawn[3] == 0, "{drawn:?}");
    }

    #[test]
    fn test_repeated_tokens_lose() {
        let repeated = KernelSamplingParams {
            temperature: 0.0,
            repetition_penalty: 2.0,
            repetition_token_ids: vec![1, 2],
            repetition_token_freqs: vec![2, 1],
            ..params()
        };
        assert_eq!(sample(vec![1.5, 4.0, 1.0], &repeated).unwrap(), 0);
        assert_eq!(sample(vec![0.9, 4.0, 1.9], &repeated).unwrap(), 1);
        assert_eq!(sample(vec![-3.0, -1.0, -1.0], &repeated).unwrap(), 2);
    }

    #[test]
    fn test_wrong_parameters_are_named() {
        let bad = |change: fn(&mut KernelSamplingParams)| {
            let mut params = params();
            change(&mut params);
            sample(vec![0.0, 1.0], &params).unwrap_err().to_string()
        };
        assert!(bad(|it| it.temperature = -1.0).contains("temperature is -1"));
        assert!(bad(|it| it.temperature = f32::NAN).contains("temperature is NaN"));
        assert!(bad(|it| it.top_p = 0.0).contains("top_p is 0"));
        assert!(bad(|it| it.repetition_penalty = 0.0).contains("penalty is 0"));
        assert!(bad(|it| it.repetition_token_ids = vec![1]).contains("1 repeated tokens"));
        let far = bad(|it| {
            it.repetition_token_ids = vec![2];
            it.repetition_token_freqs = vec![1];
        });
        assert!(far.contains("token 2 is not one of the 2 logits"), "{far}");
        for logits in [vec![], vec![f64::NAN], vec![f64::NEG_INFINITY]] {
            assert!(sample(logits, &params()).is_err());
        }
    }
}
