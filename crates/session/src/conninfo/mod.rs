//! The connection target, gathered like libpq does: the connection string, then psql's options, then the service
//! file, then `PG*` variables, then the defaults. Each source sets only options that the previous ones left
//! open.
//!
//! `keywords` lists the options, and `settings` holds the options of one source. `parse` and `url` read
//! connection strings, `service` and `passfile` read files, and `environment` is the process's environment.
//! `endpoint`, `config`, `liveness` and `sslmode` check and translate options, and [`Target`] is the result.
//! This is our own because no library reads all of libpq's sources.

mod config;
mod endpoint;
mod environment;
mod keywords;
mod liveness;
mod parse;
mod passfile;
mod service;
mod settings;
mod sslmode;
mod target;
#[cfg(test)]
mod tests;
mod url;

pub(super) use endpoint::{Endpoint, Place};
pub(super) use liveness::Liveness;
pub use settings::Login;
pub(super) use target::SessionAttrs;
pub use target::Target;

use environment::Environment;
use settings::{Settings, usage};

use crate::Result;

/// Gathers all options in libpq's order of precedence; `None` if nothing says where to connect to.
fn gather(conninfo: Option<&str>, login: &Login, env: &Environment) -> Result<Option<Settings>> {
    let mut settings = match conninfo {
        Some(text) => parse::parse(text)?,
        None if login.is_given() || env.names_a_server()? => Settings::default(),
        None => match env.get("DATABASE_URL")? {
            Some(url) => database_url(&url)?,
            None => return Ok(None),
        },
    };
    // As in psql, the connection string has precedence over the options beside it.
    settings.fill_from(login.settings());
    let variables = env.settings()?;
    let named = |name: &str| settings.get(name).or(variables.get(name)).map(str::to_owned);
    if let Some(service) = named("service") {
        let file = named("servicefile");
        settings.fill_from(service::load(&service, file.as_deref(), env)?);
    }
    settings.fill_from(variables);
    settings.check()?;
    Ok(Some(settings))
}

/// Reads `DATABASE_URL`. Other programs share this variable, so it may name another kind of database.
fn database_url(text: &str) -> Result<Settings> {
    let Some(rest) = url::strip_scheme(text) else {
        return Err(usage("DATABASE_URL is not a PostgreSQL URL").with_hint(
            "It begins with postgresql://. Unset it, or say where to connect to with -d.",
        ));
    };
    url::parse(rest)
}
