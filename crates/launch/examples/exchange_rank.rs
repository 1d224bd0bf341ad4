//! The rank program of the tests of exchanges: `exchange_rank FIRST LAST ROUNDS` under an mpiexec does the exchanges of
//! the seeds from FIRST to LAST and checks every byte. `exchange_rank lost` loses a rank between begin and end,
//! `exchange_rank describe` says what messages go by.

use std::process::ExitCode;

use weft_comm::{CommError, Communicator, Ends, Persistent, Program, Tag};
use weft_mpi::{Backend, Options};
use weft_polyshift::program::Check;

/// One round with the next rank of a ring, which the last rank does not live to see.
#[derive(Clone)]
struct Lost;

impl Program for Lost {
    type Output = ();

    async fn run<C: Communicator>(self, comm: C) -> Result<(), CommError> {
        let mut messages = Persistent::new(&comm, Tag::User(7), &ring(&comm), false)?;
        for round in 0..3 {
            messages.start()?;
            if round == 1 && comm.rank() + 1 == comm.size() {
                std::process::abort();
            }
            for end in 0..messages.ends().len() {
                messages.send(end)?;
                messages.wait(end).await?;
            }
            messages.finish().await?;
        }
        Ok(())
    }
}

#[derive(Clone)]
struct Describe;

impl Program for Describe {
    type Output = String;

    async fn run<C: Communicator>(self, comm: C) -> Result<String, CommError> {
        Ok(Persistent::new(&comm, Tag::User(7), &ring(&comm), false)?.describe())
    }
}

fn ring<C: Communicator>(comm: &C) -> Vec<Ends> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut peers = vec![(rank + size - 1) % size, (rank + 1) % size];
    peers.sort_unstable();
    peers.dedup();
    peers.retain(|&peer| peer != rank);
    peers.into_iter().map(|peer| Ends { peer, send_bytes: 100, receive_bytes: 100 }).collect()
}

fn play(words: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let backend = Backend::start(Options::of_environment(None)?)?;
    match words {
        [word] if word == "lost" => backend.run(&Lost)?,
        [word] if word == "describe" => {
            let text = backend.run(&Describe)?;
            if backend.rank() == 0 {
                println!("{text}");
            }
        }
        [first, last, rounds] => {
            let seeds = (first.parse()?..=last.parse()?).collect();
            backend.run(&Check { seeds, rounds: rounds.parse()?, plain: false })?;
        }
        _ => return Err("usage: exchange_rank FIRST LAST ROUNDS | lost | describe".into()),
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match play(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("exchange_rank: {error}");
            ExitCode::FAILURE
        }
    }
}
