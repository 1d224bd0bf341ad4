//! A small linear programme with bounds, solved by the dual simplex method on a dense dictionary (Chvátal 1983, chapters
//! 7 and 10).
//!
//! Rows may be added after a solution, which the next one starts from: so cuts are added where they are violated.

/// How far outside its bounds a value may be, and below which a coefficient is none.
const TOLERANCE: f64 = 1e-9;

/// A row is left by the variable with the largest coefficient among those whose ratios differ by no more than this gives.
const SLACK_OF_RATIOS: f64 = 1e-10;

/// `minimise costs · x` with `lower <= x <= upper` and rows within bounds of their own.
///
/// Every variable starts at the bound that its cost prefers, so that costs stay right while rows are repaired.
pub struct Program {
    /// Basic variables are these sums of the nonbasic ones.
    rows: Vec<Vec<f64>>,
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    /// What a nonbasic variable costs for each unit, in the order of `nonbasic`.
    reduced: Vec<f64>,
    /// Of every variable, of which those of rows follow the others.
    bounds: Vec<(f64, f64)>,
    is_at_upper: Vec<bool>,
    columns: usize,
    work: u64,
}

impl Program {
    /// A programme without rows.
    pub fn new(costs: Vec<f64>, bounds: Vec<(f64, f64)>) -> Program {
        Program {
            rows: Vec::new(),
            basic: Vec::new(),
            nonbasic: (0..costs.len()).collect(),
            is_at_upper: costs.iter().map(|&cost| cost < 0.0).collect(),
            columns: costs.len(),
            reduced: costs,
            bounds,
            work: 0,
        }
    }

    /// Coefficients that pivots have changed so far: what solving has cost, the same on every machine.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Adds the row `lower <= sum of coefficient * variable <= upper`.
    pub fn add(&mut self, terms: &[(usize, f64)], lower: f64, upper: f64) {
        let mut coefficient = vec![0.0; self.columns];
        terms.iter().for_each(|&(variable, factor)| coefficient[variable] += factor);
        let mut row = vec![0.0; self.columns];
        for (position, &variable) in self.nonbasic.iter().enumerate() {
            row[position] += coefficient.get(variable).copied().unwrap_or(0.0);
        }
        for (known, &variable) in self.rows.iter().zip(&self.basic) {
            let factor = coefficient.get(variable).copied().unwrap_or(0.0);
            if factor != 0.0 {
                row.iter_mut().zip(known).for_each(|(sum, value)| *sum += factor * value);
            }
        }
        self.basic.push(self.bounds.len());
        self.bounds.push((lower, upper));
        self.is_at_upper.push(false);
        self.rows.push(row);
    }

    /// The values of the variables, those of rows excepted. `None` where no values are within all bounds, or after
    /// `iterations`.
    pub fn solve(&mut self, iterations: usize) -> Option<Vec<f64>> {
        for _ in 0..iterations {
            let at: Vec<f64> = self.nonbasic.iter().map(|&variable| self.at_bound(variable)).collect();
            let values: Vec<f64> =
                self.rows.iter().map(|row| row.iter().zip(&at).map(|(factor, value)| factor * value).sum()).collect();
            let excess = |row: usize| {
                let (lower, upper) = self.bounds[self.basic[row]];
                (lower - values[row]).max(values[row] - upper)
            };
            let worst = (0..self.rows.len()).max_by(|&a, &b| excess(a).total_cmp(&excess(b)));
            let Some(leaving) = worst.filter(|&row| excess(row) > TOLERANCE) else {
                let mut solution = vec![0.0; self.columns];
                let all = self.nonbasic.iter().zip(&at).chain(self.basic.iter().zip(&values));
                all.filter(|(variable, _)| **variable < self.columns)
                    .for_each(|(&variable, &value)| solution[variable] = value);
                return Some(solution);
            };
            let is_above = values[leaving] > self.bounds[self.basic[leaving]].1;
            let entering = self.entering(leaving, is_above)?;
            self.is_at_upper[self.basic[leaving]] = is_above;
            self.pivot(leaving, entering);
        }
        None
    }

    /// What the objective rises by for each unit by which the bound of a row that limits it is raised; 0 of other rows.
    pub fn duals(&self) -> Vec<f64> {
        let mut duals = vec![0.0; self.bounds.len() - self.columns];
        for (&variable, &cost) in self.nonbasic.iter().zip(&self.reduced) {
            if variable >= self.columns {
                duals[variable - self.columns] = cost;
            }
        }
        duals
    }

    fn at_bound(&self, variable: usize) -> f64 {
        let (lower, upper) = self.bounds[variable];
        if self.is_at_upper[variable] { upper } else { lower }
    }

