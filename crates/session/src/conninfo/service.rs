//! Service files: named groups of connection options.
//!
//! Source: `parseServiceInfo` and `parseServiceFile` in `src/interfaces/libpq/fe-connect.c`, 18.

use std::fs;
use std::path::Path;

use super::environment::Environment;
use super::settings::{Settings, usage};
use crate::Result;

/// Loads the options of a service: from the named file or `~/.pg_service.conf`, else from the system's file.
pub(super) fn load(service: &str, file: Option<&str>, env: &Environment) -> Result<Settings> {
    let own = match file {
        Some(file) => Some(file.into()),
        None => env.home.as_ref().map(|home| home.join(".pg_service.conf")).filter(|f| f.exists()),
    };
    let system = env.system_directory()?.join("pg_service.conf");
    let system = Some(system).filter(|file| file.exists());
    for path in [own, system].into_iter().flatten() {
        if let Some(settings) = read_file(service, &path)? {
            return Ok(settings);
        }
    }
    Err(usage(format!("definition of service \"{service}\" not found")).with_hint(
        "Define services in ~/.pg_service.conf, or in the file that PGSERVICEFILE names.",
    ))
}

fn read_file(service: &str, path: &Path) -> Result<Option<Settings>> {
    let text = fs::read_to_string(path).map_err(|error| {
        usage(format!("service file \"{}\" not found", path.display()))
            .with_detail(error.to_string())
    })?;
    find_group(service, &text, path)
}

fn find_group(service: &str, text: &str, path: &Path) -> Result<Option<Settings>> {
    let mut found: Option<Settings> = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if name.strip_prefix(service).is_some_and(|rest| rest.starts_with(']')) {
                found = Some(Settings::default());
            }
        } else if let Some(settings) = &mut found {
            read_line(line, settings).map_err(|what| {
                usage(format!("{what} in service file \"{}\", line {number}", path.display()))
            })?;
        }
    }
    Ok(found)
}

/// Reads a line of a group. As in libpq, the first value of an option counts.
fn read_line(line: &str, settings: &mut Settings) -> Result<(), &'static str> {
    if line.starts_with("ldap") {
        return Err("LDAP lookup is not supported, found");
    }
    let (name, value) = line.split_once('=').ok_or("syntax error")?;
    if name == "service" || name == "servicefile" {
        return Err("nested service specifications not supported");
    }
    let mut one = Settings::default();
    if !one.set(name, value) {
        return Err("syntax error");
    }
    settings.fill_from(one);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# mine\n[other]\nhost=no\n\n[mine]\n  host=a  \nport=1\nport=2\n[mine]\nuser=no\n";

    fn find(service: &str, text: &str) -> Result<Option<Settings>> {
        find_group(service, text, Path::new("services"))
    }

    #[test]
    fn reads_the_first_group_of_that_name_only() {
        let settings = find("mine", FILE).unwrap().unwrap();
        assert_eq!(settings.get("host"), Some("a"));
        assert_eq!(settings.get("port"), Some("1"));
        assert_eq!(settings.get("user"), None);
        assert!(find("absent", FILE).unwrap().is_none());
    }

    #[test]
    fn says_file_and_line_of_a_mistake() {
        let cases = [
            ("host", "syntax error"),
            ("host = a", "syntax error"),
            ("colour=red", "syntax error"),
            ("service=b", "nested service specifications not supported"),
            ("ldap://server/x", "LDAP lookup is not supported, found"),
        ];
        for (line, what) in cases {
            let error = find("s", &format!("[s]\n{line}\n")).err().unwrap().to_string();
            assert_eq!(error, format!("{what} in service file \"services\", line 2"));
        }
    }
}
