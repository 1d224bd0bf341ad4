//! How much of the light of one patch reaches another, in closed form.
//!
//! The coupling of two patches is `A_i F_ij`, area by form factor, which is the same in both directions. For rectangles
//! whose edges are parallel to the axes it is a sum over the 16 pairs of their corners, with alternating signs
//! (J. R. Howell, A Catalog of Radiation Configuration Factors, C-13 and C-14; J. R. Ehlert, T. F. Smith, "View factors
//! for perpendicular and parallel rectangular plates", J. Thermophysics and Heat Transfer 7 (1993) 173-175).

use std::f64::consts::PI;

use super::geometry::Patch;

/// The coupling of two patches of a box; those of one face do not see each other.
pub fn coupling(one: &Patch, other: &Patch) -> f64 {
    if one.face == other.face {
        return 0.0;
    }
    match (one.normal(), other.normal()) {
        (a, b) if a == b => parallel(one, other),
        (a, b) => orthogonal(one, other, a, b),
    }
}

/// Signs of the corners: minus for the first.
const SIGNS: [f64; 2] = [-1.0, 1.0];

fn parallel(one: &Patch, other: &Patch) -> f64 {
    let normal = one.normal();
    let (x, y) = ((normal + 1) % 3, (normal + 2) % 3);
    let distance = one.corners[normal][0] - other.corners[normal][0];
    let square = distance * distance;
    let (across, up) = (differences(one.corners[x], other.corners[x]), differences(one.corners[y], other.corners[y]));
    let mut sum = 0.0;
    for (sign_x, u) in across {
        for (sign_y, v) in up {
            let term = leg(u, v * v + square) + leg(v, u * u + square) - square / 2.0 * (u * u + v * v + square).ln();
            sum += sign_x * sign_y * term;
        }
    }
    sum / (2.0 * PI)
}

fn orthogonal(one: &Patch, other: &Patch, a: usize, b: usize) -> f64 {
    // The planes meet in a line along the third axis; what counts is how far from it the edges are.
    let along = differences(one.corners[3 - a - b], other.corners[3 - a - b]);
    let from_line = |corners: [f64; 2], line: f64| corners.map(|corner| (corner - line).powi(2));
    let of_one = from_line(one.corners[b], other.corners[b][0]);
    let of_other = from_line(other.corners[a], one.corners[a][0]);
    let mut sum = 0.0;
    for (sign_one, p) in SIGNS.into_iter().zip(of_one) {
        for (sign_other, q) in SIGNS.into_iter().zip(of_other) {
            let square = p + q;
            for (sign, d) in along {
                let whole = square + d * d;
                // Where two corners are one point both terms vanish in the limit.
                let term = if whole > 0.0 { leg(d, square) - (square - d * d) / 4.0 * whole.ln() } else { 0.0 };
                sum += sign_one * sign_other * sign * term;
            }
        }
    }
    // The sign depends on which side of the line the patches lie.
    sum.abs() / (2.0 * PI)
}

/// `d s atan(d / s)` for a given `s^2`.
fn leg(d: f64, square: f64) -> f64 {
    let s = square.sqrt();
    d * s * d.atan2(s)
}

/// The differences of the ends of two intervals, with their signs.
fn differences(one: [f64; 2], other: [f64; 2]) -> [(f64, f64); 4] {
    [0, 1, 2, 3].map(|index| {
        let (i, j) = (index / 2, index % 2);
        (SIGNS[i] * SIGNS[j], one[i] - other[j])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::slalom::geometry::Geometry;

    /// The integral of cos cos / (pi r^2) over both patches, by midpoints.
    fn by_quadrature(one: &Patch, other: &Patch, steps: usize) -> f64 {
        let points = |patch: &Patch| {
            let (normal, patch) = (patch.normal(), *patch);
            let (x, y) = ((normal + 1) % 3, (normal + 2) % 3);
            let at = move |axis: usize, step: usize| {
                let [low, high] = patch.corners[axis];
                low + (high - low) * (step as f64 + 0.5) / steps as f64
            };
            (0..steps * steps).map(move |index| {
                let mut point = [0.0; 3];
                point[x] = at(x, index / steps);
                point[y] = at(y, index % steps);
                point[normal] = patch.corners[normal][0];
                point
            })
        };
        let mut sum = 0.0;
        for p in points(one) {
            for q in points(other) {
                let square: f64 = (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum();
                let cosines = (p[one.normal()] - q[one.normal()]) * (p[other.normal()] - q[other.normal()]);
                sum += cosines.abs() / (PI * square * square);
            }
        }
        sum * one.area() * other.area() / (steps as f64).powi(4)
    }

    #[test]
    fn closed_forms_are_the_integrals() {
        let region = Geometry::standard().patches(23).unwrap();
        for (i, one) in region.patches.iter().enumerate().step_by(3) {
            for other in region.patches[..i].iter().filter(|other| other.face != one.face) {
                // Patches that meet in an edge have no smooth integrand.
                let touch = (0..3).all(|axis| {
                    one.corners[axis][0] <= other.corners[axis][1] && other.corners[axis][0] <= one.corners[axis][1]
                });
                let (exact, integral) = (coupling(one, other), by_quadrature(one, other, 14));
                let allowed = if touch { 0.1 } else { 0.02 };
                assert!((exact / integral - 1.0).abs() < allowed, "{one:?} {other:?}: {exact} and {integral}");
            }
        }
    }

    #[test]
    fn a_patch_sees_nothing_but_the_other_faces() {
        for (n, extents) in [(6, [1.0, 1.0, 1.0]), (100, [13.5, 9.0, 8.0]), (77, [1.0, 30.0, 99.0])] {
            let Ok(region) = (Geometry { extents, ..Geometry::standard() }).patches(n) else {
                assert_eq!(n, 77, "only an eccentric box needs more patches");
                continue;
            };
            for one in &region.patches {
                let sum: f64 = region.patches.iter().map(|other| coupling(one, other)).sum();
                assert!((sum / one.area() - 1.0).abs() < 1e-9, "{n} patches of {extents:?}: {sum} of {}", one.area());
            }
        }
    }
}
