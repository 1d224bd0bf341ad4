//! Shifts of arrays of any rank: circular and end-off, several at once.
