//! How phases of an exchange follow one another.

/// When a phase of an exchange begins, in a plan and on the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// When all has arrived of the phase before it, and its connections are switched.
    #[default]
    Switched,
    /// When all has arrived of the phase before it, whose connections are still open: nothing is switched. So transfers wait
    /// for others of their phase.
    Arrived,
    /// When all is sent of the phase before it, whose connections are still open.
    Sent,
}
