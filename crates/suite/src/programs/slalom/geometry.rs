//! The box of SLALOM: its description in a file (the Reader) and its patches (the Region).

/// Colours: red, green and blue.
pub const COLOURS: usize = 3;
/// Faces of a box.
pub const FACES: usize = 6;
/// Axes of space.
const AXES: usize = 3;
/// The largest reflectivity: the equations of a box that reflects everything have no answer.
const MAX_REFLECTIVITY: f64 = 0.999;

/// A box with faces that emit and reflect light.
///
/// Face `f` has the axes `f % 3` and `(f + 1) % 3`; the first three faces lie at the origin, the others opposite.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Extents along the axes.
    pub extents: [f64; AXES],
    /// The share of the light that a face reflects, by face and colour.
    pub reflectivities: [[f64; COLOURS]; FACES],
    /// The light that a face emits by itself, by face and colour.
    pub emissivities: [[f64; COLOURS]; FACES],
}

impl Geometry {
    /// The description that comes with the benchmark (its file `geom`).
    pub fn standard() -> Geometry {
        let grey = |value: f64| [value; COLOURS];
        let dark = grey(0.0);
        Geometry {
            extents: [13.5, 9.0, 8.0],
            reflectivities: [grey(0.80), [0.99, 0.01, 0.01], grey(0.54), grey(0.84), [0.01, 0.01, 0.99], grey(0.84)],
            emissivities: [grey(1.27), dark, dark, dark, dark, dark],
        }
    }

    /// The text of a file: the extents, then a line of six faces for each colour, of reflectivities and of emissivities.
    pub fn to_text(&self) -> String {
        let line = |values: &[f64], what: &str| {
            let numbers: String = values.iter().map(|value| format!("{value:>10.4e}")).collect();
            format!("{numbers}  {what}\n")
        };
        let mut text = line(&self.extents, "Box dimensions");
        for (table, what) in [(&self.reflectivities, "Reflectivities"), (&self.emissivities, "Emissivities")] {
            for colour in 0..COLOURS {
                let values: Vec<f64> = table.iter().map(|face| face[colour]).collect();
                text += &line(&values, &format!("{what} ({})", ["red", "green", "blue"][colour]));
            }
        }
        text
    }

    /// Reads such a text. What stands behind the numbers of a line is not looked at.
    ///
    /// # Errors
    /// A message that says which number is missing, or which cannot be.
    pub fn from_text(text: &str) -> Result<Geometry, String> {
        let mut lines = text.lines();
        let extents = numbers(&mut lines, "the extents of the box")?;
        let reflectivities = by_face(&mut lines, "reflectivities")?;
        let emissivities = by_face(&mut lines, "emissivities")?;
        Geometry { extents, reflectivities, emissivities }.checked()
    }

    fn checked(self) -> Result<Geometry, String> {
        if let Some(extent) = self.extents.iter().find(|extent| !(1.0..100.0).contains(*extent)) {
            return Err(format!("an extent of the box is {extent}; it must be at least 1 and less than 100"));
        }
        let is_share = |share: &f64| *share > 0.0 && *share <= MAX_REFLECTIVITY;
        if let Some(share) = self.reflectivities.iter().flatten().find(|share| !is_share(share)) {
            return Err(format!("a reflectivity is {share}; it must be above 0 and at most {MAX_REFLECTIVITY}"));
        }
        if let Some(light) = self.emissivities.iter().flatten().find(|light| !(0.0..f64::INFINITY).contains(*light)) {
            return Err(format!("an emissivity is {light}; it must be 0 or more"));
        }
        match (0..COLOURS).find(|&colour| self.emissivities.iter().all(|face| face[colour] == 0.0)) {
            Some(colour) => Err(format!("no face emits any light of colour {}: the answer is darkness", colour + 1)),
            None => Ok(self),
        }
    }

    /// The extents of face `face`: its width and its height.
    pub fn face(&self, face: usize) -> [f64; 2] {
        [self.extents[face % AXES], self.extents[(face + 1) % AXES]]
    }

    fn area(&self, face: usize) -> f64 {
        self.face(face).iter().product()
    }

    /// How many columns of patches face `face` has when it is divided into `patches`: as many as make them square.
    fn columns(&self, face: usize, patches: usize) -> usize {
        let [width, height] = self.face(face);
        let columns = (patches as f64 * width / height).sqrt().round() as usize;
        columns.min(patches).max(1)
    }

    /// Divides the faces into `n` patches, in proportion to their areas, as nearly equal and square as can be.
    ///
    /// # Errors
    /// Where a face gets none.
    pub fn patches(&self, n: usize) -> Result<Region, String> {
        let whole: f64 = (0..FACES).map(|face| self.area(face)).sum();
        let mut patches = Vec::with_capacity(n);
        let (mut area, mut columns, mut first) = (0.0, 0, [0; FACES + 1]);
        for face in 0..FACES {
            area += self.area(face);
            let end = if face + 1 == FACES { n } else { (n as f64 * area / whole).round() as usize };
            let on_face = end - first[face];
            if on_face == 0 {
                return Err(format!("{n} patches leave face {} of the box without one; ask for more", face + 1));
            }
            let across = self.columns(face, on_face);
            columns += across;
            patches.extend(self.of_face(face, on_face, across));
            first[face + 1] = end;
        }
        Ok(Region { patches, first, columns })
    }

