//! Whetstone: table 4 of Dunigan 1991; after Curnow and Wichmann 1976.
//!
//! Eight modules (simple identifiers, 1, and integer assignments, 10, have count zero in the published mix; 5 is not in
//! use): arrays, an array as a parameter, conditional jumps, integers, trigonometric functions, calls, array
//! references, standard functions. With the published counts, a factor of ten is one million Whetstone operations.
//!
//! Kept by: constants and starting values behind `black_box`, integers declared changed in their registers, procedures
//! that are not merged with their callers. Checked by: the values that every module leaves, against those of an
//! independent program (in Python, whose elementary functions are the C library's); each million of operations must
//! give them.

use std::hint::black_box;

use super::error::NodeError;
use super::measure::{Case, expect_close, expect_equal, timed};
use super::request::NodeRequest;
use super::simd::Keep;

pub(crate) const ROWS: [&str; 1] = ["whetstone"];

/// Millions of operations in one sample.
const COUNT: u64 = 4;

/// The factor on the counts of the mix that makes one million operations.
const FACTOR: u32 = 10;

pub(crate) fn cases(_: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let mut case = Case::new(ROWS[0], COUNT, "1,000,000 operations", || {
        Ok(Box::new(|count| {
            let (seconds, results) = timed(|| (0..count).map(|_| million()).collect::<Vec<Results>>());
            expect_equal("the number of results", results.len() as u64, count)?;
            results.iter().try_for_each(Results::check).map(|()| seconds)
        }))
    });
    case.rate = Some((1.0, "MWIPS"));
    Ok(vec![case])
}

struct Constants {
    t: f64,
    t1: f64,
    t2: f64,
}

/// What the modules leave, by the number of the module.
#[derive(Clone, Debug)]
struct Results {
    array_2: [f64; 4],
    array_3: [f64; 4],
    jump_4: i32,
    integers_6: [i32; 3],
    array_6: [f64; 2],
    trigonometric_7: [f64; 2],
    call_8: f64,
    array_9: [f64; 3],
    standard_11: f64,
}

impl Results {
    fn check(&self) -> Result<(), String> {
        const TOLERANCE: f64 = 1e-11;
        let array_2 = [-0.06834219862995164, -0.46263765626356895, -0.7297183878436905, -1.1239790700461283];
        let array_3 = [-0.05533645259179446, -0.4474365627547468, -0.7109733892851825, -1.1030980569256008];
        let trigonometric = [0.4904073161590454, 0.49039249795610007];
        let close = |what: &str, values: &[f64], references: &[f64]| {
            values
                .iter()
                .zip(references)
                .try_for_each(|(&value, &reference)| expect_close(what, value, reference, TOLERANCE))
        };
        close("module 2, an element", &self.array_2, &array_2)?;
        close("module 3, an element", &self.array_3, &array_3)?;
        expect_equal("module 4, J", self.jump_4, 1)?;
        expect_equal("module 6, J, K and L", self.integers_6, [1, 2, 3])?;
        expect_equal("module 6, the elements", self.array_6, [6.0, 6.0])?;
        close("module 7, an angle", &self.trigonometric_7, &trigonometric)?;
        close("module 8, Z", &[self.call_8], &[0.999937500625])?;
        expect_equal("module 9, the elements", self.array_9, [3.0, 2.0, 3.0])?;
        close("module 11, X", &[self.standard_11], &[0.8346655195190518])
    }
}

#[inline(never)]
fn million() -> Results {
    let constants = black_box(Constants { t: 0.499975, t1: 0.50025, t2: 2.0 });
    let factor = black_box(FACTOR);
    let mut array = black_box([1.0, -1.0, -1.0, -1.0]);
    module_2(12 * factor, &constants, &mut array);
    let array_2 = array;
    (0..14 * factor).for_each(|_| array_parameter(&constants, &mut array));
    let array_3 = array;
    let jump_4 = module_4(345 * factor);
    let (integers_6, array_6) = module_6(210 * factor);
    Results {
        array_2,
        array_3,
        jump_4,
        integers_6,
        array_6,
        trigonometric_7: module_7(32 * factor, &constants),
        call_8: module_8(899 * factor, &constants),
        array_9: module_9(616 * factor),
        standard_11: module_11(93 * factor, &constants),
    }
}

