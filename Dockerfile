# Three images: `server` for production (deploy/compose, deploy/kubernetes), `demo` for docker-compose.yml, and `build`,
# which makes the programs for both.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libssl-dev libpq-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The image is built without git: docker build --build-arg MERCHANT_COMMIT=$(git describe --always --dirty)
ARG MERCHANT_COMMIT=
RUN swift build --configuration release --static-swift-stdlib --product merchant \
    && swift build --configuration release --static-swift-stdlib --product belvo-sandbox \
    && programs=$(swift build --configuration release --show-bin-path) \
    && install -D --target-directory=/programs "$programs/merchant" "$programs/belvo-sandbox"

# The program, the libraries that it is not linked with, and the certificate authorities. Nothing runs as root, nothing
# is written, no shell is called: it works with a root file system that is read-only, and without any capability.
FROM debian:bookworm-slim AS server
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libpq5 libssl3 \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 65532 merchant \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin merchant
COPY --from=build /programs/merchant /usr/local/bin/
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s CMD ["merchant", "ready"]
CMD ["merchant", "serve"]

# To look at: the stand-in for Belvo too, and what makes keys and certificates.
FROM server AS demo
USER root
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openssl \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=65532 --group=65532 /demo
COPY --from=build /programs/belvo-sandbox /source/scripts/lib/make-demo-secrets /usr/local/bin/
USER 65532:65532
HEALTHCHECK NONE
