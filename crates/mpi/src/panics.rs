//! Panics of programs as messages.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `f`; when it panics, the message and the place, and nothing is printed. Panics of other threads are shown as
/// ever.
///
/// The hook for panics belongs to the process, so it is put back afterwards. A process is one rank and runs one program
/// at a time.
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    let message: Arc<Mutex<Option<String>>> = Arc::default();
    let previous: Arc<dyn Fn(&PanicHookInfo<'_>) + Send + Sync> = Arc::from(take_hook());
    let (slot, others, thread) = (message.clone(), previous.clone(), std::thread::current().id());
    set_hook(Box::new(move |info| {
        if std::thread::current().id() == thread {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(describe(info));
        } else {
            others(info);
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(f));
    drop(take_hook());
    set_hook(Box::new(move |info| previous(info)));
    outcome.map_err(|_| {
        let message = message.lock().unwrap_or_else(PoisonError::into_inner).take();
        message.unwrap_or_else(|| "without a message".to_owned())
    })
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without text");
    info.location()
        .map_or_else(|| text.to_owned(), |location| format!("{text} ({}:{})", location.file(), location.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gives_its_message_and_its_place() {
        assert_eq!(catch(|| 3), Ok(3));
        let message = catch(|| panic!("no {}", "luck")).unwrap_err();
        assert!(message.starts_with("no luck (") && message.contains("panics.rs:"), "{message}");
    }
}
