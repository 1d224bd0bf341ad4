//! The arrays of the Livermore loops and the signal that fills them.
//!
//! Names are those of McMahon 1986. The published programs keep all arrays in one block and let two kernels read past
//! the end of one into the next: kernel 1 past `z` into `g` (`z` here has elements for what it reads there), kernel 4
//! past `x` into `y`.

/// Shapes: `[rows][columns]`, the last index adjacent in memory.
pub(super) type Grid = [[f64; 101]; 7];
pub(super) type Flow = [[[f64; 5]; 101]; 2];

/// Everything the 24 kernels read and write.
#[derive(Clone)]
pub(super) struct Data {
    pub u: [f64; 1001],
    pub v: [f64; 1001],
    pub w: [f64; 1001],
    pub x: [f64; 1001],
    pub y: [f64; 1001],
    /// 1001 and the first eleven of `g`.
    pub z: [f64; 1012],
    pub g: [f64; 1001],
    pub du1: [f64; 101],
    pub du2: [f64; 101],
    pub du3: [f64; 101],
    pub grd: [f64; 1001],
    pub dex: [f64; 1001],
    pub xi: [f64; 1001],
    pub ex: [f64; 1001],
    pub ex1: [f64; 1001],
    pub dex1: [f64; 1001],
    pub vx: [f64; 1001],
    pub xx: [f64; 1001],
    pub rx: [f64; 1001],
    /// 2048 and the one that kernel 14 may write beyond.
    pub rh: [f64; 2049],
    pub vsp: [f64; 101],
    pub vstp: [f64; 101],
    pub vxne: [f64; 101],
    pub vxnd: [f64; 101],
    pub ve3: [f64; 101],
    pub vlr: [f64; 101],
    pub vlin: [f64; 101],
    pub b5: [f64; 101],
    pub plan: [f64; 300],
    pub d: [f64; 300],
    pub sa: [f64; 101],
    pub sb: [f64; 101],
    pub p: [[f64; 4]; 512],
    pub px: [[f64; 25]; 101],
    pub cx: [[f64; 25]; 101],
    pub vy: [[f64; 101]; 25],
    pub vh: Grid,
    pub vf: Grid,
    pub vg: Grid,
    pub vs: Grid,
    pub za: Grid,
    pub zp: Grid,
    pub zq: Grid,
    pub zr: Grid,
    pub zm: Grid,
    pub zb: Grid,
    pub zu: Grid,
    pub zv: Grid,
    pub zz: Grid,
    pub b: [[f64; 64]; 64],
    pub c: [[f64; 64]; 64],
    pub h: [[f64; 64]; 64],
    pub u1: Flow,
    pub u2: Flow,
    pub u3: Flow,
    pub scalars: Scalars,
    pub e: [i64; 96],
    pub f: [i64; 96],
    pub ix: [i64; 1001],
    pub ir: [i64; 1001],
    pub zone: [i64; 301],
    /// Result of kernel 3.
    pub inner_product: f64,
    /// Counters of kernel 16.
    pub search: Search,
    /// Result of kernel 17.
    pub xnm: f64,
    /// Result of kernel 24.
    pub first_minimum: usize,
}

#[derive(Clone, Default)]
pub(super) struct Scalars {
    /// The coefficients a11 to a33 of kernel 8.
    pub a: [[f64; 3]; 3],
    pub c0: f64,
    pub dk: f64,
    /// dm22 to dm28 of kernel 9.
    pub dm: [f64; 7],
    pub flx: f64,
    pub q: f64,
    pub r: f64,
    pub s: f64,
    pub sig: f64,
    pub stb5: f64,
    pub t: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Search {
    pub k2: i64,
    pub k3: i64,
    pub j5: i64,
    pub m16: i64,
}

/// The signal of the published programs: near 0.1, alternating and slowly moving, different everywhere.
struct Signal {
    fuzz: f64,
    buzz: f64,
    fizz: f64,
}

impl Signal {
    fn new() -> Signal {
        let fuzz = 0.0012345;
        Signal { fuzz, buzz: 1.0 + fuzz, fizz: 1.1 * fuzz }
    }

    fn next(&mut self) -> f64 {
        self.buzz = (1.0 - self.fuzz) * self.buzz + self.fuzz;
        self.fuzz = -self.fuzz;
        (self.buzz - self.fizz) * 0.1
    }

    fn fill<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.next())
    }

    fn rows<const N: usize, const ROWS: usize>(&mut self) -> [[f64; N]; ROWS] {
        std::array::from_fn(|_| self.fill())
    }

    fn flow(&mut self) -> Flow {
        std::array::from_fn(|_| self.rows())
    }
}

