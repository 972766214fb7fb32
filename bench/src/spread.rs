//! Median, minimum and maximum.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// All zeros without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self { median: 0.0, min: 0.0, max: 0.0 };
        };
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Self { median, min, max }
    }

    /// For programs.
    pub fn value(self) -> Value {
        json!({ "median": self.median, "min": self.min, "max": self.max })
    }

    pub fn times(self, factor: f64) -> Self {
        Self { median: self.median * factor, min: self.min * factor, max: self.max * factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let spread = |values: &[f64]| {
            let s = Spread::of(values.iter().copied());
            (s.median, s.min, s.max)
        };
        assert_eq!(spread(&[]), (0.0, 0.0, 0.0));
        assert_eq!(spread(&[3.0, 1.0, 2.0]), (2.0, 1.0, 3.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), (2.5, 1.0, 4.0));
    }
}
