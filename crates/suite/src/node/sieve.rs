//! Sieve of Eratosthenes, 100 times: table 4 of Dunigan 1991.
//!
//! The row `sieve` is the classic of the BYTE magazine (Gilbreath 1981), which the paper's time for the VAX points to:
//! 8190 is the last index of its flags, which stand for the odd numbers from 3 to 16383, and it finds 1899 primes. The
//! row `primes_to_8190` sieves every number from 2 to 8190 and finds 1027.
//!
//! Kept by: the flags are declared changed after they are set, and the counts of all iterations are added up.
//! Checked by: the sum must be the number of iterations times the number of primes, which the tests count by division.

use std::hint::black_box;

use super::error::NodeError;
use super::measure::{Case, expect_equal, timed};
use super::request::NodeRequest;

pub(crate) const ROWS: [&str; 2] = ["sieve", "primes_to_8190"];

const ITERATIONS: u64 = 100;
const LAST: usize = 8190;
const ODD_PRIMES: u64 = 1899;
const PRIMES: u64 = 1027;

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    Ok(vec![case(ROWS[0], odd_sieve, ODD_PRIMES), case(ROWS[1], full_sieve, PRIMES)])
}

fn case(name: &'static str, sieve: fn(&mut [u8; LAST + 1]) -> u64, primes: u64) -> Case {
    let mut case = Case::new(name, ITERATIONS, "100 iterations", move || {
        Ok(Box::new(move |count| {
            let mut flags = [0; LAST + 1];
            let (seconds, sum) = timed(|| (0..count).map(|_| sieve(black_box(&mut flags))).sum::<u64>());
            expect_equal("the number of primes", sum, count * primes).map(|()| seconds)
        }))
    });
    case.repetitions_per_unit = ITERATIONS as f64;
    case
}

/// Flag `i` stands for `2 i + 3`.
#[inline(never)]
fn odd_sieve(flags: &mut [u8; LAST + 1]) -> u64 {
    flags.fill(1);
    let flags = black_box(flags);
    let mut primes = 0;
    for index in 0..=LAST {
        if flags[index] == 1 {
            let prime = 2 * index + 3;
            flags.iter_mut().skip(index + prime).step_by(prime).for_each(|flag| *flag = 0);
            primes += 1;
        }
    }
    primes
}

/// Flag `i` stands for `i`.
#[inline(never)]
fn full_sieve(flags: &mut [u8; LAST + 1]) -> u64 {
    flags.fill(1);
    let flags = black_box(flags);
    let mut primes = 0;
    for number in 2..=LAST {
        if flags[number] == 1 {
            flags.iter_mut().skip(2 * number).step_by(number).for_each(|flag| *flag = 0);
            primes += 1;
        }
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prime(number: usize) -> bool {
        number >= 2
            && (2..number)
                .take_while(|divisor| divisor * divisor <= number)
                .all(|divisor| !number.is_multiple_of(divisor))
    }

    #[test]
    fn the_number_of_primes_is_that_found_by_division() {
        assert_eq!((0..=LAST).filter(|&index| is_prime(2 * index + 3)).count() as u64, ODD_PRIMES);
        assert_eq!((2..=LAST).filter(|&number| is_prime(number)).count() as u64, PRIMES);
    }

    #[test]
    fn flags_are_left_at_the_primes() {
        let mut flags = [0; LAST + 1];
        assert_eq!(odd_sieve(&mut flags), ODD_PRIMES);
        assert!((0..=LAST).all(|index| (flags[index] == 1) == is_prime(2 * index + 3)));
        assert_eq!(full_sieve(&mut flags), PRIMES);
        assert!((2..=LAST).all(|number| (flags[number] == 1) == is_prime(number)));
    }

    #[test]
    fn a_wrong_number_is_refused() {
        let mut repeat = (case("sieve", full_sieve, ODD_PRIMES).prepare)().unwrap();
        assert_eq!(repeat(2).unwrap_err(), "the number of primes is 2054, expected 3798");
    }
}
