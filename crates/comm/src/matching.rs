//! The matching of messages and receives: one pure data structure for every backend that matches by itself.
//!
//! The rules are MPI's: a receive takes the earliest message of those it accepts, a message goes to the earliest
//! posted receive that accepts it. Both queues are searched in order; they are short in programs that post what they
//! are about to receive, and their first element needs no memory of its own: a hundred thousand ranks with one posted
//! receive each allocate nothing here.

use std::collections::VecDeque;

use crate::elements::ElementKinds;
use crate::message::Source;
use crate::tag::{CollectiveKind, Tag, TagSelector};

/// What a message is matched by, packed into 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    context: u32,
    source: u32,
    tag: u64,
}

/// What a receive accepts, packed into 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    context: u32,
    source: u32,
    tag: u64,
}

/// Set in the tag of a collective's message; below it the kind and the sequence number.
const COLLECTIVE: u64 = 1 << 63;
const KIND_SHIFT: u32 = 32;
/// What must be equal for tags to match: all but the kind.
const MATCHED: u64 = COLLECTIVE | u32::MAX as u64;
/// Set in the tag of a pattern that accepts any tag of a program.
const ANY_USER: u64 = 1 << 62;
/// Above the tag of a program, what kinds of elements the message has; these bits are not matched.
const ELEMENTS_SHIFT: u32 = 32;
const ELEMENTS: u64 = ((1 << ElementKinds::MAX) - 1) << ELEMENTS_SHIFT;
/// The source of a pattern that accepts any.
const ANY_SOURCE: u32 = u32::MAX;

fn pack(tag: Tag) -> u64 {
    match tag {
        Tag::User(tag) => u64::from(tag),
        Tag::Collective { kind, sequence } => COLLECTIVE | (kind as u64) << KIND_SHIFT | u64::from(sequence),
    }
}

fn unpack(tag: u64) -> Tag {
    match tag & COLLECTIVE {
        0 => Tag::User(tag as u32),
        _ => {
            let kind = CollectiveKind::ALL[(tag >> KIND_SHIFT) as usize & 0xff];
            Tag::Collective { kind, sequence: tag as u32 }
        }
    }
}

#[inline]
fn with_elements(tag: u64, elements: ElementKinds) -> u64 {
    if tag & COLLECTIVE == 0 { tag & !ELEMENTS | u64::from(elements.bits()) << ELEMENTS_SHIFT } else { tag }
}

#[inline]
fn elements_of(tag: u64) -> ElementKinds {
    if tag & COLLECTIVE == 0 {
        ElementKinds::of(((tag & ELEMENTS) >> ELEMENTS_SHIFT) as u32)
    } else {
        ElementKinds::UNKNOWN
    }
}

impl Envelope {
    /// Of a message on the communicator that its backend numbers `context`, from `source`, a rank of it.
    pub fn new(context: u32, source: usize, tag: Tag) -> Envelope {
        Envelope { context, source: source as u32, tag: pack(tag) }
    }

    /// The same message, made of these elements; those of a collective's message are not kept.
    #[inline]
    pub fn with_elements(self, elements: ElementKinds) -> Envelope {
        Envelope { tag: with_elements(self.tag, elements), ..self }
    }

    #[inline]
    pub fn elements(&self) -> ElementKinds {
        elements_of(self.tag)
    }

    /// The sender's rank within the communicator.
    pub fn source(&self) -> usize {
        self.source as usize
    }

    pub fn tag(&self) -> Tag {
        unpack(self.tag)
    }
}

impl Pattern {
    /// Of a receive on the communicator that its backend numbers `context`.
    pub fn new(context: u32, source: Source, tag: TagSelector) -> Pattern {
        let source = match source {
            Source::Rank(rank) => rank as u32,
            Source::Any => ANY_SOURCE,
        };
        let tag = match tag {
            TagSelector::Only(tag) => pack(tag),
            TagSelector::AnyUser => ANY_USER,
        };
        Pattern { context, source, tag }
    }

    /// The same receive, into these elements; those of a collective's message are not kept.
    #[inline]
    pub fn with_elements(self, elements: ElementKinds) -> Pattern {
        Pattern { tag: with_elements(self.tag, elements), ..self }
    }

    #[inline]
    pub fn elements(&self) -> ElementKinds {
        elements_of(self.tag)
    }

    pub fn source(&self) -> Source {
        match self.source {
            ANY_SOURCE => Source::Any,
            rank => Source::Rank(rank as usize),
        }
    }

    pub fn tag(&self) -> TagSelector {
        if self.accepts_any_user() { TagSelector::AnyUser } else { TagSelector::Only(unpack(self.tag)) }
    }

    #[inline]
    fn accepts_any_user(&self) -> bool {
        self.tag & (COLLECTIVE | ANY_USER) == ANY_USER
    }

