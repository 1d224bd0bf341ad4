//! STREAM: the rate of memory at copy, scale, add and triad (McCalpin 1995), by the length of an array and by threads.
//!
//! `copy` is `c = a` (the library's block copy, as compilers turn the loop into), `scale` is `b = s c`, `add` is
//! `c = a + b`, `triad` is `a = b + s c`, on arrays of doubles at least four times the largest cache, where the system
//! tells its size. Bytes are counted as STREAM counts them: two arrays for copy and scale, three for add and triad; a
//! store that first reads its line moves more. The variants `*_nontemporal` use non-temporal stores, which do not; they
//! are another measurement and must not be compared with plain stores.
//!
//! The arrays are aligned to pages, divided among the threads in whole lines and first touched by the thread that works
//! on them. Each repetition is timed from a barrier before to a barrier after it.
//!
//! Kept by: the sources are written between repetitions and the target is read. Checked by: before each repetition
//! numbers that have not been there are written to addresses all over the sources, and the targets must follow; after
//! the first, every element is compared.

use std::cell::RefCell;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::Barrier;
use std::sync::atomic::{Ordering, compiler_fence};
use std::thread;

use aligned_vec::{AVec, ConstAlign};
use weft_simd::largest_reported_cache;

use super::error::NodeError;
use super::measure::{Case, Repeat, timed};
use super::request::NodeRequest;
use super::simd::vectorised;
use super::system;

pub(crate) const ROWS: [&str; 8] =
    ["copy", "scale", "add", "triad", "copy_nontemporal", "scale_nontemporal", "add_nontemporal", "triad_nontemporal"];

const BENCHMARK: &str = "stream";
const SCALAR: f64 = 3.0;

/// Elements of a line of 64 bytes: what is divided among threads, and what a non-temporal store fills.
const LINE: usize = 8;

/// Bytes of an array where the machine has the memory: virtual machines name shares of caches that are far larger.
const USUAL: u64 = 512 << 20;

/// Bytes; the alignment of the arrays, and what the system gives at first touch.
const PAGE: usize = 4096;

type Array = AVec<f64, ConstAlign<PAGE>>;

pub(crate) fn cases(request: &NodeRequest) -> Result<Vec<Case>, NodeError> {
    let mut cases = Vec::new();
    for bytes in if request.bytes.is_empty() { vec![default_bytes()] } else { request.bytes.clone() } {
        if bytes < (LINE * size_of::<f64>()) as u64 {
            let expected = "at least 64 bytes for each array".to_owned();
            return Err(NodeError::BadLength { benchmark: BENCHMARK, length: bytes, expected });
        }
        for threads in thread_counts(request) {
            let arrays = Rc::new(RefCell::new(None));
            for kernel in Kernel::ALL {
                for stores in [Stores::Plain, Stores::NonTemporal] {
                    if stores == Stores::Plain || NON_TEMPORAL {
                        cases.push(case(kernel, stores, bytes, threads, Rc::clone(&arrays)));
                    }
                }
            }
        }
    }
    Ok(cases)
}

fn thread_counts(request: &NodeRequest) -> Vec<usize> {
    if !request.threads.is_empty() {
        return request.threads.clone();
    }
    match thread::available_parallelism().map_or(1, usize::from) {
        1 => vec![1],
        all => vec![1, all],
    }
}

/// Far beyond the caches, and three arrays in less than half of the memory.
fn default_bytes() -> u64 {
    let beyond_caches = largest_reported_cache().map_or(USUAL, |cache| (4 * cache as u64).max(USUAL));
    let fits = system::memory().map_or(u64::MAX, |memory| memory.available / 8);
    beyond_caches.min(fits) / 4096 * 4096
}

