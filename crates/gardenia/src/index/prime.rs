//! The next prime, for partitions of prime slices and the rows of sketches.

/// The smallest prime that is at least `n` (2 for smaller n). `n` is at most 2⁴⁰ here.
pub(crate) fn at_least(n: u64) -> u64 {
    let mut candidate = n.max(2);
    while !is_prime(candidate) {
        candidate += 1;
    }
    candidate
}

/// Miller and Rabin's test; with the first twelve primes as bases it is exact for all 64-bit
/// numbers (Sorenson and Webster 2015).
pub(crate) fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 || BASES.iter().any(|&p| n != p && n.is_multiple_of(p)) {
        return false;
    }
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
    let (twos, odd) = ((n - 1).trailing_zeros(), (n - 1) >> (n - 1).trailing_zeros());
    BASES.iter().filter(|&&base| base < n).all(|&base| {
        let (mut power, mut square, mut exponent) = (1, base, odd);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = mul(power, square);
            }
            square = mul(square, square);
            exponent >>= 1;
        }
        power == 1
            || (0..twos).any(|_| {
                let witness = power == n - 1;
                power = mul(power, power);
                witness
            })
    })
}

#[test]
fn agrees_with_trial_division_and_known_primes() {
    for n in 0..5000u64 {
        let by_trial = n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        assert_eq!(is_prime(n), by_trial, "{n}");
    }
    assert_eq!(at_least(1 << 40), (1 << 40) + 15); // OEIS A013597
    assert!(!is_prime(3_215_031_751)); // strong pseudoprime to bases 2, 3, 5, 7
}
