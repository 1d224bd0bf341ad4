//! Elementary functions without branches, so that loops of them have vectors and take the same time for any numbers.
//!
//! Each is computed in a domain that nearly all arguments are in, and a second function says whether they are. Results
//! have the same bits at every level of vector instructions, and with and without an instruction for fused
//! multiply-adds: where one is named, the result is exact or a single rounding is meant.

/// Angles up to this magnitude are reduced with [`HALF_PI`].
pub(super) const LARGEST_ANGLE: f64 = (1 << 20) as f64;

/// Pi halves in four parts. The products of the first three, of 33 bits, with a number of quadrants below 2^20 are exact;
/// with the fourth there are 152 bits.
const HALF_PI: [f64; 4] = [
    f64::from_bits(0x3ff9_21fb_5440_0000),
    f64::from_bits(0x3dd0_b461_1a60_0000),
    f64::from_bits(0x3ba3_198a_2e00_0000),
    f64::from_bits(0x397b_839a_2520_49c1),
];

/// Adding this rounds a number below 2^51 to a whole one, which the lowest bits of the sum then are.
const ROUNDING: f64 = 3.0 * (1u64 << 51) as f64;

/// Coefficients of (sin r - r) / r^3 by powers of r^2, up to an eighth turn: its Chebyshev interpolation, which is off by
/// 2.1e-17 at most.
const SINE: [f64; 6] = [
    -0.16666666666666666,
    0.008333333333330925,
    -0.00019841269836722418,
    2.755731608381636e-06,
    -2.5051127944014188e-08,
    1.5917848524808262e-10,
];

/// The same of (cos r - 1 + r^2 / 2) / r^4, which is off by 1.3e-18 at most.
const COSINE: [f64; 6] = [
    0.041666666666666664,
    -0.0013888888888887382,
    2.480158729874307e-05,
    -2.7557317260008837e-07,
    2.0876143827993133e-09,
    -1.1382456778061306e-11,
];

/// Within 0.8 units in the last place.
#[inline(always)]
pub(super) fn sin(x: f64) -> f64 {
    of_angle(x, 0)
}

/// Within 0.8 units in the last place.
#[inline(always)]
pub(super) fn cos(x: f64) -> f64 {
    of_angle(x, 1)
}

/// Whether [`sin`] and [`cos`] are of this angle.
#[inline(always)]
pub(super) fn is_angle(x: f64) -> bool {
    x.abs() <= LARGEST_ANGLE
}

/// The sine of an angle and so many quadrants. The angle is reduced to an eighth turn in two numbers (W. J. Cody and
/// W. Waite, Software Manual for the Elementary Functions, 1980, chapter 8), of which both polynomials are taken: a
/// choice between results needs no branch.
#[inline(always)]
fn of_angle(x: f64, quadrants: u64) -> f64 {
    let rounded = x * std::f64::consts::FRAC_2_PI + ROUNDING;
    let number = rounded - ROUNDING;
    let quadrant = rounded.to_bits().wrapping_add(quadrants);
    let [first, second, third, fourth] = HALF_PI;
    // Exact: both are whole multiples of the smaller one's last bit, and their difference is below one.
    let rest = x - number * first;
    let (rest, one) = difference(rest, number * second);
    let (rest, other) = difference(rest, number * third);
    // Subtracted rather than added, so that a negative zero remains one.
    let excess = number * fourth - (one + other);
    let r = rest - excess;
    let low = (rest - r) - excess;
    let square = r * r;
    let half = 0.5 * square;
    let cube = square * r;
    let sine = r - ((half * low - cube * (polynomial(&SINE, square) - SINE[0]) - low) - cube * SINE[0]);
    let cosine = 1.0 - half;
    let cosine = cosine + (((1.0 - cosine) - half) + (square * square * polynomial(&COSINE, square) - r * low));
    // By bits, since a compiler makes a branch of a choice where each side is long.
    let odd = (quadrant & 1).wrapping_neg();
    let magnitude = (sine.to_bits() & !odd) | (cosine.to_bits() & odd);
    f64::from_bits(magnitude ^ ((quadrant & 2) << 62))
}

