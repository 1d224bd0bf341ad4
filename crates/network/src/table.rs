//! What is known of each of many links or nodes, few of which are ever used.

use std::ops::{Index, IndexMut};

/// The values of a page.
const PAGE: usize = 1024;

/// `len` values, each `T::default()` until it is written: memory is taken for the parts that are used, so that two ranks on
/// a machine of millions of nodes cost what two ranks cost.
///
/// # Examples
/// ```
/// use weft_network::Table;
///
/// // Memory is taken for one page of the million values.
/// let mut table: Table<u64> = Table::new(1 << 20);
/// table[1 << 19] = 7;
/// assert_eq!((table[1 << 19], table[0], table.len()), (7, 0, 1 << 20));
/// assert!(table.written_mut().count() < 10_000);
/// ```
#[derive(Clone, Debug)]
pub struct Table<T> {
    pages: Vec<Option<Box<[T]>>>,
    len: usize,
    unwritten: T,
}

impl<T: Clone + Default> Table<T> {
    /// `len` default values.
    pub fn new(len: usize) -> Table<T> {
        Table { pages: vec![None; len.div_ceil(PAGE)], len, unwritten: T::default() }
    }

    /// Bytes of `len` values of which none is written.
    pub fn unwritten_bytes(len: usize) -> usize {
        len.div_ceil(PAGE) * size_of::<Option<Box<[T]>>>()
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values, written or not.
    pub fn to_vec(&self) -> Vec<T> {
        (0..self.len).map(|index| self[index].clone()).collect()
    }

    /// The values of the parts that something was written to.
    pub fn written_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pages.iter_mut().flatten().flat_map(|page| page.iter_mut())
    }

    #[cold]
    #[inline(never)]
    fn open(page: &mut Option<Box<[T]>>, len: usize) -> &mut Box<[T]> {
        page.insert(vec![T::default(); len].into_boxed_slice())
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        match &self.pages[index / PAGE] {
            Some(page) => &page[index % PAGE],
            None => &self.unwritten,
        }
    }
}

impl<T: Clone + Default> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let number = index / PAGE;
        let page = match &mut self.pages[number] {
            Some(page) => page,
            page => Table::open(page, PAGE.min(self.len - number * PAGE)),
        };
        &mut page[index % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_and_the_others_are_default() {
        for len in [0, 1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 7] {
            let mut table: Table<u64> = Table::new(len);
            let written: Vec<usize> = [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&at| at < len).collect();
            for &at in &written {
                table[at] = 1 + at as u64;
            }
            let expected: Vec<u64> = (0..len).map(|at| if written.contains(&at) { 1 + at as u64 } else { 0 }).collect();
            assert_eq!(table.to_vec(), expected);
            assert_eq!((table.len(), table.is_empty()), (len, len == 0));
        }
    }

    #[test]
    fn a_large_table_takes_memory_for_what_is_written() {
        let mut table: Table<[u64; 4]> = Table::new(1 << 29);
        table[1 << 28] = [7; 4];
        assert_eq!(table[1 << 28], [7; 4]);
        assert_eq!(table[(1 << 28) + 1], [0; 4]);
        assert_eq!(table.pages.iter().flatten().count(), 1);
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn there_is_nothing_beyond_the_end() {
        let _ = Table::<u8>::new(PAGE)[PAGE];
    }
}
