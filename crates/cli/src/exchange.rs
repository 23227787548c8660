//! The values of `--exchange`.

use clap::ValueEnum;
use pgsluice::job::ExchangeMode;
use serde::Deserializer;

use crate::spec::{find_value, parsed};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExchangeName {
    Try,
    Require,
    Replace,
}

impl From<ExchangeName> for ExchangeMode {
    fn from(name: ExchangeName) -> Self {
        match name {
            ExchangeName::Try => Self::Try,
            ExchangeName::Require => Self::Require,
            ExchangeName::Replace => Self::Replace,
        }
    }
}

/// Reads a value of `exchange`. `true` means the option without a value.
pub(crate) fn exchange<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<ExchangeName>, D::Error> {
    parsed(from, |text| match text {
        "true" => Ok(ExchangeName::Try),
        name => find_value(name),
    })
}
