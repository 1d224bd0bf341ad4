//! Sends come to the same whichever way they are done: to few or many destinations, near or far, on one thread or several.

use super::*;

/// Destinations from one on, so that senders per destination go from hundreds to less than one.
const EXTENTS: [usize; 8] = [1, 2, 7, 60, 200, 1000, 4096, 9000];

fn sent<T: Number>(x: &[T], index: &[i64], out: &[T], collisions: Collisions, threads: usize) -> Vec<u64> {
    let mut out = out.to_vec();
    // SAFETY: the views are of arrays that are there.
    unsafe {
        send(view(x), view(index), view_mut(&mut out), collisions, None, None, OnError::Keep, Some(threads))
            .expect("fits")
    };
    out.into_iter().map(T::bits).collect()
}

/// Sums that rounding changes, extremes with NaN among them, and the last sender's.
#[test]
fn every_way_combines_in_the_order_of_the_senders() {
    for length in [0, 1, 9, 63, 99, 300, 2500] {
        for extent in EXTENTS {
            let seed = (length * 31 + extent) as u64;
            let index = indices(seed, length, extent, false);
            let x: Vec<f64> = (0..length).map(|i| noise(seed, i) as f64 * 1e-9 - 3.1).collect();
            let x: Vec<f64> = x.into_iter().enumerate().map(|(i, x)| if i % 41 == 7 { f64::NAN } else { x }).collect();
            let whole: Vec<i32> = (0..length).map(|i| noise(seed, i) as i32).collect();
            let before: Vec<f64> = (0..extent).map(|i| noise(!seed, i) as f64 * 1e-9).collect();
            for (collisions, combine) in [
                (Collisions::Combine(Combination::Add), (|one, other| one + other) as fn(f64, f64) -> f64),
                (
                    Collisions::Combine(Combination::Max),
                    |one, other| if one.is_nan() || one >= other { one } else { other },
                ),
                (
                    Collisions::Combine(Combination::Min),
                    |one, other| if one.is_nan() || one <= other { one } else { other },
                ),
                (Collisions::Overwrite, |_, other| other),
            ] {
                let mut expected = before.clone();
                index.iter().zip(&x).for_each(|(&to, &x)| {
                    let to = &mut expected[to as usize];
                    *to = combine(*to, x);
                });
                let expected: Vec<u64> = expected.into_iter().map(Number::bits).collect();
                for threads in [1, 2, 3, 9] {
                    assert_eq!(
                        sent(&x, &index, &before, collisions, threads),
                        expected,
                        "{length} to {extent}, {collisions:?}"
                    );
                }
            }
            let mut expected = vec![5_i32; extent];
            index
                .iter()
                .zip(&whole)
                .for_each(|(&to, &x)| expected[to as usize] = expected[to as usize].wrapping_add(x));
            let expected: Vec<u64> = expected.into_iter().map(Number::bits).collect();
            for threads in [1, 2, 3] {
                let add = Collisions::Combine(Combination::Add);
                assert_eq!(sent(&whole, &index, &vec![5; extent], add, threads), expected, "{length} to {extent}");
            }
        }
    }
}

