# nwhead: Nadaraya-Watson classification in PostgreSQL
#
#   make demo           install what is missing, build, train a network, show it at work
#   make demo-quick     the same without a network, on plain pixels
#   make test           the same, and run every test
#   make torture        the same, and mistreat it for hours (TORTURE="kill:50 cancel"
#                       chooses; see docs/reliability.md)
#   make fuzz           the same, and run the fuzzers for long (FUZZ_RUNS=1000000)
#   make bench          the same, and measure it against its peers
#   make matrix         make test and make demo on fresh systems: hours (MATRIX="sid
#                       noble:regress" chooses; see tools/matrix)
#   make matrix-quick   set-up, build and pg_regress on each: about as long as make test
#   make setup          only install what is missing
#
# Plain PGXS, for packagers: make, make install, make installcheck (against a
# running server), PG_CONFIG=/path/to/pg_config.

EXTENSION = nwhead
MODULE_big = nwhead
DATA = $(sort $(wildcard nwhead--*.sql))

# Every file of src/ belongs to the module, so that no list can fall behind.  The
# rooms, and which of them may include which, are in docs/architecture.md.
ROOMS = src src/sql src/predict src/index src/sets src/bytes src/math src/math/simd
TOP = $(or $(VPATH),.)
OBJS = $(patsubst $(TOP)/%.c,%.o,$(sort $(wildcard $(ROOMS:%=$(TOP)/%/*.c))))

# One arithmetic everywhere: a product and a sum are fused only where the source
# says so, in bitcode too (see below).
PG_CFLAGS = -std=gnu11 -ffp-contract=off
PG_CPPFLAGS = -I$(TOP)/src

REGRESS = $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS_OPTS = --outputdir=build/regress --encoding=UTF8 --no-locale \
	--load-extension=vector --load-extension=nwhead
REGRESS_PREP = build/regress

EXTRA_CLEAN = build

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

all:

ifneq ($(wildcard $(PGXS)),)

# A PostgreSQL built with JIT wants bitcode, and a certain clang for it; without
# that clang the extension is built all the same.
CLANG_OF_SERVER := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(shell command -v $(or $(CLANG_OF_SERVER),clang) 2>/dev/null),)
override with_llvm := no
endif

include $(PGXS)

override BITCODE_CFLAGS += $(PG_CFLAGS)

# The module's own symbols are looked for in the module alone: every new
# connection that uses it loads it that much faster.
ifeq ($(PORTNAME),linux)
SHLIB_LINK += -Wl,-Bsymbolic
endif

$(OBJS) $(OBJS:.o=.bc): $(wildcard $(ROOMS:%=$(TOP)/%/*.h))

else

all install uninstall installcheck:
	@echo "PostgreSQL's server headers were not found through '$(PG_CONFIG)'." >&2
	@echo "Run 'make setup', or install them (Debian: postgresql-server-dev-NN)" >&2
	@echo "and set PG_CONFIG=/path/to/pg_config where it is not on PATH." >&2
	@exit 1

clean:
	rm -rf $(EXTRA_CLEAN)

.PHONY: all install uninstall installcheck clean

endif

build/regress:
	mkdir -p $@

setup:
	@tools/setup

test:
	@tools/setup test
	@test/run

TORTURE ?=

torture:
	@tools/setup torture
	@test/torture/run $(TORTURE)

fuzz:
	@tools/setup test
	@test/fuzz/run --keep --runs $(or $(FUZZ_RUNS),1000000)

MATRIX ?=

matrix:
	@tools/matrix $(MATRIX)

matrix-quick:
	@tools/matrix quick

# Room for the data of demo and benchmarks; see tools/cluster.
define big_cluster
shared_buffers = $(BUFFERS)
maintenance_work_mem = 256MB
max_wal_size = 4GB
endef
demo demo-quick bench: export CLUSTER_CONF ?= $(big_cluster)
demo demo-quick: BUFFERS = 1GB
bench: BUFFERS = 3GB

demo:
	@tools/setup demo trainer
	@bash -c '. tools/env.sh && quietly install_extension && \
		quietly make -s -j "$$(nproc)" -C trainer BUILD="$$NW_BUILD"'
	@tools/cluster run demo/run

demo-quick:
	@tools/setup demo
	@bash -c '. tools/env.sh && quietly install_extension'
	@tools/cluster run demo/quick

bench:
	@tools/setup bench
	@bash -c '. tools/env.sh && quietly install_extension'
	@tools/cluster run bench/run

.PHONY: setup test torture fuzz demo demo-quick bench matrix matrix-quick
