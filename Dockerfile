# The service alone: `docker run -p 8000:8000 -v fabcost:/var/lib/fabcost/data fabcost`.
# It listens on all addresses and so does not start without API keys; see docs/how-to/operations.md.

FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254 AS base

FROM base AS build
WORKDIR /build
COPY pyproject.toml requirements-service.lock README.md LICENSE ./
COPY src src
RUN python -m venv /opt/fabcost \
 && /opt/fabcost/bin/pip install --no-cache-dir --require-hashes --requirement requirements-service.lock \
 && /opt/fabcost/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM base
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/fabcost fabcost \
 && install --directory --owner=fabcost /var/lib/fabcost/data
COPY --from=build /opt/fabcost /opt/fabcost
ENV PATH=/opt/fabcost/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/var/lib/fabcost/kernels \
    FABCOST_HOST=0.0.0.0 \
    FABCOST_PORT=8000 \
    FABCOST_DATABASE=/var/lib/fabcost/data/fabcost.db
USER 10001
# Compiles the kernels now rather than at the first start.
RUN python -c "import asyncio; from fabcost.service.server import warm_up; asyncio.run(warm_up())"
WORKDIR /var/lib/fabcost/data
VOLUME ["/var/lib/fabcost/data"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["fabcost"]
CMD ["serve"]
