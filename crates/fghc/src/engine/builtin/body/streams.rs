//! Operations on files: what programs read and write.

use super::byte;
use crate::builtins::BodyBuiltin;
use crate::engine::Engine;
use crate::engine::builtin::files::Access;
use crate::engine::builtin::{Done, is_object};
use crate::engine::unify::string_bytes;
use crate::heap::{Kind, Word};
use crate::ir::atoms;

impl Engine {
    pub(super) fn written(&mut self, builtin: BodyBuiltin, result: Result<(), String>) -> Done {
        match result {
            Ok(()) => Done::Yes,
            Err(message) => {
                let message = format!("{}: {message}", builtin.name().trim_start_matches('$'));
                self.fails(message)
            }
        }
    }

    pub(super) fn stream(&mut self, builtin: BodyBuiltin, values: &[Word]) -> Done {
        use BodyBuiltin::*;
        let zero = Word::small(0);
        if builtin == Open {
            return self.open(values);
        }
        if !values[0].is_integer() {
            return self.wrong(builtin, "a handle", values[0]);
        }
        let handle = values[0].value();
        let (target, result) = match builtin {
            Put => {
                let written = if is_object(values[1], Kind::String) {
                    // SAFETY: a string of this heap.
                    self.files.put(handle, unsafe { string_bytes(values[1].pointer()) })
                } else if let Some(byte) = byte(values[1]) {
                    self.files.put(handle, &[byte])
                } else {
                    return self.wrong(builtin, "a string or a byte", values[1]);
                };
                (values[2], written.map(|()| zero))
            }
            PutTerm => {
                if !self.ground(values[1]) {
                    return self.undecided_yet();
                }
                let quoted = values[2] == Word::small(1);
                let Some(text) = self.whole_text(values[1], quoted) else { return Done::Problem };
                (values[3], self.files.put(handle, text.as_bytes()).map(|()| zero))
            }
            Get => {
                let got = self.files.get(handle, 1);
                (values[1], got.map(|bytes| Word::small(bytes.first().map_or(-1, |byte| i64::from(*byte)))))
            }
            Unget => {
                let Some(byte) = byte(values[1]) else { return self.wrong(builtin, "a byte, 0 to 255", values[1]) };
                self.charge(2);
                (values[2], self.files.unget(handle, byte).map(|()| zero))
            }
            Read => {
                let most = match self.size_wanted(builtin, values[1]) {
                    Ok(most) => most,
                    Err(done) => return done,
                };
                // Room first: what is read cannot be given back.
                if !self.has_space(2 + most / 8) {
                    return Done::NeedsWords(2 + most / 8);
                }
                let string = match self.files.get(handle, most) {
                    Ok(bytes) => Ok(self.new_string(&bytes)),
                    Err(message) => Err(message),
                };
                (values[2], string)
            }
            AtEnd => (values[1], self.files.at_end(handle).map(|end| Word::small(i64::from(end)))),
            Flush => (values[1], self.files.flush_one(handle).map(|()| zero)),
            _ => (values[1], self.files.close(handle).map(|()| zero)),
        };
        match result {
            Ok(value) => self.give(target, value),
            Err(message) => self.written(builtin, Err(message)),
        }
    }

    fn open(&mut self, values: &[Word]) -> Done {
        if !is_object(values[0], Kind::String) {
            return self.wrong(BodyBuiltin::Open, "a string as path", values[0]);
        }
        let access = [(atoms::READ, Access::Read), (atoms::WRITE, Access::Write), (atoms::APPEND, Access::Append)];
        let Some((_, access)) = access.iter().find(|(atom, _)| values[1] == Word::atom(atom.0)) else {
            return self.wrong(BodyBuiltin::Open, "read, write or append", values[1]);
        };
        // SAFETY: a string of this heap.
        let path = unsafe { String::from_utf8_lossy(string_bytes(values[0].pointer())).into_owned() };
        let handle = self.files.open(&path, *access).map_or(-1, |handle| handle as i64);
        self.give(values[2], Word::small(handle))
    }
}
