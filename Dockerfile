# One image for all processes of the Procfile. `make image` builds it; docs/deploy.md says how it is run.
#
# Nothing in it is written to at run time, but TMPDIR (/tmp): its root may be read-only. It runs as a user without rights.
ARG BASE=debian:13-slim
FROM ${BASE} AS system
# postgresql-client: for deploy/backup. Debian 13's is of version 17.
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        python3 ca-certificates postgresql-client >/dev/null \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb \
    && useradd --system --uid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin engage

FROM system AS installed
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
WORKDIR /opt/engage
# The lock, or locks, such as "requirements-oidc.txt requirements-otel.txt": each has all, and what its extra needs.
ARG REQUIREMENTS=requirements.txt
# Where packages come from, if not from where pip looks by itself.
ARG PIP_INDEX_URL
ARG PIP_CERT
COPY requirements*.txt /tmp/locks/
RUN python3 -m venv --without-pip .venv && python3 -m venv /tmp/pip \
    && set -- && for lock in ${REQUIREMENTS}; do set -- "$@" -r "/tmp/locks/$lock"; done \
    && /tmp/pip/bin/pip --python .venv/bin/python install --quiet --disable-pip-version-check --no-cache-dir \
        --require-hashes --no-deps --only-binary :all: "$@"
# .dockerignore lets only what runs through.
COPY . .
# Settings that a process in production demands; none is used, and none is kept.
RUN ENVIRONMENT=production SECRET_KEY="$(od -An -N40 -tx1 /dev/urandom | tr -d ' \n')" ALLOWED_HOSTS=engage.example \
    DATABASE_URL=postgres://engage@127.0.0.1/engage REDIS_URL=redis://127.0.0.1/0 \
    .venv/bin/python manage.py collectstatic --noinput --verbosity 0 \
    && .venv/bin/python -m compileall -q config engage customers journeys bridge \
    && chmod -R a+rX .

FROM system
COPY --from=installed /opt/engage /opt/engage
WORKDIR /opt/engage
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="Engage" \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${COMMIT}"
ENV PATH=/opt/engage/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    ENVIRONMENT=production COMMIT=${COMMIT} HOST=0.0.0.0 PORT=8000
USER 10001:10001
EXPOSE 8000
# Of `web`; the other processes listen nowhere, so whoever runs them turns this off.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET /livez HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
CMD ["python", "-m", "config.serving"]
