//! Unification: active in bodies, passive in guards, and the standard order of values.

use std::cmp::Ordering;

use super::Engine;
use super::array::{Cells, elements};
use super::interpret::Answer;
use super::walk::{Meeting, Walk};
use crate::heap::word::{ATOM, INT, LIST, OBJECT, REF, dereference};
use crate::heap::{Kind, Word};

/// Parts of a value that count for its hash.
const HASHED: usize = 1 << 20;

/// Bytes of a string.
///
/// # Safety
/// `header` opens a string; the bytes live as long as nothing is collected.
pub unsafe fn string_bytes<'a>(header: *mut Word) -> &'a [u8] {
    // SAFETY: `header` opens a string (this function's condition): its payload is the number of bytes, which lie packed
    // in the words behind it.
    unsafe { std::slice::from_raw_parts(header.add(1).cast(), (*header).payload() as usize) }
}

/// Number in a float.
///
/// # Safety
/// `header` opens a float.
pub unsafe fn float_value(header: *mut Word) -> f64 {
    // SAFETY: `header` opens a float (this function's condition): the word behind it holds the bits of the number.
    unsafe { f64::from_bits((*header.add(1)).0) }
}

/// Whether two objects without cells are equal.
unsafe fn equal_without_cells(left: *mut Word, right: *mut Word) -> bool {
    // SAFETY: both are headers of objects of this heap of one kind (this function's condition), and what is read is
    // what that kind has behind its header.
    unsafe {
        match Kind::of(*left) {
            Kind::String => string_bytes(left) == string_bytes(right),
            Kind::Float => float_value(left) == float_value(right),
            _ => true,
        }
    }
}

/// Cells of a list or object. None in strings, floats and predicates.
///
/// # Safety
/// `value` is a list or object of a live heap.
pub(super) unsafe fn cells(value: Word) -> Cells {
    // SAFETY: the value is a list or an object of this heap (this function's condition): two cells, or a header that
    // says how many cells follow.
    unsafe {
        if value.tag() == LIST {
            return Cells::new(value.pointer(), 2);
        }
        let header = value.pointer();
        match Kind::of(*header) {
            Kind::Structure => Cells::new(header.add(1), (*header).arity()),
            Kind::Vector | Kind::Array => elements(header),
            _ => Cells::new(header, 0),
        }
    }
}

/// Whether two objects are of one kind, name and size; a vector may be of either kind.
unsafe fn alike(left: *mut Word, right: *mut Word) -> bool {
    // SAFETY: both are headers of objects of this heap (this function's condition).
    unsafe {
        let is_vector = |header: Word| matches!(Kind::of(header), Kind::Vector | Kind::Array);
        let (left, right) = (*left, *right);
        left == right || is_vector(left) && is_vector(right) && left.payload() == right.payload()
    }
}

impl Engine {
    /// Active unification: makes both equal by binding variables; false when they cannot be, or when [`Engine::problem`]
    /// says why it ended before. Cyclic values are rational trees: equal where nothing on any path differs.
    pub(crate) fn unify(&mut self, left: Word, right: Word) -> bool {
        // SAFETY: both are values of this heap, and nothing is collected meanwhile.
        unsafe {
            if let Some(done) = self.unify_top(left, right) {
                return done;
            }
            let mut walk = Walk::equality(self);
            walk.push(left, right);
            while let Some((left, right)) = walk.pop() {
                match self.unify_top(left, right) {
                    Some(true) => {}
                    Some(false) => return false,
                    None => {
                        let (left, right) = (dereference(left), dereference(right));
                        match walk.meet(self, left, right) {
                            Meeting::Known => {}
                            Meeting::Stop => return false,
                            Meeting::New => walk.push_cells(cells(left), cells(right)),
                        }
                    }
                }
            }
            true
        }
    }

