//! Objects by their handles.

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use slab::Slab;

/// Objects of one kind that a rank has made.
#[derive(Debug)]
pub struct Table<T> {
    kind: u32,
    /// Handles below this index are predefined.
    first: usize,
    objects: RefCell<Slab<Rc<T>>>,
}

impl<T> Table<T> {
    pub fn new(kind: u32) -> Table<T> {
        Table::starting_at(kind, 0)
    }

    pub fn starting_at(kind: u32, first: usize) -> Table<T> {
        Table { kind, first, objects: RefCell::new(Slab::new()) }
    }

    fn base(&self) -> u32 {
        0x8000_0000 | (self.kind << 26)
    }

    fn index(&self, handle: c_int) -> Option<usize> {
        let index = (handle as u32).checked_sub(self.base())? as usize;
        (index < 1 << 26).then_some(index)?.checked_sub(self.first)
    }

    pub fn insert(&self, object: T) -> c_int {
        self.insert_shared(Rc::new(object))
    }

    pub fn insert_shared(&self, object: Rc<T>) -> c_int {
        let index = self.objects.borrow_mut().insert(object) + self.first;
        (self.base() | index as u32) as c_int
    }

    pub fn get(&self, handle: c_int) -> Option<Rc<T>> {
        self.objects.borrow().get(self.index(handle)?).cloned()
    }

    pub fn remove(&self, handle: c_int) -> Option<Rc<T>> {
        let index = self.index(handle)?;
        self.objects.borrow_mut().try_remove(index)
    }

    /// Whether all objects are so.
    pub fn all(&self, holds: impl Fn(&T) -> bool) -> bool {
        self.objects.borrow().iter().all(|(_, object)| holds(object))
    }

    /// The first object that is so.
    pub fn find(&self, holds: impl Fn(&T) -> bool) -> Option<Rc<T>> {
        self.objects.borrow().iter().map(|(_, object)| object).find(|object| holds(object)).cloned()
    }

    /// How many objects are so.
    pub fn count(&self, holds: impl Fn(&T) -> bool) -> usize {
        self.objects.borrow().iter().filter(|(_, object)| holds(object)).count()
    }

    /// Objects that were not freed.
    pub fn len(&self) -> usize {
        self.objects.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
