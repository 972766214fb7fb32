//! Percentiles of measured times.

/// Sorted values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(Vec<f64>);

impl Times {
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest value that at least this share of all do not exceed; zero without values.
    pub fn at(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.clamp(1, self.0.len().max(1)) - 1).copied().unwrap_or(0.0)
    }

    pub fn p50(&self) -> f64 {
        self.at(0.50)
    }

    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    pub fn max(&self) -> f64 {
        self.at(1.0)
    }

    pub fn together<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::new(parts.into_iter().flat_map(|part| part.0.iter().copied()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let hundred = Times::new((1..=100).rev().map(f64::from).collect());
        for (times, share, expected) in [
            (&hundred, 0.5, 50.0),
            (&hundred, 0.99, 99.0),
            (&hundred, 1.0, 100.0),
            (&hundred, 0.0, 1.0),
            (&Times::new(vec![3.0, 1.0, 2.0]), 0.5, 2.0),
            (&Times::new(vec![3.0, 1.0, 2.0]), 0.99, 3.0),
            (&Times::default(), 0.99, 0.0),
        ] {
            assert_eq!(times.at(share), expected, "{share} of {times:?}");
        }
        assert_eq!(Times::together([&hundred, &hundred]).count(), 200);
    }
}