impl Data {
    /// The data at the start of every kernel. The order of the fields is the order in which the signal fills them; it
    /// starts again at `p`, and for the scalars. Kernel 16's are laid out by its length, and kernel 14's begin with a seed.
    pub fn new(searched: usize, seed: u64) -> Box<Data> {
        let mut signal = Signal::new();
        let one = &mut signal;
        let mut vectors = Vectors {
            u: one.fill(),
            v: one.fill(),
            w: one.fill(),
            x: one.fill(),
            y: one.fill(),
            z: one.fill(),
            g: one.fill(),
            du: one.rows(),
            grid_14: one.rows(),
            rh: one.fill(),
            implicit_17: one.rows(),
            plan: one.fill(),
            d: one.fill(),
            sa: one.fill(),
            sb: one.fill(),
        };
        search_data(&mut vectors, searched);
        let [du1, du2, du3] = vectors.du;
        let [_, dex, xi, ex, ex1, dex1, vx, xx, rx] = vectors.grid_14;
        let [vsp, vstp, vxne, vxnd, ve3, vlr, vlin, b5] = vectors.implicit_17;
        let ix = random_indices(seed);
        let again = &mut Signal::new();
        let _: [[f64; 4]; 512] = again.rows();
        Box::new(Data {
            u: vectors.u,
            v: vectors.v,
            w: vectors.w,
            x: vectors.x,
            y: vectors.y,
            z: std::array::from_fn(|at| if at < 1001 { vectors.z[at] } else { vectors.g[at - 1001] }),
            g: vectors.g,
            du1,
            du2,
            du3,
            grd: ix.map(|first_minimum| first_minimum as f64),
            dex: dex.map(|value: f64| -100.0 * value),
            xi,
            ex,
            ex1,
            dex1,
            vx,
            xx,
            rx,
            rh: std::array::from_fn(|at| vectors.rh.get(at).copied().unwrap_or(vsp[0])),
            vsp,
            vstp,
            vxne,
            vxnd,
            ve3,
            vlr,
            vlin,
            b5,
            plan: vectors.plan,
            d: vectors.d,
            sa: vectors.sa,
            sb: vectors.sb,
            p: std::array::from_fn(|i| std::array::from_fn(|l| 1.0 + 0.5 * (512 * l + i) as f64)),
            px: again.rows(),
            cx: again.rows(),
            vy: again.rows(),
            vh: again.rows(),
            vf: again.rows(),
            vg: again.rows(),
            vs: again.rows(),
            za: again.rows(),
            zp: again.rows(),
            zq: again.rows(),
            zr: again.rows(),
            zm: again.rows(),
            zb: again.rows(),
            zu: again.rows(),
            zv: again.rows(),
            zz: again.rows(),
            b: again.rows(),
            c: again.rows(),
            h: again.rows(),
            u1: again.flow(),
            u2: again.flow(),
            u3: again.flow(),
            scalars: Scalars::new(),
            e: [1; 96],
            f: [1; 96],
            ix,
            ir: [0; 1001],
            zone: zones(searched),
            inner_product: 0.0,
            search: Search::default(),
            xnm: 0.0,
            first_minimum: 0,
        })
    }
}

/// The part of the arrays that the first signal fills.
struct Vectors {
    u: [f64; 1001],
    v: [f64; 1001],
    w: [f64; 1001],
    x: [f64; 1001],
    y: [f64; 1001],
    z: [f64; 1001],
    g: [f64; 1001],
    du: [[f64; 101]; 3],
    /// grd, dex, xi, ex, ex1, dex1, vx, xx, rx.
    grid_14: [[f64; 1001]; 9],
    rh: [f64; 2048],
    /// vsp, vstp, vxne, vxnd, ve3, vlr, vlin, b5.
    implicit_17: [[f64; 101]; 8],
    plan: [f64; 300],
    d: [f64; 300],
    sa: [f64; 101],
    sb: [f64; 101],
}

impl Scalars {
    fn new() -> Scalars {
        let mut signal = Signal::new();
        // Numbered from 1.
        let x: [f64; 40] = std::array::from_fn(|at| if at == 0 { 0.0 } else { signal.next() });
        Scalars {
            a: [[x[1], x[2], x[3]], [x[4], x[5], x[6]], [x[7], x[8], x[9]]],
            c0: x[12],
            dk: x[15],
            dm: std::array::from_fn(|at| x[16 + at]),
            flx: 0.001,
            q: x[28],
            r: x[30],
            s: x[32],
            sig: x[34],
            stb5: x[35],
            t: x[36],
        }
    }
}

fn search_data(vectors: &mut Vectors, searched: usize) {
    let d = &mut vectors.d;
    d[0] = 1.019_804_864_287_64;
    for at in 1..d.len() {
        d[at] = d[at - 1] + 1.0e-4 / d[at - 1];
    }
    let scale = d[searched - 1];
    for (at, plan) in vectors.plan.iter_mut().enumerate() {
        let k = (at % searched + 1) as f64;
        *plan = scale * ((k + 1.0) / k);
    }
}

fn zones(searched: usize) -> [i64; 301] {
    let mut zone = std::array::from_fn(|at| 2 * (at % searched + 1) as i64);
    zone[2 * searched] = searched as i64;
    zone[300] = 0;
    zone
}

/// The generator of kernel 14: multiplicative congruential, 16807 modulo 2^31 - 1, scaled to 1 to 1001.
fn random_indices(seed: u64) -> [i64; 1001] {
    let mut state = seed;
    std::array::from_fn(|_| {
        state = state * 16807 % 2_147_483_647;
        1 + (state * 1000 / 2_147_483_647) as i64
    })
}