    /// Whether a message of any rank may be taken.
    pub fn is_wildcard(&self) -> bool {
        self.source == ANY_SOURCE
    }

    /// Whether a message that was taken is of the same collective, where the pattern names one: ranks that meet in
    /// different collectives have gone wrong.
    #[inline]
    pub fn meets(&self, envelope: &Envelope) -> bool {
        self.tag & COLLECTIVE == 0 || self.tag == envelope.tag
    }

    /// Whether a receive with this pattern takes a message with `envelope`.
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        let tags = if self.accepts_any_user() {
            envelope.tag & COLLECTIVE == 0
        } else {
            (self.tag ^ envelope.tag) & MATCHED == 0
        };
        self.context == envelope.context && (self.source == ANY_SOURCE || self.source == envelope.source) && tags
    }
}

/// The posted receives and the unexpected messages of one rank.
///
/// `R` is a backend's handle of a receive, `M` its handle of a message.
///
/// # Examples
/// ```
/// use weft_comm::matching::{Envelope, MatchQueues, Pattern};
/// use weft_comm::{Source, Tag, TagSelector};
///
/// let mut queues = MatchQueues::default();
/// // Nobody waits for either message, so both are kept.
/// assert!(queues.deliver(Envelope::new(0, 3, Tag::User(1)), "first").is_none());
/// assert!(queues.deliver(Envelope::new(0, 3, Tag::User(1)), "second").is_none());
/// // A receive takes the oldest that it accepts.
/// let (envelope, message, _) = queues.post(Pattern::new(0, Source::Any, TagSelector::AnyUser), "receive").unwrap();
/// assert_eq!((envelope.source(), message), (3, "first"));
/// ```
#[derive(Clone, Debug)]
pub struct MatchQueues<R, M> {
    posted: Queue<(Pattern, R)>,
    unexpected: Queue<(Envelope, M)>,
}

impl<R, M> Default for MatchQueues<R, M> {
    fn default() -> MatchQueues<R, M> {
        MatchQueues { posted: Queue::default(), unexpected: Queue::default() }
    }
}

impl<R, M> MatchQueues<R, M> {
    /// A message is here: takes the earliest posted receive that accepts it out of the queue, or keeps the message and
    /// returns `None`.
    #[inline]
    pub fn deliver(&mut self, envelope: Envelope, message: M) -> Option<(R, M)> {
        let position = self.posted.iter().position(|(pattern, _)| pattern.accepts(&envelope));
        match position {
            Some(index) => self.posted.take(index).map(|(_, receive)| (receive, message)),
            None => {
                self.unexpected.push((envelope, message));
                None
            }
        }
    }

    /// A receive is posted: takes the earliest message it accepts out of the queue, or keeps the receive and returns
    /// `None`.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, receive: R) -> Option<(Envelope, M, R)> {
        let position = self.unexpected.iter().position(|(envelope, _)| pattern.accepts(envelope));
        match position {
            Some(index) => self.unexpected.take(index).map(|(envelope, message)| (envelope, message, receive)),
            None => {
                self.posted.push((pattern, receive));
                None
            }
        }
    }

    /// The earliest message that a receive with this pattern would take; it stays.
    pub fn probe(&self, pattern: &Pattern) -> Option<&(Envelope, M)> {
        self.unexpected.iter().find(|(envelope, _)| pattern.accepts(envelope))
    }

    /// Keeps a message without offering it to the posted receives.
    pub fn keep(&mut self, envelope: Envelope, message: M) {
        self.unexpected.push((envelope, message));
    }

    /// Keeps a receive without looking for a message.
    pub fn keep_posted(&mut self, pattern: Pattern, receive: R) {
        self.posted.push((pattern, receive));
    }

    /// Takes the posted receive at `index`.
    ///
    /// # Panics
    /// When there is none.
    pub fn take_posted(&mut self, index: usize) -> (Pattern, R) {
        self.posted.take(index).expect("a posted receive at this place")
    }

    /// Takes the unexpected message at `index`.
    ///
    /// # Panics
    /// When there is none.
    pub fn take_unexpected(&mut self, index: usize) -> (Envelope, M) {
        self.unexpected.take(index).expect("an unexpected message at this place")
    }

    /// Posted receives, earliest first.
    pub fn posted(&self) -> impl Iterator<Item = &(Pattern, R)> {
        self.posted.iter()
    }

    /// Unexpected messages, earliest first.
    pub fn unexpected(&self) -> impl Iterator<Item = &(Envelope, M)> {
        self.unexpected.iter()
    }
}

/// A queue whose first element lies within it.
#[derive(Clone, Debug)]
struct Queue<T> {
    first: Option<T>,
    /// Nothing when there is no first; boxed, because few ranks of many need it and the rank is to be small.
    #[expect(clippy::box_collection)]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { first: None, rest: None }
    }
}

