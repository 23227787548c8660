# An image of the static program: docker build -t pgsluice .
# The base has root certificates for TLS, /tmp, and no shell.
FROM docker.io/library/rust:1-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends musl-tools
WORKDIR /pgsluice
COPY . .
RUN scripts/static_program.sh "$(uname -m)-unknown-linux-musl" /dist \
    && tar -C /dist -xzf /dist/pgsluice-*.tar.gz --strip-components=1

FROM gcr.io/distroless/static-debian12
COPY --from=build /dist/pgsluice /usr/local/bin/pgsluice
ENTRYPOINT ["/usr/local/bin/pgsluice"]
