//! The Python extension module `pgsluice._native`.