    /// The position of the nonbasic variable that moves a row to its bound and makes no other one prefer another bound.
    fn entering(&self, row: usize, is_above: bool) -> Option<usize> {
        let movable = |&position: &usize| {
            let (variable, factor) = (self.nonbasic[position], self.rows[row][position]);
            let (lower, upper) = self.bounds[variable];
            let raises = (factor > 0.0) != self.is_at_upper[variable];
            lower < upper && factor.abs() > TOLERANCE && raises != is_above
        };
        let ratio =
            |position: usize, slack: f64| (self.reduced[position].abs() + slack) / self.rows[row][position].abs();
        let candidates: Vec<usize> = (0..self.columns).filter(movable).collect();
        let least = candidates.iter().map(|&position| ratio(position, SLACK_OF_RATIOS)).fold(f64::INFINITY, f64::min);
        let near = candidates.into_iter().filter(|&position| ratio(position, 0.0) <= least);
        near.max_by(|&a, &b| self.rows[row][a].abs().total_cmp(&self.rows[row][b].abs()))
    }

    fn pivot(&mut self, leaving: usize, entering: usize) {
        self.work += (self.rows.len() * self.columns) as u64;
        let mut row = std::mem::take(&mut self.rows[leaving]);
        let divisor = row[entering];
        row.iter_mut().for_each(|value| *value /= -divisor);
        row[entering] = 1.0 / divisor;
        let replace = |other: &mut [f64]| {
            let factor = std::mem::take(&mut other[entering]);
            if factor != 0.0 {
                other.iter_mut().zip(&row).for_each(|(value, known)| *value += factor * known);
            }
        };
        self.rows.iter_mut().filter(|other| !other.is_empty()).for_each(|other| replace(other));
        replace(&mut self.reduced);
        self.rows[leaving] = row;
        std::mem::swap(&mut self.basic[leaving], &mut self.nonbasic[entering]);
        // What is not quite right by rounding, or because a larger coefficient was preferred.
        for (cost, &variable) in self.reduced.iter_mut().zip(&self.nonbasic) {
            let is_right = if self.is_at_upper[variable] { *cost <= 0.0 } else { *cost >= 0.0 };
            if !is_right {
                *cost = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    /// Whether nothing is cheaper at any vertex of two variables' polygon: its corners are where two limits meet.
    fn cheapest_corner(costs: [f64; 2], bounds: [(f64, f64); 2], rows: &[([f64; 2], f64)]) -> Option<f64> {
        let mut limits: Vec<([f64; 2], f64)> = rows.to_vec();
        limits.extend([([1.0, 0.0], bounds[0].0), ([1.0, 0.0], bounds[0].1)]);
        limits.extend([([0.0, 1.0], bounds[1].0), ([0.0, 1.0], bounds[1].1)]);
        let is_allowed = |[x, y]: [f64; 2]| {
            let inside = |value: f64, (lower, upper): (f64, f64)| value > lower - 1e-7 && value < upper + 1e-7;
            inside(x, bounds[0]) && inside(y, bounds[1]) && rows.iter().all(|([a, b], c)| a * x + b * y > c - 1e-7)
        };
        let mut cheapest: Option<f64> = None;
        for (first, ([a, b], c)) in limits.iter().enumerate() {
            for ([d, e], f) in &limits[first + 1..] {
                let determinant = a * e - b * d;
                if determinant.abs() > 1e-9 {
                    let corner = [(c * e - b * f) / determinant, (a * f - c * d) / determinant];
                    if is_allowed(corner) {
                        let cost = costs[0] * corner[0] + costs[1] * corner[1];
                        cheapest = Some(cheapest.map_or(cost, |known| known.min(cost)));
                    }
                }
            }
        }
        cheapest
    }

    #[test]
    fn nothing_is_cheaper_at_any_corner() {
        let mut random = weft_base::generator(5, 0);
        let (mut solved, mut impossible) = (0, 0);
        for _ in 0..2000 {
            let mut figure = |from: i32, to: i32| f64::from(random.random_range(from..=to));
            let costs = [figure(-4, 4), figure(-4, 4)];
            let bounds = [(0.0, figure(1, 5)), (0.0, figure(1, 5))];
            let rows: Vec<([f64; 2], f64)> = (0..3).map(|_| ([figure(-3, 3), figure(-3, 3)], figure(-4, 6))).collect();
            let mut program = Program::new(costs.to_vec(), bounds.to_vec());
            let mut solution = program.solve(100);
            for ([a, b], c) in &rows {
                program.add(&[(0, *a), (1, *b)], *c, f64::INFINITY);
                solution = solution.and_then(|_| program.solve(100));
            }
            match cheapest_corner(costs, bounds, &rows) {
                None => {
                    assert!(solution.is_none(), "{costs:?} {bounds:?} {rows:?}");
                    impossible += 1;
                }
                Some(cheapest) => {
                    let [x, y] = solution.expect("a solution")[..] else { panic!("two variables") };
                    assert!((costs[0] * x + costs[1] * y - cheapest).abs() < 1e-6, "{costs:?} {bounds:?} {rows:?}");
                    solved += 1;
                }
            }
        }
        assert!(solved > 500 && impossible > 200, "{solved} {impossible}");
    }
}
