# Both programs in one small image; docker-compose.yml says which of them a container runs.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libssl-dev libpq-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The image is built without git: docker compose build --build-arg MERCHANT_COMMIT=$(git describe --always --dirty)
ARG MERCHANT_COMMIT=
RUN swift build --configuration release --static-swift-stdlib --product merchant \
    && swift build --configuration release --static-swift-stdlib --product belvo-sandbox \
    && programs=$(swift build --configuration release --show-bin-path) \
    && install -D --target-directory=/programs "$programs/merchant" "$programs/belvo-sandbox"

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libssl3 libpq5 openssl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system merchant \
    && install --directory --owner=merchant --group=merchant /demo
COPY --from=build /programs/ /source/scripts/lib/make-demo-secrets /usr/local/bin/
USER merchant
CMD ["merchant", "serve"]
