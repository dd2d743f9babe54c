# The front doors; Meson does the work behind them. `make help` lists them.
#
#   BUILD    where to build          PREFIX, DESTDIR   where to install
#   SETUP    what installs missing packages (SETUP=: for nothing)
#   GLIBC    where the glibc of `make glibc` is, and RELEASE which one to build: the system's unless given

BUILD ?= build
PREFIX ?= /usr/local
SETUP ?= tools/setup
GLIBC ?= $(BUILD)/glibc
PLIMSOLL = $(BUILD)/plimsoll
DEMO = $(BUILD)/demo.plim

.PHONY: all help demo glibc check soak bench hot install install-glibc format clean

all: $(BUILD)/build.ninja          ## build the command, the runtime and the examples
	@ninja -C $(BUILD)

help:                              ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 15

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing: run tools/setup build"; exit 1; }
	meson setup $(BUILD) --libdir lib --prefix $(PREFIX)

demo:                              ## profile an example that leaks, print the report, and write the page
	@$(SETUP) build
	@$(MAKE) --no-print-directory all
	$(PLIMSOLL) run -o $(DEMO) -- $(BUILD)/examples/leaky/indexer --rounds 4 src docs
	$(PLIMSOLL) report $(DEMO)
	$(PLIMSOLL) html -o $(BUILD)/demo.html $(DEMO) || true

glibc:                             ## build a glibc with the profiler in its malloc
	@$(SETUP) build glibc
	@src/glibc/build --into $(GLIBC) $(if $(RELEASE),--release $(RELEASE))

check:                             ## build with gcc, clang and sanitizers; run every test
	@$(SETUP) build check glibc
	@tools/check

soak:                              ## the long tests
	@$(SETUP) build check glibc
	@tools/check --soak

bench:                             ## print the tables of the README
	@$(SETUP) build check bench
	@$(MAKE) --no-print-directory all
	@bench/run --build $(BUILD)
	@bench/symbolize/run.sh $(BUILD)

hot: all                           ## print what malloc and free cost when nothing is sampled
	@tools/hot $(BUILD)/libplimsoll.so

install: all                       ## install under $(DESTDIR)$(PREFIX)
	@meson configure $(BUILD) --prefix $(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)
	@[ ! -d $(GLIBC)/lib ] || $(MAKE) --no-print-directory install-glibc

# Meson cannot know whether it is there. Replaced, not overwritten: programs may be running with it.
install-glibc: INSTALLED = $(DESTDIR)$(PREFIX)/lib/plimsoll/glibc
install-glibc:
	@mkdir -p $(INSTALLED)
	@cp -R --remove-destination $(GLIBC)/lib $(GLIBC)/SOURCE $(INSTALLED)/
	@echo "Installing $(GLIBC)/lib to $(INSTALLED)/lib"

format:                            ## clang-format every C and C++ file, but what is glibc's in style
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' ':!src/glibc/add' | \
	    xargs clang-format -i

clean:                             ## remove what was built
	rm -rf $(BUILD) build-check