    /// Unifies as far as cells need not be compared; `None` when they must be.
    unsafe fn unify_top(&mut self, left: Word, right: Word) -> Option<bool> {
        // SAFETY: both are values of this heap (this function's condition), so that after dereferencing REF leads to an
        // unbound cell and OBJECT to a header.
        unsafe {
            let left = dereference(left);
            let right = dereference(right);
            if left == right {
                return Some(true);
            }
            match (left.tag(), right.tag()) {
                (REF, REF) => {
                    self.bind_variables(left.pointer(), right.pointer());
                    Some(true)
                }
                (REF, _) => {
                    self.bind(left.pointer(), right);
                    Some(true)
                }
                (_, REF) => {
                    self.bind(right.pointer(), left);
                    Some(true)
                }
                (LIST, LIST) => None,
                (OBJECT, OBJECT) => {
                    let (left, right) = (left.pointer(), right.pointer());
                    if !alike(left, right) {
                        Some(false)
                    } else if matches!(Kind::of(*left), Kind::Structure | Kind::Vector | Kind::Array) {
                        None
                    } else {
                        Some(equal_without_cells(left, right))
                    }
                }
                _ => Some(false),
            }
        }
    }

    /// Passive unification: whether both are equal as they are. Notes the variables that keep it open.
    pub(crate) fn same(&mut self, left: Word, right: Word) -> Answer {
        let noted = self.registers.noted_count;
        let mut open = false;
        let mut walk = Walk::equality(self);
        walk.push(left, right);
        // SAFETY: both are values of this heap, and nothing is collected meanwhile.
        unsafe {
            while let Some((left, right)) = walk.pop() {
                let left = dereference(left);
                let right = dereference(right);
                if left == right {
                    continue;
                }
                if left.is_variable() || right.is_variable() {
                    open = true;
                    self.note_both(left, right);
                    continue;
                }
                let comparable = match (left.tag(), right.tag()) {
                    (LIST, LIST) => true,
                    (OBJECT, OBJECT) => {
                        alike(left.pointer(), right.pointer()) && equal_without_cells(left.pointer(), right.pointer())
                    }
                    _ => false,
                };
                if !comparable {
                    self.registers.noted_count = noted;
                    return Answer::False;
                }
                match walk.meet(self, left, right) {
                    Meeting::Known => {}
                    Meeting::Stop => return Answer::Problem,
                    Meeting::New => walk.push_cells(cells(left), cells(right)),
                }
            }
        }
        if open { Answer::Unbound } else { Answer::True }
    }

    /// The standard order of two values: integer, float, atom, string, list, structure, vector, predicate. `None` when
    /// a variable that was noted keeps it open, or with a problem.
    pub(crate) fn order(&mut self, left: Word, right: Word) -> Option<Ordering> {
        let mut walk = Walk::ordered(self);
        walk.push(left, right);
        // SAFETY: both are values of this heap, and nothing is collected meanwhile.
        unsafe {
            while let Some((left, right)) = walk.pop() {
                let left = dereference(left);
                let right = dereference(right);
                if left == right {
                    continue;
                }
                if left.is_variable() || right.is_variable() {
                    self.note_both(left, right);
                    return None;
                }
                let order = rank(left).cmp(&rank(right)).then_with(|| self.order_of_one_rank(left, right));
                if order != Ordering::Equal {
                    return Some(order);
                }
                if !matches!(left.tag(), LIST | OBJECT) {
                    continue;
                }
                match walk.meet(self, left, right) {
                    Meeting::Known => {}
                    Meeting::Stop => return None,
                    Meeting::New => walk.push_cells(cells(left), cells(right)),
                }
            }
        }
        Some(Ordering::Equal)
    }

