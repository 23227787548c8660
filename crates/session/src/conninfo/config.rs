//! The options that tokio-postgres handles itself: login and startup settings.

use tokio_postgres::Config;
use tokio_postgres::config::ChannelBinding;

use super::environment::Environment;
use super::liveness::Liveness;
use super::settings::Settings;
use crate::Result;

/// Builds the configuration without hosts, passwords and TLS, which differ by attempt.
pub(super) fn base(
    settings: &Settings,
    env: &Environment,
    user: &str,
    database: &str,
    liveness: &Liveness,
) -> Result<Config> {
    let mut config = Config::new();
    config.user(user).dbname(database);
    let name = settings.get("application_name").or(settings.get("fallback_application_name"));
    config.application_name(name.unwrap_or("pgsluice"));
    if let Some(options) = startup_options(settings, env)? {
        config.options(options);
    }
    config.channel_binding(settings.choice(
        "channel_binding",
        &[
            ("prefer", ChannelBinding::Prefer),
            ("disable", ChannelBinding::Disable),
            ("require", ChannelBinding::Require),
        ],
    )?);
    liveness.set(&mut config);
    Ok(config)
}

/// Returns the startup options. libpq sends these variables as separate settings; here they follow the options,
/// so they win too.
fn startup_options(settings: &Settings, env: &Environment) -> Result<Option<String>> {
    let mut options: Vec<String> =
        settings.get("options").iter().map(ToString::to_string).collect();
    for (variable, setting) in
        [("PGDATESTYLE", "datestyle"), ("PGTZ", "timezone"), ("PGGEQO", "geqo")]
    {
        match env.get(variable)? {
            Some(value) if !value.eq_ignore_ascii_case("default") => {
                options.push(format!("-c {setting}={}", escape_option(&value)));
            }
            _ => {}
        }
    }
    Ok(Some(options.join(" ")).filter(|options| !options.is_empty()))
}

fn escape_option(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if c == '\\' || c.is_ascii_whitespace() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
