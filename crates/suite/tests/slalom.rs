//! `slalom` on threads: against the authors' program, against light followed from patch to patch, and its refusals.

use weft_comm::collective::Choice;
use weft_comm::{CommError, Communicator, Program};
use weft_suite::programs::slalom::coupling::coupling;
use weft_suite::programs::slalom::geometry::Geometry;
use weft_suite::programs::slalom::{Layout, radiosities};
use weft_suite::{Request, Row, Suite, UsageError};
use weft_threads::{Options, run};

#[derive(Clone)]
struct Radiosities {
    geometry: Geometry,
    n: usize,
    layout: Layout,
}

impl Program for Radiosities {
    type Output = Vec<[f64; 3]>;
    async fn run<C: Communicator>(self, comm: C) -> Result<Self::Output, CommError> {
        radiosities(&comm, &self.geometry, self.n, self.layout, Choice::Auto).await
    }
}

/// The same on all ranks.
fn solved(geometry: &Geometry, n: usize, layout: Layout, ranks: usize) -> Vec<[f64; 3]> {
    let program = Radiosities { geometry: geometry.clone(), n, layout };
    let mut outputs = run(ranks, &program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(outputs.iter().all(|output| output == &outputs[0]));
    outputs.swap_remove(0)
}

/// What the authors' program in C writes for 40 patches of the box that comes with it.
const PUBLISHED: [[f64; 3]; 40] = [
    [1.85178104, 1.51067632, 1.61067836],
    [1.88521166, 1.50933500, 1.61631177],
    [1.92224841, 1.54781438, 1.65532248],
    [1.75259723, 1.56791420, 1.75256196],
    [1.77164536, 1.56939038, 1.77153972],
    [1.81770706, 1.61522452, 1.81758896],
    [1.61087646, 1.50880780, 1.86006770],
    [1.64377542, 1.53608521, 1.91221841],
    [1.01878840, 0.00782776, 0.00992980],
    [0.82846983, 0.00613227, 0.00835540],
    [0.75385718, 0.00525622, 0.00736200],
    [1.03200512, 0.00771586, 0.00991898],
    [0.82246839, 0.00570615, 0.00791697],
    [0.60833953, 0.34414369, 0.41414721],
    [0.59716910, 0.42286188, 0.53689192],
    [0.53694976, 0.42278638, 0.59721162],
    [0.41412664, 0.34395576, 0.60870329],
    [0.48803333, 0.25889554, 0.33572686],
    [0.46062694, 0.32025398, 0.46054243],
    [0.33683219, 0.25981907, 0.48944947],
    [0.77872037, 0.45560884, 0.56187542],
    [0.85940019, 0.49993558, 0.61368093],
    [0.84328669, 0.48273505, 0.59675021],
    [0.75303927, 0.55785842, 0.75299738],
    [0.82802507, 0.61415284, 0.82791314],
    [0.80702704, 0.59365134, 0.80689804],
    [0.57796134, 0.46947118, 0.80265409],
    [0.60400823, 0.48970453, 0.85170077],
    [0.00993229, 0.00782951, 1.01884531],
    [0.00835806, 0.00613387, 0.82862316],
    [0.00736261, 0.00525609, 0.75363076],
    [0.00991697, 0.00771342, 1.03141456],
    [0.00791576, 0.00570449, 0.82202280],
    [0.92460602, 0.51256785, 0.61198801],
    [0.88839534, 0.62985127, 0.79449815],
    [0.79404438, 0.62931785, 0.88774086],
    [0.61064757, 0.51120230, 0.92311561],
    [0.73308822, 0.37861832, 0.48805590],
    [0.67483496, 0.46961022, 0.67471353],
    [0.48883269, 0.37935064, 0.73371322],
];

#[test]
fn the_answer_is_that_of_the_authors_program() {
    let columns = [1, 3, 8].map(|ranks| (Layout::Columns, ranks));
    // Also grids that are not square, and of one row.
    let grids = [1, 3, 4, 6, 8, 9].map(|ranks| (Layout::Grid, ranks));
    for (layout, ranks) in columns.into_iter().chain(grids) {
        let answer = solved(&Geometry::standard(), 40, layout, ranks);
        for (patch, (own, theirs)) in answer.iter().zip(PUBLISHED).enumerate() {
            for (own, theirs) in own.iter().zip(theirs) {
                assert!((own - theirs).abs() < 0.6e-8, "{layout:?}, {ranks} ranks, patch {patch}: {own} and {theirs}");
            }
        }
    }
}

/// Its count of operations: what it prints for these numbers of patches.
#[test]
fn operations_are_counted_as_the_authors_program_counts_them() {
    for (n, operations) in
        [(40, 415_323.0), (41, 437_871.0), (77, 1_725_673.0), (200, 16_052_231.0), (500, 167_231_815.0)]
    {
        assert_eq!(Geometry::standard().patches(n).unwrap().work().total(), operations);
    }
}

/// Every patch emits, and reflects what comes from the others, again and again until nothing changes.
fn followed(geometry: &Geometry, n: usize) -> Vec<[f64; 3]> {
    let patches = geometry.patches(n).unwrap().patches;
    let factor = |i: usize, j: usize| coupling(&patches[i], &patches[j]) / patches[i].area();
    let factors: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| factor(i, j)).collect()).collect();
    let emitted = |i: usize| geometry.emissivities[patches[i].face];
    let mut light: Vec<[f64; 3]> = (0..n).map(emitted).collect();
    for _ in 0..20_000 {
        let next = |i: usize| {
            let shares = geometry.reflectivities[patches[i].face];
            let received =
                |colour: usize| factors[i].iter().zip(&light).map(|(f, patch)| f * patch[colour]).sum::<f64>();
            [0, 1, 2].map(|colour| emitted(i)[colour] + shares[colour] * received(colour))
        };
        light = (0..n).map(next).collect();
    }
    light
}

