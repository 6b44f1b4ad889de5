# Madang for a client that starts it in a container, over standard input and output:
#   docker build --tag madang . && docker run --interactive --rm --volume madang:/data madang
FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements/build.txt requirements/
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement requirements/build.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
# The front end is built here too, with Node from PyPI.
COPY requirements/web.txt requirements/
COPY scripts/web scripts/
COPY web web
COPY src src
RUN python -m hatchling build --target wheel --directory /wheel

FROM python:3.12-slim
COPY requirements/server.txt /tmp/server.txt
RUN pip install --no-cache-dir --require-hashes --no-deps --requirement /tmp/server.txt && rm /tmp/server.txt
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir --no-deps /wheel/*.whl && rm --recursive /wheel \
    && useradd --create-home --uid 1000 madang && mkdir --mode 700 /data && chown madang /data
USER madang
ENV MADANG_DATA_DIR=/data LANG=C.UTF-8
VOLUME /data
ENTRYPOINT ["madang"]
CMD ["mcp"]