    /// Order of two values of one rank, cells aside.
    unsafe fn order_of_one_rank(&self, left: Word, right: Word) -> Ordering {
        match left.tag() {
            INT => left.value().cmp(&right.value()),
            ATOM => {
                let atoms = self.atoms();
                let name = |word: Word| atoms.name(crate::ir::AtomId(word.atom_number()));
                name(left).cmp(name(right))
            }
            // SAFETY: both are objects of this heap (this function's condition, and the tag), of one kind as their
            // ranks are equal, and what is read is what that kind has behind its header.
            OBJECT => unsafe {
                let (a, b) = (left.pointer(), right.pointer());
                match Kind::of(*a) {
                    Kind::Float => float_value(a).total_cmp(&float_value(b)),
                    Kind::String => string_bytes(a).cmp(string_bytes(b)),
                    Kind::Structure => (*a).arity().cmp(&(*b).arity()).then_with(|| {
                        let atoms = self.atoms();
                        let name = |word: Word| atoms.name(crate::ir::AtomId(word.name()));
                        name(*a).cmp(name(*b))
                    }),
                    _ => (*a).payload().cmp(&(*b).payload()),
                }
            },
            _ => Ordering::Equal,
        }
    }

    /// An integer from 0 that is equal for equal values; `None` when a variable that was noted keeps it open, or with a
    /// problem. Of a value with more than [`HASHED`] parts only the first count: two cyclic values may be equal though one
    /// comes round sooner, and what follows from equal paths is all that they have in common.
    pub(crate) fn hash(&mut self, value: Word) -> Option<i64> {
        use std::hash::Hasher;
        // Names, not numbers of atoms: the same on every rank.
        let mut hasher = rustc_hash::FxHasher::default();
        let mut walk = Walk::ordered(self);
        walk.push(value, Word::NIL);
        let mut parts = 0;
        // SAFETY: a value of this heap, and nothing is collected meanwhile.
        unsafe {
            while let Some((value, _)) = walk.pop() {
                parts += 1;
                if parts > HASHED {
                    break;
                }
                let value = dereference(value);
                match value.tag() {
                    REF => {
                        self.registers.note(value);
                        return None;
                    }
                    INT => hasher.write_i64(value.value()),
                    ATOM => hasher.write(self.atoms().name(crate::ir::AtomId(value.atom_number())).as_bytes()),
                    LIST => hasher.write_u8(1),
                    _ => {
                        let header = value.pointer();
                        match Kind::of(*header) {
                            Kind::String => hasher.write(string_bytes(header)),
                            // 0.0 and -0.0 are equal.
                            Kind::Float => hasher.write_u64((float_value(header) + 0.0).to_bits()),
                            Kind::Structure => {
                                hasher.write(self.atoms().name(crate::ir::AtomId((*header).name())).as_bytes());
                                hasher.write_usize((*header).arity());
                            }
                            _ => hasher.write_u64((*header).payload()),
                        }
                    }
                }
                if matches!(value.tag(), LIST | OBJECT) {
                    walk.push_cells(cells(value), cells(value));
                }
            }
        }
        self.spend(parts);
        Some((hasher.finish() >> 5) as i64)
    }

    /// Whether a value has no variables; notes the first it meets. False with a problem, too.
    pub(crate) fn ground(&mut self, value: Word) -> bool {
        let mut walk = Walk::ordered(self);
        walk.push(value, value);
        // SAFETY: a value of this heap, and nothing is collected meanwhile.
        unsafe {
            while let Some((value, _)) = walk.pop() {
                let value = dereference(value);
                match value.tag() {
                    REF => {
                        self.registers.note(value);
                        return false;
                    }
                    LIST | OBJECT => match walk.meet(self, value, value) {
                        Meeting::Known => {}
                        Meeting::Stop => return false,
                        Meeting::New => walk.push_cells(cells(value), cells(value)),
                    },
                    _ => {}
                }
            }
        }
        true
    }
}

unsafe fn rank(value: Word) -> u8 {
    match value.tag() {
        INT => 0,
        ATOM => 2,
        LIST => 4,
        // SAFETY: a value of this heap that is bound (this function's condition) and neither integer, atom nor list is
        // an object, whose pointer is that of a header.
        _ => match unsafe { Kind::of(*value.pointer()) } {
            Kind::Float => 1,
            Kind::String => 3,
            Kind::Structure => 5,
            Kind::Vector | Kind::Array => 6,
            _ => 7,
        },
    }
}