#[test]
fn light_in_other_boxes_is_what_following_it_gives() {
    let bright = [[0.999; 3], [0.9, 0.5, 0.001], [0.3; 3], [0.99; 3], [0.7; 3], [0.998; 3]];
    let lamps = [[0.0, 0.0, 2.5], [0.0; 3], [40.0, 0.1, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]];
    let boxes = [
        ([1.0, 1.0, 1.0], 6, Layout::Columns, 4),
        ([2.0, 31.0, 7.5], 35, Layout::Columns, 5),
        ([1.0, 1.0, 1.0], 6, Layout::Grid, 12),
        ([2.0, 31.0, 7.5], 35, Layout::Grid, 6),
    ];
    for (extents, n, layout, ranks) in boxes {
        let geometry = Geometry { extents, reflectivities: bright, emissivities: lamps };
        for (own, other) in solved(&geometry, n, layout, ranks).iter().zip(followed(&geometry, n)) {
            for (own, other) in own.iter().zip(other) {
                assert!((own - other).abs() < 1e-7 * other.max(1.0), "{own} and {other}");
            }
        }
    }
}

#[test]
fn a_box_survives_its_file() {
    let geometry = Geometry::standard();
    assert_eq!(Geometry::from_text(&geometry.to_text()), Ok(geometry));
}

#[test]
fn boxes_that_cannot_be_are_explained() {
    let text = Geometry::standard().to_text();
    let cases = [
        (String::new(), "the extents of the box are 3 numbers in one line, of which there are 0: ''"),
        (text.lines().take(3).collect::<Vec<_>>().join("\n"), "reflectivities are 6 numbers in one line"),
        (text.replace("1.3500e1", "1.3500e2"), "an extent of the box is 135; it must be at least 1 and less than 100"),
        (text.replace("9.9000e-1", "9.9990e-1"), "a reflectivity is 0.9999; it must be above 0 and at most 0.999"),
        (text.replace("5.4000e-1", "0.0000e0"), "a reflectivity is 0; it must be above 0"),
        (text.replace("1.2700e0", "-1.270e0"), "an emissivity is -1.27; it must be 0 or more"),
        (text.replace("1.2700e0", "0.0000e0"), "no face emits any light of colour 1"),
    ];
    for (text, message) in cases {
        let refused = Geometry::from_text(&text).unwrap_err();
        assert!(refused.starts_with(message), "{refused}");
    }
    let thin = Geometry { extents: [1.0, 1.0, 99.0], ..Geometry::standard() };
    assert_eq!(thin.patches(20).unwrap_err(), "20 patches leave face 1 of the box without one; ask for more");
}

fn rows(ranks: usize, request: Request) -> Result<Vec<Row>, UsageError> {
    let mut outputs = run(ranks, &Suite { request }, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    outputs.swap_remove(0)
}

fn request() -> Request {
    Request { benchmark: "slalom".to_owned(), ..Request::default() }
}

#[test]
fn rows_count_operations_by_the_rule() {
    let request = Request { extent: vec![40, 7], iterations: Some(2), warmup: Some(0), ..request() };
    for row in rows(3, request).unwrap() {
        let work = Geometry::standard().patches(row.extent.unwrap() as usize).unwrap().work().total();
        assert!((row.rate.unwrap() * row.seconds / work - 1.0).abs() < 1e-9, "{row:?}");
        assert_eq!((row.file_system.as_deref(), row.rate_unit.as_deref()), (Some("posix"), Some("flop/s")));
    }
}

#[test]
fn impossible_requests_are_explained() {
    let cases = [
        (Request { extent: vec![5], ..request() }, "slalom with 5 patches: each of the 6 faces needs one or more"),
        (Request { within: Some(0.0), ..request() }, "slalom within 0 seconds: ask for more"),
        (
            Request { within: Some(1.0), extent: vec![9], ..request() },
            "slalom within a time finds the number of patches itself: leave out either the extent or the time",
        ),
        (
            Request { benchmark: "jacobi".to_owned(), within: Some(1.0), ..request() },
            "jacobi takes no within; slalom does",
        ),
    ];
    for (request, message) in cases {
        let refused = rows(2, request).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}
