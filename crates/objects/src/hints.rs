//! Next steps after failures, with the tools of each service.

use crate::address::{Address, Service};
use crate::failure::{Cause, Failure};

impl Failure {
    /// Returns the failure for an object that does not exist.
    pub fn missing(address: &Address) -> Self {
        Self::new(Cause::NotFound, "the object does not exist").at(address)
    }

    /// Adds the next step with the tools of a service, if there is none yet.
    pub(crate) fn at(self, address: &Address) -> Self {
        if self.hint.is_some() {
            return self;
        }
        let bucket = &address.bucket;
        let hint = match (self.cause, address.service) {
            (Cause::Credentials, Service::S3) => {
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE. For a public bucket, set \
                 AWS_SKIP_SIGNATURE=true."
            }
            (Cause::Credentials, Service::Google) => {
                "Run: gcloud auth application-default login. For a public bucket, set GOOGLE_SKIP_SIGNATURE=true."
            }
            (Cause::Credentials, Service::Azure) => {
                "Set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN. For a public container, set \
                 AZURE_SKIP_SIGNATURE=true."
            }
            (Cause::NotFound, Service::S3) => {
                return self.with_hint(format!("List the bucket: aws s3 ls s3://{bucket}/"));
            }
            (Cause::NotFound, Service::Google) => {
                return self
                    .with_hint(format!("List the bucket: gcloud storage ls gs://{bucket}/"));
            }
            (Cause::Refused, Service::S3) => {
                "Reading needs the permission s3:GetObject; prefixes and patterns need s3:ListBucket."
            }
            (Cause::Refused, Service::Google) => {
                "Reading needs the permission storage.objects.get; prefixes and patterns need storage.objects.list."
            }
            (Cause::Refused, Service::Azure) => "Reading needs the role Storage Blob Data Reader.",
            _ => return self,
        };
        self.with_hint(hint)
    }
}
