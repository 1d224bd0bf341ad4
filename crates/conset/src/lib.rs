//! Connection sets: a communication compiler that turns connections into phases, routes and times, the verifier of
//! what it makes, and the programs that run a schedule.