/// A difference, and what rounding took from it (D. E. Knuth, The Art of Computer Programming 2, section 4.2.2).
#[inline(always)]
fn difference(x: f64, y: f64) -> (f64, f64) {
    let difference = x - y;
    let subtracted = difference - x;
    (difference, (x - (difference - subtracted)) - (y + subtracted))
}

#[inline(always)]
fn polynomial(coefficients: &[f64; 6], x: f64) -> f64 {
    let [a, b, c, d, e, f] = coefficients;
    ((((f * x + e) * x + d) * x + c) * x + b) * x + a
}

/// Squares of numbers up to this magnitude are added without overflow.
const LARGEST_SQUARED: f64 = f64::from_bits((1023 + 500) << 52);

/// What underflows in the squares of a number from this magnitude on and of a smaller one makes no difference.
const SMALLEST_SQUARED: f64 = f64::from_bits((1023 - 400) << 52);

/// The square root of the sum of squares, nearly always the nearest number. What rounding took from the squares and the
/// sum is known by fused operations, and corrects the root (C. F. Borges, Algorithm 1014: An Improved Algorithm for
/// hypot(x,y), 2020).
#[inline(always)]
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (larger, smaller) = if x < y { (y, x) } else { (x, y) };
    let root = larger.mul_add(larger, smaller * smaller).sqrt();
    let (square, part) = (root * root, larger * larger);
    let excess =
        (-smaller).mul_add(smaller, square - part) + root.mul_add(root, -square) - larger.mul_add(larger, -part);
    if root == 0.0 { 0.0 } else { root - excess / (2.0 * root) }
}

/// Whether [`hypot`] is of these numbers.
#[inline(always)]
pub(super) fn has_squares(x: f64, y: f64) -> bool {
    let (x, y) = (x.abs(), y.abs());
    (x <= LARGEST_SQUARED)
        & (y <= LARGEST_SQUARED)
        & ((x >= SMALLEST_SQUARED) | (y >= SMALLEST_SQUARED) | (x + y == 0.0))
}

/// The square root of the sum of squares, which 64 bits hold; not of what is infinite.
#[inline(always)]
pub(super) fn hypot32(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    (x * x + y * y).sqrt() as f32
}

/// Divisions with a remainder, as Python has them: quotients are rounded down, and remainders have the divisor's sign.
macro_rules! divisions {
    ($name:ident, $type:ident, $largest:expr) => {
        pub(in super::super) mod $name {
            /// Quotients below this magnitude are whole numbers and a half apart.
            const LARGEST: $type = $largest;

            /// What is left of `x` towards zero: exact, since it is a multiple of the last bit of `x` or `y`, and below
            /// `y`. A quotient that was rounded up to a whole number is one too large.
            #[inline(always)]
            fn left(x: $type, y: $type) -> $type {
                let left = (-(x / y).trunc()).mul_add(y, x);
                if left != 0.0 && (left < 0.0) != (x < 0.0) { left + y.copysign(x) } else { left }
            }

            /// `x - y * floor_divide(x, y)`, exact before it is rounded once.
            #[inline(always)]
            pub(in super::super) fn remainder(x: $type, y: $type) -> $type {
                let left = left(x, y);
                if left == 0.0 {
                    (0.0 as $type).copysign(y)
                } else if (left < 0.0) != (y < 0.0) {
                    left + y
                } else {
                    left
                }
            }

            /// The largest whole number not above the quotient.
            #[inline(always)]
            pub(in super::super) fn floor_divide(x: $type, y: $type) -> $type {
                let left = left(x, y);
                let towards_zero = (x - left) / y;
                let quotient = if left != 0.0 && (left < 0.0) != (y < 0.0) { towards_zero - 1.0 } else { towards_zero };
                // It is whole but for rounding.
                let floor = quotient.floor();
                let whole = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
                if quotient == 0.0 { (0.0 as $type).copysign(x / y) } else { whole }
            }

            /// Whether `remainder` and `floor_divide`, of this result, are of these numbers.
            #[inline(always)]
            pub(in super::super) fn divides(x: $type, y: $type, result: $type) -> bool {
                ((x / y).abs() < LARGEST) & !result.is_nan()
            }
        }
    };
}
divisions!(float32, f32, (1u32 << 22) as f32);
divisions!(float64, f64, (1u64 << 51) as f64);
