# The .deb on a small Debian: docker build --tag weir .
# How to run it: docs/install.md
FROM debian:12-slim AS build
WORKDIR /source
COPY . .
RUN ./do package

FROM debian:12-slim
COPY --from=build /source/build/package/weir_*.deb /tmp/weir.deb
# The user has a number that is known from outside, for systems that ask whether it is root's.
RUN groupadd --system --gid 900 weir \
    && useradd --system --uid 900 --gid weir --home-dir /nonexistent --shell /usr/sbin/nologin weir \
    && apt-get update \
    && apt-get install --yes --no-install-recommends /tmp/weir.deb \
    && rm -rf /tmp/weir.deb /var/lib/apt/lists/*
USER 900:900
EXPOSE 7379 7390
HEALTHCHECK --interval=10s --timeout=3s CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/7390; printf 'GET /readyz HTTP/1.0\\r\\n\\r\\n' >&3; read -r answer <&3; [[ $answer == *' 200 '* ]]"]
# All addresses of the container; which of them others reach is up to docker run --publish.
ENTRYPOINT ["weir", "serve", "--resp", "0.0.0.0:7379", "--metrics", "0.0.0.0:7390"]
