# PostgreSQL 18 with pgvector and nwhead, and the program nwhead:
#
#   docker build -t nwhead .
#   docker run -d -e POSTGRES_PASSWORD=secret -p 5432:5432 nwhead
#
# Both stages are the same Debian release, with the servers of apt.postgresql.org, which
# the image of PostgreSQL is set up for.

FROM postgres:18-trixie AS build
COPY . /src/nwhead
RUN cd /src/nwhead && PG_SUPPORTED_VERSIONS=18 DEB_BUILD_PROFILES=nocheck DEB_BUILD_OPTIONS=nocheck tools/deb install

FROM postgres:18-trixie
COPY --from=build /src/nwhead/build/deb/*.deb /tmp/deb/
RUN rm -f /tmp/deb/*-dbgsym_* && apt-get update && apt-get install -y --no-install-recommends /tmp/deb/*.deb \
	&& rm -rf /tmp/deb /var/lib/apt/lists/*