/// One index that another sender has, or that is out of range, whichever way finds it: nothing is sent, and the message says
/// which.
#[test]
fn every_way_refuses_what_it_must() {
    let sizes = [
        (40, 50),
        (40, 40),
        (90, 90),
        (90, 100),
        (90, 700),
        (90, 5000),
        (250, 260),
        (250, 250),
        (600, 4000),
        (600, 40_000),
    ];
    for ((length, extent), rare) in sizes.into_iter().flat_map(|size| [false, true].map(|rare| (size, rare))) {
        let stride = extent / length;
        let distinct: Vec<i64> = (0..length).map(|i| ((i * 7 % length) * stride) as i64).collect();
        let mut x: Vec<f32> = (0..length).map(|i| i as f32).collect();
        if rare {
            // The value that stands for what nothing is sent to.
            x[length / 3] = f32::from_ne_bytes([0x9B; 4]);
        }
        let before = vec![-1_f32; extent];
        let workspace_bytes = send_workspace_bytes(ElementType::Float32, length, extent, Some(3));
        let mut workspace = vec![0xA5_u8; workspace_bytes];
        let mut refuse = |index: &[i64], threads: usize, with_workspace: bool, on_error: OnError| {
            let mut out = before.clone();
            let mut workspace = view_mut(&mut workspace);
            workspace.kind = ElementType::Uint8;
            let workspace = with_workspace.then_some(&workspace);
            // SAFETY: the views are of arrays that are there.
            let done = unsafe {
                send(
                    view(&x),
                    view(index),
                    view_mut(&mut out),
                    Collisions::Refuse,
                    None,
                    workspace,
                    on_error,
                    Some(threads),
                )
            };
            if done.is_err() && on_error == OnError::Clobber {
                // It may hold anything.
                out.copy_from_slice(&before);
            }
            (done, out)
        };
        let runs = [(1, true), (1, false), (2, true), (3, false)];
        let runs = runs.into_iter().flat_map(|run| [OnError::Keep, OnError::Clobber].map(|on_error| (run, on_error)));
        for ((threads, with_workspace), on_error) in runs {
            let mut expected = before.clone();
            distinct.iter().zip(&x).for_each(|(&to, &x)| expected[to as usize] = x);
            let sent = refuse(&distinct, threads, with_workspace, on_error);
            assert_eq!(sent, (Ok(()), expected), "{length} to {extent}");
            let mut twice = distinct.clone();
            (twice[length - 1], twice[3]) = (twice[length / 2], twice[length / 2]);
            let destination = twice[3] as usize;
            let collision = PrimitiveError::Collision { first: 3, second: length / 2, destination };
            let sent = refuse(&twice, threads, with_workspace, on_error);
            assert_eq!(sent, (Err(collision), before.clone()), "{length} to {extent}");
            for index in [extent as i64, -1, i64::MAX] {
                let mut beyond = distinct.clone();
                beyond[length - 2] = index;
                let error = PrimitiveError::Index { index, element: length - 2, array: "destination", extent };
                assert_eq!(refuse(&beyond, threads, with_workspace, on_error), (Err(error), before.clone()));
            }
        }
    }
}

/// One element that many send: to as much as when each is added after the other, whether sums are rounded on the way or not.
#[test]
fn one_element_is_added_as_often_as_it_is_sent() {
    const NEARLY: f32 = (1 << 24) as f32;
    let values = [1.0, -3.0, 0.1, 0.0, -0.0, 1e30, NEARLY - 3.0, f32::NAN, f32::INFINITY];
    let helds = [0.0, -0.0, 7.0, -250.0, 0.25, NEARLY - 90.0, NEARLY, f32::NAN];
    for (x, held) in values.into_iter().flat_map(|x| helds.map(|held| (x, held))) {
        for extent in [1, 3, 200] {
            let index = indices(extent as u64, 2500, extent, false);
            // What nothing is sent to keeps what it holds.
            let index: Vec<i64> = index.into_iter().map(|to| if to == 2 { 0 } else { to }).collect();
            let before: Vec<f32> = (0..extent).map(|i| if i % 2 == 0 { held } else { 0.0 }).collect();
            let mut expected = before.clone();
            index.iter().for_each(|&to| expected[to as usize] += x);
            let expected: Vec<u64> = expected.into_iter().map(Number::bits).collect();
            for threads in [1, 2, 3] {
                let add = Collisions::Combine(Combination::Add);
                assert_eq!(sent(&[x], &index, &before, add, threads), expected, "{x} sent to {extent} of {held}");
            }
            let mut beyond = index.clone();
            beyond[2000] = extent as i64;
            let mut out = before.clone();
            // SAFETY: the views are of arrays that are there.
            let refused = unsafe {
                let add = Collisions::Combine(Combination::Add);
                send(view(&[x]), view(&beyond), view_mut(&mut out), add, None, None, OnError::Keep, Some(2))
            };
            assert!(refused.is_err());
            assert!(out.into_iter().map(Number::bits).eq(before.into_iter().map(Number::bits)));
        }
    }
}
