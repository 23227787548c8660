//! Failures of requests, in words. They quote only the error code of a server, because its other texts may
//! contain the URL of the request, and so a signature.

use std::error::Error;
use std::fmt;

use object_store::client::{HttpError, HttpErrorKind};

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The address cannot be used.
    Name,
    /// The object, or its bucket, does not exist.
    NotFound,
    /// There are no valid credentials.
    Credentials,
    /// The program that gives credentials has failed.
    Provider,
    /// The credentials do not allow the request.
    Refused,
    /// The object is no longer the one that was found.
    Changed,
    /// The server sends only whole objects.
    OnlyWhole,
    /// The bucket is in another region.
    Region,
    /// The clock differs from the server's.
    Clock,
    /// The certificate of the server was not accepted.
    Certificate,
    /// Any other failure, such as of the network.
    Other,
}

/// A request that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its kind.
    pub cause: Cause,
    /// Its reason, to follow a colon.
    pub reason: String,
    /// A next step, as a sentence.
    pub hint: Option<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Error for Failure {}

impl From<Failure> for std::io::Error {
    fn from(failure: Failure) -> Self {
        Self::other(failure)
    }
}

impl Failure {
    pub(crate) fn new(cause: Cause, reason: impl Into<String>) -> Self {
        Self { cause, reason: reason.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the failure for an object that was replaced, cut off or removed after it was found.
    pub(crate) fn changed() -> Self {
        Self::new(Cause::Changed, "the object has changed since the load began")
    }
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as E;
        // A credential provider of our own has failed.
        if let Some(failure) = find::<Self>(&error) {
            return failure.clone();
        }
        let text = error.to_string();
        let answer = ServerAnswer::parse(&text);
        match &error {
            E::NotFound { .. } => answer.not_found(),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => answer.refused(),
            E::Precondition { .. } | E::NotModified { .. } => Self::changed(),
            E::InvalidPath { .. } => Self::new(
                Cause::Name,
                "its name has an empty part, a part \"..\", or a control character",
            ),
            _ => answer.other(&error),
        }
    }
}

/// Returns the first error of this type among an error and its causes.
fn find<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Parts of the library's errors about credentials: the addresses that it asks for them, and its own words.
const CREDENTIALS: [&str; 9] = [
    "://169.254.",
    "://metadata.google.internal",
    "/metadata/identity",
    "token request",
    "token response",
    "federated token file",
    "service account file",
    "Invalid Access Key",
    "az account get-access-token",
];

/// The answer of a server, as far as the text of an error shows it.
struct ServerAnswer<'t> {
    text: &'t str,
    /// The HTTP status.
    status: Option<u16>,
    /// The service's name for the error, such as `AccessDenied`.
    code: Option<&'t str>,
}

impl<'t> ServerAnswer<'t> {
    fn parse(text: &'t str) -> Self {
        let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
        let status = after("status code: ").and_then(|rest| rest.get(..3)?.parse().ok());
        let code = after("<Code>").and_then(|rest| rest.split_once("</Code>"));
        Self { text, status, code: code.map(|(code, _)| code) }
    }

    /// Returns the code and the status, in parentheses.
    fn code_and_status(&self) -> String {
        let status = self.status.map(|status| format!("HTTP status {status}"));
        let code = self.code.filter(|code| code.len() < 80).map(str::to_owned);
        let shown: Vec<String> = code.into_iter().chain(status).collect();
        if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
    }

    fn not_found(&self) -> Failure {
        let reason = match self.code {
            Some("NoSuchBucket" | "ContainerNotFound") => {
                return Failure::new(Cause::NotFound, "the bucket does not exist")
                    .with_hint("Check its name.");
            }
            _ => "the object does not exist",
        };
        Failure::new(Cause::NotFound, reason)
    }

