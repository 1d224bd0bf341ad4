//! Where the parts of a payload lie, as MPI's collectives of differing parts take it.

use std::ffi::c_int;

/// Counts and displacements of parts that lie one after another, in memory that is used again.
#[derive(Debug, Default)]
pub struct Layout {
    counts: Vec<c_int>,
    starts: Vec<c_int>,
}

impl Layout {
    /// Takes the lengths of the parts, in bytes; gives their sum.
    ///
    /// # Errors
    /// The first length or start that is no number of MPI's (2^31 or more).
    pub fn fill(&mut self, bytes: &[usize]) -> Result<usize, usize> {
        let number = |bytes: usize| c_int::try_from(bytes).map_err(|_| bytes);
        self.counts.clear();
        self.starts.clear();
        let mut start = 0usize;
        for &part in bytes {
            self.counts.push(number(part)?);
            self.starts.push(number(start)?);
            start += part;
        }
        Ok(start)
    }

    pub fn counts(&self) -> *const c_int {
        self.counts.as_ptr()
    }

    pub fn starts(&self) -> *const c_int {
        self.starts.as_ptr()
    }
}

/// The two layouts of an alltoallv.
#[derive(Debug, Default)]
pub struct Layouts {
    /// Of what is sent.
    pub out: Layout,
    /// Of what is received.
    pub back: Layout,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_lie_one_after_another(parts in proptest::collection::vec(0usize..1 << 20, 0..20)) {
            let mut layout = Layout::default();
            layout.fill(&[9; 30]).unwrap();
            prop_assert_eq!(layout.fill(&parts), Ok(parts.iter().sum()));
            prop_assert_eq!(layout.counts.len(), parts.len());
            for (index, &part) in parts.iter().enumerate() {
                prop_assert_eq!(layout.counts[index] as usize, part);
                prop_assert_eq!(layout.starts[index] as usize, parts[..index].iter().sum::<usize>());
            }
        }
    }

    #[test]
    fn what_mpi_cannot_count_is_told() {
        let mut layout = Layout::default();
        assert_eq!(layout.fill(&[1 << 31]), Err(1 << 31));
        assert_eq!(layout.fill(&[1 << 30, 1 << 30, 1]), Err(1 << 31));
        assert_eq!(layout.fill(&[1 << 30, 1 << 30]), Ok(1 << 31));
    }
}
