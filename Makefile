# nwhead: Nadaraya-Watson classification in PostgreSQL
#
#   make demo           install what is missing, build, train a network, show it at work
#   make demo-quick     the same without a network, on plain pixels
#   make test           the same, and run every test
#   make torture        the same, and mistreat it for hours (TORTURE="kill:50 cancel"
#                       chooses; see docs/reliability.md)
#   make fuzz           the same, and run the fuzzers for long (FUZZ_RUNS=1000000)
#   make cross          the same, and run the pure C on other processors, emulated
#   make bench          the same, and measure it against its peers
#   make matrix         make test and make demo on fresh systems: hours (MATRIX="sid
#                       noble:regress" chooses; see tools/matrix)
#   make matrix-quick   set-up, build and pg_regress on each
#   make setup          only install what is missing
#   make dist           write the archives of a release into build/dist
#   make deb            build Debian packages into build/deb; deb-install: and install
#                       them, after what it takes to build them
#
# Plain PGXS, for packagers: make, make install, make installcheck (against a
# running server), PG_CONFIG=/path/to/pg_config.  To build in another folder, run
# make -f /path/to/Makefile there, or set VPATH.

# Where the sources are, as PGXS has it.
TOP := $(or $(VPATH),$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST)))))

EXTENSION = nwhead
MODULE_big = nwhead
DATA = $(notdir $(sort $(wildcard $(TOP)/nwhead--*.sql)))

# Every file of src/ belongs to the module, so that no list can fall behind.  The
# rooms, and which of them may include which, are in docs/architecture.md.
ROOMS = src src/sql src/predict src/index src/sets src/bytes src/math src/math/simd
OBJS := $(patsubst $(TOP)/%.c,%.o,$(sort $(wildcard $(ROOMS:%=$(TOP)/%/*.c))))

ifeq ($(OBJS),)
$(error no sources of nwhead in '$(TOP)': set VPATH to the folder of its Makefile)
endif

# Through VPATH, make would take objects of the sources' own folder for those to
# make here, be they for another server or not.
ifneq ($(realpath $(TOP)),$(realpath .))
ifneq ($(filter all install nwhead.so,$(or $(MAKECMDGOALS),all)),)
ifneq ($(wildcard $(addprefix $(TOP)/,$(OBJS) nwhead.so)),)
$(error nwhead was built in '$(TOP)': run 'make clean' there first)
endif
endif
endif

# One arithmetic everywhere: a product and a sum are fused only where the source
# says so, in bitcode too (see below).
#
# From 19 on, the server's headers are for the dialect of C, 11 or later, that its
# compiler has without being asked.
STANDARD = $(if $(filter 15 16 17 18,$(MAJORVERSION)),-std=gnu11)
PG_CFLAGS = $(STANDARD) -ffp-contract=off
PG_CPPFLAGS = -I$(TOP)/src

REGRESS = $(patsubst $(TOP)/sql/%.sql,%,$(sort $(wildcard $(TOP)/sql/*.sql)))
REGRESS_OPTS = --outputdir=build/regress --encoding=UTF8 --no-locale \
	--load-extension=vector --load-extension=nwhead
REGRESS_PREP = regress_folder

EXTRA_CLEAN = build

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

all:

ifneq ($(wildcard $(PGXS)),)

# A PostgreSQL built with JIT wants bitcode, and a certain clang for it; without
# that clang, and what links it, the extension is built all the same.
GLOBAL_OF_SERVER := $(dir $(PGXS))../Makefile.global
CLANG_OF_SERVER := $(shell sed -n 's/^CLANG *= *//p' $(GLOBAL_OF_SERVER))
LLVM_OF_SERVER := $(shell sed -n 's/^LLVM_BINPATH *= *//p' $(GLOBAL_OF_SERVER))
ifeq ($(and $(shell command -v $(or $(CLANG_OF_SERVER),clang) 2>/dev/null), \
	$(shell command -v $(LLVM_OF_SERVER:%=%/)llvm-lto 2>/dev/null)),)
override with_llvm := no
endif

include $(PGXS)

override BITCODE_CFLAGS += $(PG_CFLAGS)

# The module's own symbols are looked for in the module alone: every new
# connection that uses it loads it that much faster.
ifeq ($(PORTNAME),linux)
SHLIB_LINK += -Wl,-Bsymbolic
endif

$(OBJS) $(OBJS:.o=.bc): $(wildcard $(ROOMS:%=$(TOP)/%/*.h)) build/server-of-objects | rooms

# Objects are made anew for another server.
SERVER := $(shell $(PG_CONFIG) --version), $(shell $(PG_CONFIG) --pkglibdir)

build/server-of-objects: always
	@mkdir -p build
	@echo '$(SERVER)' | cmp -s - $@ || echo '$(SERVER)' >$@

.PHONY: always

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

# Not the folders' own names: make would find those of the sources.
rooms:
	@mkdir -p $(ROOMS)

regress_folder:
	@mkdir -p build/regress

.PHONY: rooms regress_folder

setup:
	@'$(TOP)/tools/setup'

test:
	@'$(TOP)/tools/setup' test
	@'$(TOP)/test/run'

dist:
	@'$(TOP)/tools/dist'

deb:
	@'$(TOP)/tools/deb'

deb-install:
	@'$(TOP)/tools/deb' install

TORTURE ?=

torture:
	@'$(TOP)/tools/setup' torture
	@'$(TOP)/test/torture/run' $(TORTURE)

fuzz:
	@'$(TOP)/tools/setup' test
	@'$(TOP)/test/fuzz/run' --keep --runs $(or $(FUZZ_RUNS),1000000)

cross:
	@'$(TOP)/tools/setup' cross
	@'$(TOP)/test/cross/run'

MATRIX ?=

matrix:
	@'$(TOP)/tools/matrix' $(MATRIX)

matrix-quick:
	@'$(TOP)/tools/matrix' quick

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
	@'$(TOP)/tools/setup' demo trainer
	@cd '$(TOP)' && bash -c '. tools/env.sh && quietly install_extension && \
		quietly make -s -j "$$(nproc)" -C trainer BUILD="$$(realpath --relative-to=trainer "$$NW_BUILD")"'
	@'$(TOP)/tools/cluster' run '$(TOP)/demo/run'

demo-quick:
	@'$(TOP)/tools/setup' demo
	@cd '$(TOP)' && bash -c '. tools/env.sh && quietly install_extension'
	@'$(TOP)/tools/cluster' run '$(TOP)/demo/quick'

bench:
	@'$(TOP)/tools/setup' bench
	@cd '$(TOP)' && bash -c '. tools/env.sh && quietly install_extension'
	@'$(TOP)/tools/cluster' run '$(TOP)/bench/run'

.PHONY: setup test dist deb deb-install torture fuzz cross matrix matrix-quick demo demo-quick bench
