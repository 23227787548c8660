//! The values of `--exchange`.

use clap::ValueEnum;
use pgsluice::job::ExchangeMode;

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