    /// The patches of a face, column by column. Where they cannot be the same in all columns, the longer ones are spread.
    fn of_face(&self, face: usize, patches: usize, columns: usize) -> Vec<Patch> {
        let [width, height] = self.face(face);
        let start = |column: usize| (column * patches).div_ceil(columns);
        let (axis, up, normal) = (face % AXES, (face + 1) % AXES, (face + 2) % AXES);
        let depth = if face < AXES { 0.0 } else { self.extents[normal] };
        let mut of_face = Vec::with_capacity(patches);
        for column in 0..columns {
            let rows = start(column + 1) - start(column);
            for row in 0..rows {
                let mut corners = [[0.0; 2]; AXES];
                corners[axis] = [column, column + 1].map(|end| width * end as f64 / columns as f64);
                corners[up] = [row, row + 1].map(|end| height * end as f64 / rows as f64);
                corners[normal] = [depth; 2];
                of_face.push(Patch { face, corners });
            }
        }
        of_face
    }
}

fn numbers<const N: usize>(lines: &mut std::str::Lines<'_>, what: &str) -> Result<[f64; N], String> {
    let line = lines.next().unwrap_or_default();
    let values: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let count = values.len();
    values.try_into().map_err(|_| format!("{what} are {N} numbers in one line, of which there are {count}: '{line}'"))
}

/// A table by face and colour, from lines by colour and face.
fn by_face(lines: &mut std::str::Lines<'_>, what: &str) -> Result<[[f64; COLOURS]; FACES], String> {
    let mut table = [[0.0; COLOURS]; FACES];
    for colour in 0..COLOURS {
        let line: [f64; FACES] = numbers(lines, what)?;
        line.iter().zip(&mut table).for_each(|(value, face)| face[colour] = *value);
    }
    Ok(table)
}

/// A rectangle of a face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patch {
    pub face: usize,
    /// Where it begins and ends along each axis; the same along the normal of its face.
    pub corners: [[f64; 2]; AXES],
}

impl Patch {
    /// The axis that it is perpendicular to.
    pub fn normal(&self) -> usize {
        (self.face + 2) % AXES
    }

    fn length(&self, axis: usize) -> f64 {
        self.corners[axis][1] - self.corners[axis][0]
    }

    /// Width and height.
    pub fn size(&self) -> [f64; 2] {
        [self.length(self.face % AXES), self.length((self.face + 1) % AXES)]
    }

    /// Where it lies in its face: its offsets along width and height, and its depth.
    pub fn position(&self) -> [f64; AXES] {
        [0, 1, 2].map(|axis| self.corners[(self.face + axis) % AXES][0])
    }

    pub fn area(&self) -> f64 {
        self.size().iter().product()
    }
}

/// A box in patches.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    pub patches: Vec<Patch>,
    /// The first patch of each face, and their number.
    pub first: [usize; FACES + 1],
    /// The columns of all faces together.
    columns: usize,
}

impl Region {
    /// How many patches face `face` has.
    pub fn on(&self, face: usize) -> usize {
        self.first[face + 1] - self.first[face]
    }

    /// How many patches after this one lie on the opposite face, and how many on the others that it sees.
    pub fn later_faces(&self, patch: usize) -> (usize, usize) {
        let face = self.patches[patch].face;
        let opposite = if face < AXES { self.on(face + AXES) } else { 0 };
        (opposite, self.patches.len() - self.first[face + 1] - opposite)
    }

    /// The operations of each task by the assessment of SLALOM, which is the same whatever a program really does.
    ///
    /// The weights are those of the benchmark's description (Gustafson, Rover, Elbert, Carter, Ames Laboratory 1990):
    /// additions and multiplications count 1, divisions and roots 4, a number from or to text 6, transcendental
    /// functions 8.
    pub fn work(&self) -> Work {
        let n = self.patches.len() as f64;
        let on = |face: usize| self.on(face) as f64;
        let squares: f64 = (0..FACES).map(|face| on(face) * on(face)).sum();
        let opposite: f64 = (0..AXES).map(|face| on(face) * on(face + AXES)).sum();
        // The first face's patches do not see each other, so that part of the matrix needs no elimination.
        let blind = on(0) + 1.0;
        let spared = blind * (blind * (2.0 * blind - 16.5) + 35.5) + blind * n * (9.0 - 3.0 * blind);
        Work {
            reader: 258.0,
            region: 154.0 + 8.0 * self.columns as f64 + n,
            parallel: 3.0 + 840.0 * opposite,
            orthogonal: 430.0 * (n * n - squares - 2.0 * opposite) / 2.0,
            properties: 72.0 + 9.0 * n + n * n - squares,
            solver: n * (n * (n + 7.5) - 2.5) - 21.0 + spared,
            storer: 48.0 * n,
        }
    }
}

/// Operations of the tasks of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    pub reader: f64,
    pub region: f64,
    /// Form factors between parallel faces,
    pub parallel: f64,
    /// and between orthogonal ones.
    pub orthogonal: f64,
    /// Sums of the rows; reflectivities and emissivities.
    pub properties: f64,
    pub solver: f64,
    pub storer: f64,
}

impl Work {
    pub fn total(&self) -> f64 {
        let setup = self.parallel + self.orthogonal + self.properties;
        self.reader + self.region + setup + self.solver + self.storer
    }
}
