//! Round-robin choice among bits, of which iSLIP is made.

/// The first set bit at or after `pointer`, else the first of all. `mask` is not 0.
#[inline]
pub fn first_from(mask: u64, pointer: u8) -> usize {
    let behind = mask & (u64::MAX << pointer);
    (if behind == 0 { mask } else { behind }).trailing_zeros() as usize
}

/// The set bits in ascending order.
#[derive(Clone, Copy)]
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

/// `index` and the one after it, of `count` in a ring.
#[inline]
pub fn after(index: usize, count: usize) -> u8 {
    if index + 1 == count { 0 } else { (index + 1) as u8 }
}

/// One iteration of iSLIP: every resource that is wanted is granted to the next requester from its pointer on, every
/// requester accepts the next grant from its own, and both pointers move past what was accepted.
///
/// `requests` has what each of the `requesters` wants. `granted` is workspace that is 0 before and after; who has got what
/// goes to `matched`.
#[inline]
pub fn islip(
    requesters: u64,
    requests: &[u64],
    granted: &mut [u64],
    (of_requester, of_resource): (&mut [u8], &mut [u8]),
    matched: &mut Vec<(usize, usize)>,
) {
    let mut accepting = 0;
    for resource in Bits(Bits(requesters).fold(0, |wanted, requester| wanted | requests[requester])) {
        let wants = |mask, requester| mask | (requests[requester] >> resource & 1) << requester;
        let requester = first_from(Bits(requesters).fold(0, wants), of_resource[resource]);
        granted[requester] |= 1 << resource;
        accepting |= 1 << requester;
    }
    for requester in Bits(accepting) {
        let resource = first_from(granted[requester], of_requester[requester]);
        granted[requester] = 0;
        of_requester[requester] = after(resource, of_resource.len());
        of_resource[resource] = after(requester, of_requester.len());
        matched.push((requester, resource));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_decides_and_wraps() {
        assert_eq!([first_from(0b1010, 0), first_from(0b1010, 2), first_from(0b1010, 4)], [1, 3, 1]);
    }

    /// Two requesters that both want both resources starve neither: McKeown's pointers fall out of step after one round.
    #[test]
    fn pointers_fall_out_of_step() {
        let (mut of_requester, mut of_resource) = ([0; 2], [0; 2]);
        let mut rounds = Vec::new();
        for _ in 0..3 {
            let (mut granted, mut matched) = ([0; 2], Vec::new());
            islip(0b11, &[0b11, 0b11], &mut granted, (&mut of_requester, &mut of_resource), &mut matched);
            assert_eq!(granted, [0, 0]);
            rounds.push(matched);
        }
        assert_eq!(rounds, [vec![(0, 0)], vec![(0, 1), (1, 0)], vec![(0, 0), (1, 1)]]);
    }
}