    fn refused(&self) -> Failure {
        let shown = self.code_and_status();
        match self.code {
            Some("RequestTimeTooSkewed") => {
                Failure::new(Cause::Clock, format!("the clock differs from the server's{shown}"))
                    .with_hint("Set the clock of this machine.")
            }
            Some(
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "InvalidToken"
                | "ExpiredToken"
                | "AuthenticationFailed"
                | "TokenRefreshRequired",
            ) => Failure::new(
                Cause::Credentials,
                format!("the server does not accept the credentials{shown}"),
            ),
            _ if self.status == Some(401) => {
                Failure::new(Cause::Credentials, format!("the server asks for credentials{shown}"))
            }
            _ => Failure::new(Cause::Refused, format!("the server refuses access{shown}")),
        }
    }

    fn other(&self, error: &object_store::Error) -> Failure {
        if self.is_of_credentials() {
            return self.explain_credentials();
        }
        let has = |part: &str| self.text.contains(part);
        if has("non-partial response") || has("Range request not supported") {
            return Failure::new(Cause::OnlyWhole, "the server sends only the whole file");
        }
        if self.status == Some(416)
            || has("Wanted range starting at")
            || has("Requested ") && has(", got ")
        {
            return Failure::changed();
        }
        if has("redirect without LOCATION") || matches!(self.code, Some("PermanentRedirect")) {
            return Failure::new(Cause::Region, "the bucket is in another region")
                .with_hint("Set AWS_REGION to the region of the bucket.");
        }
        if let Some("AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") =
            self.code
        {
            return Failure::new(
                Cause::Region,
                format!("the region is wrong{}", self.code_and_status()),
            )
            .with_hint("Set AWS_REGION to the region of the bucket.");
        }
        if self.status == Some(404) {
            return self.not_found();
        }
        // The library has errors of their own only for these answers to requests for one object.
        let is_refusal = matches!(self.status, Some(401 | 403));
        if is_refusal || matches!(self.code, Some("ExpiredToken" | "InvalidToken")) {
            return self.refused();
        }
        if let Some(status) = self.status {
            let reason = match status {
                429 => "the server asks for fewer requests",
                500.. => "the server failed",
                300..400 => "the server redirects the request elsewhere",
                _ => "the server rejects the request",
            };
            return Failure::new(Cause::Other, format!("{reason}{}", self.code_and_status()));
        }
        let Some(http) = find::<HttpError>(error) else {
            // The last cause has no URL: those of requests are in the texts around it.
            let reason = innermost(error).to_string();
            let reason = if reason.contains("://") { "the request failed" } else { &reason };
            return Failure::new(Cause::Other, reason);
        };
        let reason = innermost(http).to_string();
        if reason.contains("certificate") {
            return certificate(&reason);
        }
        Failure::new(
            Cause::Other,
            match http.kind() {
                HttpErrorKind::Connect => format!("could not connect: {}", plain(&reason)),
                HttpErrorKind::Timeout => "the server does not answer".to_owned(),
                _ => format!("the connection failed: {}", plain(&reason)),
            },
        )
    }

    /// Whether the text is about a source of credentials, and not about the object.
    fn is_of_credentials(&self) -> bool {
        CREDENTIALS.iter().any(|part| self.text.contains(part))
    }

    fn explain_credentials(&self) -> Failure {
        let reason = if self.text.contains("service account file") {
            "the file of the service account cannot be read"
        } else {
            "no credentials were found"
        };
        Failure::new(Cause::Credentials, reason)
    }
}

/// Returns the failure for a certificate that rustls rejects, by rustls's reason (`CertificateError`, 0.23).
fn certificate(reason: &str) -> Failure {
    let has = |part: &str| reason.contains(part);
    let failure = |reason: &str| Failure::new(Cause::Certificate, reason);
    if has("UnknownIssuer") {
        failure("no trusted authority has signed the server's certificate")
            .with_hint("To trust its authority, name the file of its certificate in SSL_CERT_FILE.")
    } else if has("not valid for name") || has("NotValidForName") {
        failure("the server's certificate is for another host")
    } else if has("expired") || has("Expired") {
        failure("the server's certificate has expired")
    } else {
        failure(reason)
    }
}

/// Returns the last cause of an error.
fn innermost<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
}

/// Removes the number that the standard library adds to errors of the operating system.
fn plain(reason: &str) -> &str {
    reason.split_once(" (os error ").map_or(reason, |(plain, _)| plain)
}
