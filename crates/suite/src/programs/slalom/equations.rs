//! The equations of SLALOM without their layout: coefficients, checks, and the text of the answer.

use super::geometry::{COLOURS, Geometry, Region};
use weft_comm::Payload;

/// The most that the light which a patch gets may differ from all that there is, as a share (the benchmark's own limit).
const CLOSURE: f64 = 0.5e-9;
/// Bytes of the lines of a patch in the answer.
const LINE_BYTES: usize = 70 + 49;

/// The patches and what is known of each on all ranks.
pub(super) struct Equations {
    geometry: Geometry,
    pub region: Region,
    /// The sum of all couplings of each patch: its area. Empty where messages are phantoms.
    areas: Vec<f64>,
}

impl Equations {
    /// # Errors
    /// The message where a face gets no patch.
    pub fn of(geometry: Geometry, n: usize) -> Result<Equations, String> {
        let region = geometry.patches(n)?;
        Ok(Equations { geometry, region, areas: Vec::new() })
    }

    pub fn n(&self) -> usize {
        self.region.patches.len()
    }

    /// Takes the sums of the couplings of all patches.
    ///
    /// # Errors
    /// The message where the couplings of a patch miss its area: the box is closed, so that all light of a patch reaches
    /// another one.
    pub fn set_areas(&mut self, sums: &[f64]) -> Result<(), String> {
        self.areas = sums.to_vec();
        // What is no number is wrong too.
        let wrong = |(sum, area): &(f64, f64)| (sum - area).abs() > CLOSURE * sum || sum.is_nan();
        let mut pairs = self.areas.iter().copied().zip(self.region.patches.iter().map(|patch| patch.area()));
        match pairs.position(|pair| wrong(&pair)) {
            Some(patch) => Err(format!(
                "the form factors of patch {} sum up to {}, which is too far from 1",
                patch + 1,
                self.areas[patch] / self.region.patches[patch].area()
            )),
            None => Ok(()),
        }
    }

    fn reflectivity(&self, patch: usize, colour: usize) -> f64 {
        self.geometry.reflectivities[self.region.patches[patch].face][colour]
    }

    pub fn diagonal(&self, patch: usize, colour: usize) -> f64 {
        self.areas[patch] / self.reflectivity(patch, colour)
    }

    pub fn right_hand_side(&self, patch: usize, colour: usize) -> f64 {
        let emissivity = self.geometry.emissivities[self.region.patches[patch].face][colour];
        self.areas[patch] * emissivity / self.reflectivity(patch, colour)
    }

    /// The last element of the matrix with the right-hand side as its last row: large enough for a positive pivot.
    ///
    /// The matrix without its reflectivities is a graph's Laplacian, which is not negative; so with them it is at least
    /// the diagonal of `area (1 / reflectivity - 1)`, whose inverse bounds what elimination takes off.
    pub fn corner(&self, colour: usize) -> f64 {
        let term = |patch: usize| {
            let least = self.areas[patch] * (1.0 / self.reflectivity(patch, colour) - 1.0);
            self.right_hand_side(patch, colour).powi(2) / least
        };
        2.0 * (0..self.n()).map(term).sum::<f64>() + 1.0
    }

    /// The Storer's text: where every patch lies, then its radiosities, of which phantoms have none.
    pub fn answer(&self, radiosities: &[[f64; COLOURS]]) -> Payload {
        const POSITIONS: &str = " Patch  Face     Position in width, height, depth          Width     Height\n";
        const LIGHTS: &str = "\n Patch  Face  Radiosities\n";
        let head = format!("{} patches:\n", self.n());
        let bytes = head.len() + POSITIONS.len() + LIGHTS.len() + LINE_BYTES * self.n();
        if radiosities.is_empty() {
            return Payload::Phantom(bytes);
        }
        let mut text = String::with_capacity(bytes);
        text += &head;
        text += POSITIONS;
        for (number, patch) in (1..).zip(&self.region.patches) {
            let ([w, h, d], [width, height]) = (patch.position(), patch.size());
            let face = patch.face + 1;
            text += &format!("{number:>5}   {face:>4}{w:>11.5}{h:>11.5}{d:>11.5}  {width:>11.5}{height:>11.5}\n");
        }
        text += LIGHTS;
        for ((number, patch), [red, green, blue]) in (1..).zip(&self.region.patches).zip(radiosities) {
            text += &format!("{number:>5}   {:>4}{red:>12.8}{green:>12.8}{blue:>12.8}\n", patch.face + 1);
        }
        Payload::of(text.as_bytes())
    }

    /// How far radiosities are from solving the equations, from the light that every patch receives, by colour and patch:
    /// the sum of what is left of all equations over the largest coefficient and the largest radiosity, summed over the
    /// colours.
    pub fn residual(&self, radiosities: &[[f64; COLOURS]], received: &[f64]) -> f64 {
        let n = self.n();
        let of_colour = |colour: usize| {
            let left = |patch: usize| {
                let light = self.diagonal(patch, colour) * radiosities[patch][colour] - received[colour * n + patch];
                (self.right_hand_side(patch, colour) - light).abs()
            };
            let largest = |value: &dyn Fn(usize) -> f64| (0..n).map(value).fold(0.0, f64::max);
            // No coupling is larger than the area of its patch, nor that than the diagonal.
            let scale =
                largest(&|patch| self.diagonal(patch, colour)) * largest(&|patch| radiosities[patch][colour].abs());
            (0..n).map(left).sum::<f64>() / scale
        };
        (0..COLOURS).map(of_colour).sum()
    }
}