/// Array elements.
#[inline(never)]
fn module_2(iterations: u32, constants: &Constants, e: &mut [f64; 4]) {
    let t = constants.t;
    for _ in 0..iterations {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) * t;
    }
}

/// Module 3: an array as a parameter.
#[inline(never)]
fn array_parameter(constants: &Constants, e: &mut [f64; 4]) {
    for _ in 0..6 {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * constants.t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * constants.t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * constants.t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / constants.t2;
    }
}

/// Conditional jumps.
#[inline(never)]
fn module_4(iterations: u32) -> i32 {
    let mut j = black_box(1i32);
    for _ in 0..iterations {
        j = if j == 1 { 2 } else { 3 };
        j.keep();
        j = if j > 2 { 0 } else { 1 };
        j.keep();
        j = if j < 1 { 1 } else { 0 };
        j.keep();
    }
    j
}

/// Integer arithmetic, and elements addressed by its results.
#[inline(never)]
fn module_6(iterations: u32) -> ([i32; 3], [f64; 2]) {
    let (mut j, mut k, mut l) = black_box((1i32, 2i32, 3i32));
    let mut e = black_box([0.0f64; 4]);
    for _ in 0..iterations {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
        e[(l - 2) as usize & 3] = f64::from(j + k + l);
        e[(k - 2) as usize & 3] = f64::from(j * k * l);
        j.keep();
        k.keep();
        l.keep();
    }
    ([j, k, l], [e[0], e[1]])
}

/// Trigonometric functions.
#[inline(never)]
fn module_7(iterations: u32, constants: &Constants) -> [f64; 2] {
    let (t, t2) = (constants.t, constants.t2);
    let (mut x, mut y): (f64, f64) = black_box((0.5, 0.5));
    for _ in 0..iterations {
        x = t * (t2 * x.sin() * x.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
        y = t * (t2 * y.sin() * y.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
    }
    [x, y]
}

/// Calls of a procedure.
#[inline(never)]
fn module_8(iterations: u32, constants: &Constants) -> f64 {
    #[inline(never)]
    fn procedure(x: f64, y: f64, z: &mut f64, constants: &Constants) {
        let first = constants.t * (x + y);
        let second = constants.t * (first + y);
        *z = (first + second) / constants.t2;
    }
    let (x, y) = black_box((1.0, 1.0));
    let mut z = 1.0;
    for _ in 0..iterations {
        procedure(black_box(x), y, &mut z, constants);
    }
    z
}

/// Array references.
#[inline(never)]
fn module_9(iterations: u32) -> [f64; 3] {
    #[inline(never)]
    fn procedure(e: &mut [f64; 4], j: usize, k: usize, l: usize) {
        e[j & 3] = e[k & 3];
        e[k & 3] = e[l & 3];
        e[l & 3] = e[j & 3];
    }
    let (j, k, l) = black_box((1, 2, 3));
    let mut e = black_box([0.0, 1.0, 2.0, 3.0]);
    for _ in 0..iterations {
        procedure(black_box(&mut e), j, k, l);
    }
    [e[1], e[2], e[3]]
}

/// Standard functions.
#[inline(never)]
fn module_11(iterations: u32, constants: &Constants) -> f64 {
    let mut x: f64 = black_box(0.75);
    for _ in 0..iterations {
        x = (x.ln() / constants.t1).exp().sqrt();
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_gives_the_reference() {
        million().check().unwrap();
    }

    #[test]
    fn one_turn_more_or_less_gives_another_result() {
        let constants = Constants { t: 0.499975, t1: 0.50025, t2: 2.0 };
        let good = million();
        let wrong = [
            Results { standard_11: module_11(929, &constants), ..good.clone() },
            Results { trigonometric_7: module_7(319, &constants), ..good.clone() },
            Results { array_9: module_9(6159), ..good.clone() },
        ];
        assert!(wrong[0].check().unwrap_err().starts_with("module 11"));
        assert!(wrong[1].check().unwrap_err().starts_with("module 7"));
        assert!(wrong[2].check().unwrap_err().starts_with("module 9"));
    }
}