fn case(kernel: Kernel, stores: Stores, bytes: u64, threads: usize, arrays: Rc<RefCell<Option<Arrays>>>) -> Case {
    let elements = bytes as usize / size_of::<f64>();
    let name = ROWS[kernel as usize + if stores == Stores::Plain { 0 } else { Kernel::ALL.len() }];
    let mut case = Case::new(name, 1, "one pass", move || {
        if arrays.borrow().is_none() {
            system::check_memory(BENCHMARK, 3 * bytes)?;
            *arrays.borrow_mut() = Some(Arrays::new(elements, threads));
        }
        Ok(repeat(kernel, stores, threads, arrays))
    });
    let moved = kernel.arrays() * (elements * size_of::<f64>()) as u64;
    case.threads = threads;
    case.bytes = Some(bytes);
    case.rate = Some((moved as f64 * 1e-6, "MB/s"));
    case.note = match largest_reported_cache() {
        None => Some("the size of the caches is not known here".to_owned()),
        Some(cache) if bytes < 4 * cache as u64 => {
            Some(format!("less than four times the largest cache, {cache} bytes"))
        }
        Some(_) => None,
    };
    case
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    Copy,
    Scale,
    Add,
    Triad,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stores {
    Plain,
    NonTemporal,
}

impl Kernel {
    const ALL: [Kernel; 4] = [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad];

    fn arrays(self) -> u64 {
        match self {
            Kernel::Copy | Kernel::Scale => 2,
            Kernel::Add | Kernel::Triad => 3,
        }
    }

    fn of_element(self, first: f64, second: f64) -> f64 {
        match self {
            Kernel::Copy => first,
            Kernel::Scale => SCALAR * first,
            Kernel::Add => first + second,
            Kernel::Triad => first + SCALAR * second,
        }
    }

    fn run(self, stores: Stores, target: &mut [f64], first: &[f64], second: &[f64]) {
        match (self, stores) {
            (Kernel::Copy, Stores::Plain) => target.copy_from_slice(first),
            (Kernel::Scale, Stores::Plain) => scale(target, first),
            (Kernel::Add, Stores::Plain) => add(target, first, second),
            (Kernel::Triad, Stores::Plain) => triad(target, first, second),
            (kernel, Stores::NonTemporal) => non_temporal(kernel, target, first, second),
        }
    }
}

/// Elements of a step of a loop with plain stores. A compiler left to itself takes several vectors at once, first all
/// their loads and then all their stores; with memory as the bottleneck, that costs up to a fifth of the rate. A fence for
/// the compiler, which is no instruction, keeps the steps apart.
const STEP: usize = 4;

#[inline(always)]
fn steps(target: &mut [f64], first: &[f64], second: &[f64], of_element: impl Fn(f64, f64) -> f64) {
    let (whole, rest) = target.as_chunks_mut::<STEP>();
    let done = whole.len() * STEP;
    let sources = first.as_chunks::<STEP>().0.iter().zip(second.as_chunks::<STEP>().0);
    for (target, (first, second)) in whole.iter_mut().zip(sources) {
        *target = std::array::from_fn(|at| of_element(first[at], second[at]));
        compiler_fence(Ordering::SeqCst);
    }
    for (at, target) in rest.iter_mut().enumerate() {
        *target = of_element(first[done + at], second[done + at]);
    }
}

vectorised! {
    fn scale(target: &mut [f64], source: &[f64]) {
        steps(target, source, source, |element, _| SCALAR * element);
    }
}

vectorised! {
    fn add(target: &mut [f64], first: &[f64], second: &[f64]) {
        steps(target, first, second, |first, second| first + second);
    }
}

vectorised! {
    fn triad(target: &mut [f64], first: &[f64], second: &[f64]) {
        steps(target, first, second, |first, second| first + SCALAR * second);
    }
}

/// Whether weft knows non-temporal stores on this architecture.
const NON_TEMPORAL: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn non_temporal(kernel: Kernel, target: &mut [f64], first: &[f64], second: &[f64]) {
    use std::arch::x86_64::*;

    /// SSE2 suffices: four stores fill a line before it leaves.
    #[inline(always)]
    fn store(target: &mut [f64; LINE], values: [f64; LINE]) {
        for (target, values) in target.as_chunks_mut::<2>().0.iter_mut().zip(values.as_chunks::<2>().0) {
            // SAFETY: lines are aligned (arrays to pages, parts to lines), and every x86-64 has SSE2.
            unsafe { _mm_stream_pd(target.as_mut_ptr(), _mm_loadu_pd(values.as_ptr())) };
        }
    }

    #[inline(always)]
    fn lines(target: &mut [f64], first: &[f64], second: &[f64], of_element: impl Fn(f64, f64) -> f64) {
        let (lines, rest) = target.as_chunks_mut::<LINE>();
        let whole = lines.len() * LINE;
        let sources = first.as_chunks::<LINE>().0.iter().zip(second.as_chunks::<LINE>().0);
        for (line, (first, second)) in lines.iter_mut().zip(sources) {
            store(line, std::array::from_fn(|at| of_element(first[at], second[at])));
        }
        for (at, target) in rest.iter_mut().enumerate() {
            *target = of_element(first[whole + at], second[whole + at]);
        }
    }

    assert_eq!(target.as_ptr() as usize % (LINE * size_of::<f64>()), 0, "parts begin at lines");
    match kernel {
        Kernel::Copy => lines(target, first, first, |first, _| first),
        Kernel::Scale => lines(target, first, first, |first, _| SCALAR * first),
        Kernel::Add => lines(target, first, second, |first, second| first + second),
        Kernel::Triad => lines(target, first, second, |first, second| first + SCALAR * second),
    }
    // SAFETY: every x86-64 has SSE.
    unsafe { _mm_sfence() };
}

#[cfg(not(target_arch = "x86_64"))]
fn non_temporal(_: Kernel, _: &mut [f64], _: &[f64], _: &[f64]) {
    unreachable!("no case asks for non-temporal stores on this architecture")
}

struct Arrays {
    a: Array,
    b: Array,
    c: Array,
}

impl Arrays {
    /// First touched page by page in turn, as STREAM's own loop does: arrays that lie whole behind one another in
    /// memory, a power of two apart, meet in the same banks.
    fn new(elements: usize, threads: usize) -> Arrays {
        let mut arrays = [(); 3].map(|()| Array::with_capacity(PAGE, elements));
        let length = part_length(elements, threads);
        let [mut a, mut b, mut c] = arrays.each_mut().map(|array| unwritten(array, elements).chunks_mut(length));
        thread::scope(|scope| {
            while let (Some(a), Some(b), Some(c)) = (a.next(), b.next(), c.next()) {
                scope.spawn(move || first_touch([(a, 1.0), (b, 2.0), (c, 0.0)]));
            }
        });
        for array in &mut arrays {
            // SAFETY: the parts cover the first `elements` elements and all have been written.
            unsafe { array.set_len(elements) };
        }
        let [a, b, c] = arrays;
        Arrays { a, b, c }
    }

    /// The target, the first source and the second (the first again where there is one) of a kernel.
    fn of(&mut self, kernel: Kernel) -> (&mut Array, &mut Array, Option<&mut Array>) {
        match kernel {
            Kernel::Copy => (&mut self.c, &mut self.a, None),
            Kernel::Scale => (&mut self.b, &mut self.c, None),
            Kernel::Add => (&mut self.c, &mut self.a, Some(&mut self.b)),
            Kernel::Triad => (&mut self.a, &mut self.b, Some(&mut self.c)),
        }
    }
}

fn part_length(elements: usize, threads: usize) -> usize {
    elements.div_ceil(threads).next_multiple_of(LINE)
}

fn unwritten(array: &mut Array, elements: usize) -> &mut [MaybeUninit<f64>] {
    // SAFETY: the memory is the array's, for as many elements, which may be uninitialised.
    unsafe { std::slice::from_raw_parts_mut(array.as_mut_ptr().cast::<MaybeUninit<f64>>(), elements) }
}

fn first_touch(mut parts: [(&mut [MaybeUninit<f64>], f64); 3]) {
    let per_page = PAGE / size_of::<f64>();
    let elements = parts[0].0.len();
    for start in (0..elements).step_by(per_page) {
        for (part, value) in &mut parts {
            part[start..elements.min(start + per_page)].fill(MaybeUninit::new(*value));
        }
    }
}

fn repeat(kernel: Kernel, stores: Stores, threads: usize, arrays: Rc<RefCell<Option<Arrays>>>) -> Repeat {
    let mut marks = Marks { next: 1.0 };
    let mut all_compared = false;
    Box::new(move |count| {
        let mut borrowed = arrays.borrow_mut();
        let (target, first, mut second) = borrowed.as_mut().expect("the case has made them").of(kernel);
        let mut seconds = 0.0;
        for _ in 0..count {
            marks.write(first);
            if let Some(second) = second.as_deref_mut() {
                marks.write(second);
            }
            let other = second.as_deref().unwrap_or(first);
            seconds += pass(kernel, stores, threads, black_box(target), black_box(first), black_box(other));
            let every = if all_compared { Marks::distance(target.len()) } else { 1 };
            compare(kernel, every, target, first, other)?;
            all_compared = true;
        }
        Ok(seconds)
    })
}

/// Numbers that no repetition has seen, written to addresses that are some pages apart.
struct Marks {
    next: f64,
}

impl Marks {
    /// At most about a thousand addresses, at a distance that is no multiple of a line.
    fn distance(elements: usize) -> usize {
        elements / 1024 + 1
    }

    fn write(&mut self, array: &mut [f64]) {
        let distance = Marks::distance(array.len());
        for element in array.iter_mut().step_by(distance) {
            self.next += 1.0;
            *element = self.next;
        }
    }
}

fn compare(kernel: Kernel, every: usize, target: &[f64], first: &[f64], second: &[f64]) -> Result<(), String> {
    for at in (0..target.len()).step_by(every) {
        let reference = kernel.of_element(first[at], second[at]);
        if target[at] != reference {
            return Err(format!("element {at} is {}, expected {reference}", target[at]));
        }
    }
    Ok(())
}

/// One pass over the arrays by all threads; the seconds are those of the caller's, which works on the first part.
fn pass(kernel: Kernel, stores: Stores, threads: usize, target: &mut [f64], first: &[f64], second: &[f64]) -> f64 {
    if threads == 1 {
        return timed(|| kernel.run(stores, target, first, second)).0;
    }
    let length = part_length(target.len(), threads);
    let mut parts = target.chunks_mut(length).zip(first.chunks(length).zip(second.chunks(length)));
    let barrier = Barrier::new(target_parts(first.len(), length));
    let barrier = &barrier;
    thread::scope(|scope| {
        let (own_target, (own_first, own_second)) = parts.next().expect("arrays are not empty");
        for (target, (first, second)) in parts {
            scope.spawn(move || {
                barrier.wait();
                kernel.run(stores, target, first, second);
                barrier.wait();
            });
        }
        barrier.wait();
        timed(|| {
            kernel.run(stores, own_target, own_first, own_second);
            barrier.wait();
        })
        .0
    })
}

fn target_parts(elements: usize, part: usize) -> usize {
    elements.div_ceil(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_right_for_every_length_and_thread_count() {
        for elements in [8, 9, 63, 64, 1000, 4097] {
            for threads in [1, 2, 3] {
                for kernel in Kernel::ALL {
                    for stores in [Stores::Plain, Stores::NonTemporal] {
                        let arrays = Rc::new(RefCell::new(Some(Arrays::new(elements, threads))));
                        if stores == Stores::Plain || NON_TEMPORAL {
                            repeat(kernel, stores, threads, arrays)(3).unwrap();
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_element_left_behind_is_noticed() {
        let error = compare(Kernel::Triad, 1, &[7.0, 7.0], &[1.0, 1.0], &[2.0, 3.0]).unwrap_err();
        assert_eq!(error, "element 1 is 7, expected 10");
    }

    #[test]
    fn marks_are_new_in_every_repetition() {
        let mut marks = Marks { next: 1.0 };
        let (mut first, mut second) = ([0.0; 3000], [0.0; 3000]);
        marks.write(&mut first);
        marks.write(&mut second);
        assert!(first.iter().zip(&second).step_by(Marks::distance(3000)).all(|(first, second)| first < second));
    }

    #[test]
    fn more_than_the_memory_is_refused() {
        if system::memory().is_some() {
            let request = NodeRequest { bytes: vec![1 << 50], ..NodeRequest::default() };
            let case = cases(&request).unwrap().remove(0);
            let error = (case.prepare)().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("ask for a smaller length"), "{error}");
        }
    }
}