impl<T> Queue<T> {
    #[inline]
    fn push(&mut self, element: T) {
        match self.first {
            None => self.first = Some(element),
            Some(_) => self.rest.get_or_insert_default().push_back(element),
        }
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }

    #[inline]
    fn take(&mut self, index: usize) -> Option<T> {
        if index > 0 {
            return self.rest.as_mut()?.remove(index - 1);
        }
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.first, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tags() -> impl Strategy<Value = Tag> {
        let kind = proptest::sample::select(CollectiveKind::ALL.to_vec());
        prop_oneof![
            (0..3u32).prop_map(Tag::User),
            (kind, 0..2u32).prop_map(|(kind, sequence)| Tag::Collective { kind, sequence })
        ]
    }

    fn sources() -> impl Strategy<Value = Source> {
        prop_oneof![(0..3usize).prop_map(Source::Rank), Just(Source::Any)]
    }

    fn selectors() -> impl Strategy<Value = TagSelector> {
        prop_oneof![tags().prop_map(TagSelector::Only), Just(TagSelector::AnyUser)]
    }

    #[derive(Clone, Debug)]
    enum Step {
        Post(u32, Source, TagSelector),
        Deliver(u32, usize, Tag),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let post = (0..2u32, sources(), selectors()).prop_map(|(c, s, t)| Step::Post(c, s, t));
        let deliver = (0..2u32, 0..3usize, tags()).prop_map(|(c, s, t)| Step::Deliver(c, s, t));
        proptest::collection::vec(prop_oneof![post, deliver], 0..60)
    }

    proptest! {
        #[test]
        fn packing_keeps_tags_sources_and_their_matching(
            tag in tags(), selector in selectors(), source in sources(), sent in 0..1u32 << 29, received in 0..1u32 << 29,
        ) {
            let (sent, received) = (ElementKinds::of(sent), ElementKinds::of(received));
            let envelope = Envelope::new(7, 1, tag).with_elements(sent);
            let pattern = Pattern::new(7, source, selector).with_elements(received);
            let user = |is_user: bool, kinds| if is_user { kinds } else { ElementKinds::UNKNOWN };
            prop_assert_eq!(envelope.elements(), user(matches!(tag, Tag::User(_)), sent));
            let of_user = matches!(selector, TagSelector::AnyUser | TagSelector::Only(Tag::User(_)));
            prop_assert_eq!(pattern.elements(), user(of_user, received));
            prop_assert_eq!((envelope.source(), envelope.tag()), (1, tag));
            prop_assert_eq!((pattern.source(), pattern.tag()), (source, selector));
            prop_assert_eq!(pattern.accepts(&envelope), source.accepts(1) && selector.accepts(tag));
            prop_assert!(!pattern.accepts(&Envelope::new(8, 1, tag)));
            if pattern.accepts(&envelope) {
                let kinds = (selector, tag);
                let same = !matches!(kinds, (TagSelector::Only(Tag::Collective { kind: a, .. }), Tag::Collective { kind: b, .. }) if a != b);
                prop_assert_eq!(pattern.meets(&envelope), same);
            }
        }

        /// Against two plain lists searched by the rules as MPI states them.
        #[test]
        fn queues_match_as_plain_lists_do(steps in steps()) {
            let mut queues: MatchQueues<usize, usize> = MatchQueues::default();
            let mut posted: Vec<(u32, Source, TagSelector, usize)> = Vec::new();
            let mut unexpected: Vec<(u32, usize, Tag, usize)> = Vec::new();
            for (id, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Post(context, source, tag) => {
                        let position = unexpected.iter().position(|m| m.0 == context && source.accepts(m.1) && tag.accepts(m.2));
                        let expected = position.map(|index| unexpected.remove(index).3);
                        if expected.is_none() {
                            posted.push((context, source, tag, id));
                        }
                        let got = queues.post(Pattern::new(context, source, tag), id);
                        prop_assert_eq!(got.map(|(_, message, _)| message), expected);
                    }
                    Step::Deliver(context, source, tag) => {
                        let position = posted.iter().position(|r| r.0 == context && r.1.accepts(source) && r.2.accepts(tag));
                        let expected = position.map(|index| posted.remove(index).3);
                        if expected.is_none() {
                            unexpected.push((context, source, tag, id));
                        }
                        let got = queues.deliver(Envelope::new(context, source, tag), id);
                        prop_assert_eq!(got.map(|(receive, _)| receive), expected);
                    }
                }
                prop_assert_eq!(queues.posted().count(), posted.len());
                prop_assert_eq!(queues.unexpected().count(), unexpected.len());
            }
        }
    }
}
