//! Costs of messages as estimates of several times: what a machine takes undisturbed, and what it takes typically.

use std::fmt;

use crate::description::{Alternative, Estimand, Machine};

impl Estimand {
    pub const ALL: [Estimand; 2] = [Estimand::Undisturbed, Estimand::Typical];

    /// The word for it in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Estimand::Undisturbed => "undisturbed",
            Estimand::Typical => "typical",
        }
    }
}

impl fmt::Display for Estimand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A machine whose file has no estimate of the times that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file of {machine} has no estimate of {asked} times: {}", known(*.stated))]
pub struct EstimandError {
    pub machine: String,
    pub asked: Estimand,
    /// Which times its figures are estimates of, if the file says so.
    pub stated: Option<Estimand>,
}

fn known(stated: Option<Estimand>) -> String {
    match stated {
        Some(stated) => format!("its costs of messages are estimates of {stated} times alone"),
        None => {
            "it does not say of which times its costs of messages are (estimand = \"undisturbed\" or \"typical\"), \
                 and it can be used without choosing"
                .to_owned()
        }
    }
}

impl Machine {
    /// The estimands of the costs of its messages: that of the machine as it is first.
    pub fn estimands(&self) -> Vec<Estimand> {
        self.estimand.into_iter().chain(self.alternative.as_ref().map(|other| other.estimand)).collect()
    }

    /// The same machine with the costs of messages that are estimates of these times; those that it had are then its
    /// alternative.
    ///
    /// # Errors
    /// If its file has no such estimate.
    ///
    /// # Examples
    /// ```
    /// use weft_machine::{Estimand, find};
    ///
    /// let error = find("ipsc860").unwrap().with_estimand(Estimand::Typical).unwrap_err();
    /// assert!(error.to_string().starts_with("the file of ipsc860 has no estimate of typical times"));
    /// ```
    pub fn with_estimand(&self, estimand: Estimand) -> Result<Machine, EstimandError> {
        let mut machine = self.clone();
        match (self.estimand, machine.alternative.take()) {
            (Some(own), _) if own == estimand => Ok(self.clone()),
            (Some(own), Some(other)) if other.estimand == estimand => {
                machine.estimand = Some(estimand);
                machine.alternative = Some(Box::new(Alternative {
                    estimand: own,
                    protocols: std::mem::replace(&mut machine.protocols, other.protocols),
                    self_message: std::mem::replace(&mut machine.self_message, other.self_message),
                    host: other.host.and_then(|host| machine.host.replace(host)),
                }));
                Ok(machine)
            }
            (stated, _) => Err(EstimandError { machine: self.name.clone(), asked: estimand, stated }),
        }
    }
}
