//! What a shift of slabs is: where its bytes come from and where they go.

/// One shift of one source into one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlabShift {
    /// Which of the inputs is shifted.
    pub source: usize,
    /// Which of the outputs it goes to.
    pub target: usize,
    /// Bytes of a slab; divides the length of the arrays.
    pub slab: usize,
    /// How far, in bytes of a slab and towards lower addresses if not `upwards`; at most the slab.
    pub distance: usize,
    /// Towards higher addresses.
    pub upwards: bool,
    /// What comes in.
    pub edge: SlabEdge,
}

/// What a shift brings in at the edge of a slab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlabEdge {
    /// What went out at the other edge.
    Circular,
    /// An element of `item` bytes again and again; an input holds `bytes` of it, a whole number of elements.
    Fill { input: usize, bytes: usize, item: usize },
    /// Rows of an input, one for each slab, repeated until the distance is filled.
    Rows { input: usize, bytes: usize },
}

/// Inputs and outputs of a run: where they start. All sources and outputs are `length` bytes long.
#[derive(Clone, Copy)]
pub struct Buffers<'a> {
    pub inputs: &'a [*const u8],
    pub outputs: &'a [*mut u8],
    pub length: usize,
}

// SAFETY: the pointers are used as `slabs::run` is told they may be, from whichever thread.
unsafe impl Send for Buffers<'_> {}
// SAFETY: the pointers are used by `slabs::run` only, under whose conditions no two threads write the same byte.
unsafe impl Sync for Buffers<'_> {}

/// A run of bytes of an output: which input it comes from, where it starts there, how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub input: usize,
    pub offset: usize,
    pub length: usize,
}

/// What the output of a shift consists of, from its first byte to its last.
pub fn pieces(shift: &SlabShift, length: usize) -> Vec<Piece> {
    let mut all = Vec::new();
    let kept = Piece {
        input: shift.source,
        offset: if shift.upwards { 0 } else { shift.distance },
        length: shift.slab - shift.distance,
    };
    for start in (0..length).step_by(shift.slab.max(1)) {
        let at = |piece: Piece| Piece { offset: piece.offset + start, ..piece };
        if shift.upwards {
            incoming(shift, start, &mut all);
            all.push(at(kept));
        } else {
            all.push(at(kept));
            incoming(shift, start, &mut all);
        }
    }
    all.retain(|piece| piece.length > 0);
    all
}

fn incoming(shift: &SlabShift, start: usize, all: &mut Vec<Piece>) {
    let (input, offset, bytes) = match shift.edge {
        SlabEdge::Circular => {
            let offset = if shift.upwards { start + shift.slab - shift.distance } else { start };
            return all.push(Piece { input: shift.source, offset, length: shift.distance });
        }
        SlabEdge::Fill { input, bytes, .. } => (input, 0, bytes),
        SlabEdge::Rows { input, bytes } => (input, start / shift.slab * bytes, bytes),
    };
    let mut left = shift.distance;
    while left > 0 {
        let length = left.min(bytes);
        all.push(Piece { input, offset, length });
        left -= length;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What `pieces` says, done byte by byte.
    pub fn by_pieces(shift: &SlabShift, inputs: &[Vec<u8>], length: usize) -> Vec<u8> {
        let mut output = Vec::new();
        for piece in pieces(shift, length) {
            output.extend_from_slice(&inputs[piece.input][piece.offset..piece.offset + piece.length]);
        }
        output
    }
}
