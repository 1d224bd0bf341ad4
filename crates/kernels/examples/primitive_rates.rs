//! How fast the primitives of data-parallel programs are, beside a copy: for tuning, where starting Python takes longer.
//!
//!     cargo run --release -p weft-kernels --example primitive_rates [ELEMENTS [THREADS [REPETITIONS [NAMES]]]]

use std::time::Instant;

use weft_kernels::primitives::*;

fn view<T>(kind: ElementType, values: &[T]) -> View {
    View { kind, pointer: values.as_ptr().cast_mut().cast(), length: values.len() }
}

/// A permutation of 0..length that jumps about, for lengths that are powers of two.
fn scattered(i: usize, length: usize) -> usize {
    let mut x = i as u64;
    let bits = length.ilog2();
    let mask = length as u64 - 1;
    for round in 1..4_u64 {
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (round << 1)) & mask;
        x ^= x >> (bits / 2);
    }
    (x & mask) as usize
}

/// Numbers that look random.
fn noise(i: usize) -> u64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 16
}

/// Values in large pages, where the system has such: as numpy asks for too.
fn large<T>(length: usize, value: impl Fn(usize) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(length);
    #[cfg(target_os = "linux")]
    // SAFETY: an advice on memory that is this vector's.
    unsafe {
        let start = values.as_mut_ptr() as usize;
        let first = start.next_multiple_of(4096);
        let bytes = (start + length * size_of::<T>()).saturating_sub(first);
        libc::madvise(first as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE);
    }
    values.extend((0..length).map(value));
    values
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: usize| arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (length, threads, repetitions) = (number(0, 1 << 24).next_power_of_two(), number(1, 1), number(2, 5));
    let names = arguments.get(3).map_or("", String::as_str);
    let wanted = |name: &str| names.is_empty() || names.split(',').any(|part| name.contains(part));
    let threads = Some(threads);
    let a = large(length, |i| (i % 1000) as f64);
    let b = large(length, |i| a[i]);
    let mut c = large(length, |_| 0.5_f64);
    let flags = large(length, |i| u8::from(noise(i).is_multiple_of(100)));
    let (x, y, z) = (view(ElementType::Float64, &a), view(ElementType::Float64, &b), view(ElementType::Float64, &c));
    let marks = view(ElementType::Bool, &flags);
    let line = Axis::of(&[length], 0).expect("an axis");
    let square = Axis { before: 1, extent: 1 << (length.ilog2() / 2), after: length >> (length.ilog2() / 2) };
    let median = |work: &mut dyn FnMut()| {
        work();
        let mut seconds: Vec<f64> = (0..repetitions)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let report = |name: &str, bytes: usize, work: &mut dyn FnMut()| {
        if wanted(name) {
            let seconds = median(work);
            let rate = length as f64 / seconds / 1e6;
            println!("{name:28} {:9.2} us {:7.1} GB/s {rate:8.1} M/s", seconds * 1e6, bytes as f64 / seconds / 1e9);
        }
    };
    report("copy, memcpy", 16 * length, &mut || c.copy_from_slice(&a));
    let order = Order::default();
    let add = Scan::Combine(Combination::Add);
    // SAFETY: the views are of arrays that are there.
    unsafe {
        report("elementwise add", 24 * length, &mut || {
            elementwise(Pointwise::Add, &[x, y], z, None, threads).expect("fits");
        });
        report("elementwise add, selected", 33 * length, &mut || {
            elementwise(Pointwise::Add, &[x, y], z, Some(&marks), threads).expect("fits");
        });
        report("reduce add", 8 * length, &mut || {
            std::hint::black_box(reduce(x, Combination::Add, None, threads)).expect("fits");
        });
        report("reduce max", 8 * length, &mut || {
            std::hint::black_box(reduce(x, Combination::Max, None, threads)).expect("fits");
        });
        report("scan add", 16 * length, &mut || {
            scan(x, z, add, line, None, None, order, threads).expect("fits");
        });
        report("scan add, segmented", 17 * length, &mut || {
            scan(x, z, add, line, Some(&marks), None, order, threads).expect("fits");
        });
        report("scan copy, segmented", 17 * length, &mut || {
            scan(x, z, Scan::Copy, line, Some(&marks), None, order, threads).expect("fits");
        });
        report("scan add, selected", 25 * length, &mut || {
            scan(x, z, add, line, None, Some(&marks), order, threads).expect("fits");
        });
        report("scan add, axis 0", 16 * length, &mut || {
            scan(x, z, add, square, None, None, order, threads).expect("fits");
        });
        report("spread axis 0", 8 * length, &mut || spread(x, z, square, 1, None, threads).expect("fits"));
        let last = Axis { before: square.extent, extent: square.after, after: 1 };
        report("spread last axis", 8 * length, &mut || spread(x, z, last, 1, None, threads).expect("fits"));
        if wanted("gather") || wanted("send") {
            let bytes = send_workspace_bytes(ElementType::Float64, length, length, threads);
            let workspace = large(bytes, |_| 0_u8);
            let workspace = view(ElementType::Uint8, &workspace);
            let mut index = large(length, |i| scattered(i, length) as i64);
            report("gather", 24 * length, &mut || {
                gather(x, view(ElementType::Int64, &index), z, None, OnError::Keep, threads).expect("fits");
            });
            for ratio in [1, 3, 10, 100, 1000] {
                for (name, stride) in [("clustered", 1), ("scattered", ratio)] {
                    for (i, index) in index.iter_mut().enumerate() {
                        *index = (scattered(i, length) / ratio * stride) as i64;
                    }
                    report(&format!("send add {ratio} {name}"), 24 * length, &mut || {
                        let by = Collisions::Combine(Combination::Add);
                        send(
                            x,
                            view(ElementType::Int64, &index),
                            z,
                            by,
                            None,
                            Some(&workspace),
                            OnError::Keep,
                            threads,
                        )
                        .expect("fits");
                    });
                }
            }
        }
    }
}
