//! Equality of short octet strings such as labels and names, inlined: `memcmp` of the C library is a call.

/// Whether both are equal. More than 16 octets go to the library.
#[inline]
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        // Two words, which may overlap, cover all octets.
        8..=16 => words::<8>(a, b),
        4..=7 => words::<4>(a, b),
        0..=3 => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

#[inline]
fn words<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk::<N>() && a.last_chunk::<N>() == b.last_chunk::<N>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_counts() {
        for len in 0..40 {
            let a: Vec<u8> = (0..len).collect();
            assert!(equal(&a, &a.clone()), "{len}");
            for changed in 0..usize::from(len) {
                let mut b = a.clone();
                b[changed] ^= 1;
                assert!(!equal(&a, &b), "{len} {changed}");
            }
            assert!(!equal(&a, &[&a[..], &[0]].concat()), "{len}");
        }
    }
}
