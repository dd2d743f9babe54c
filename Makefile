# The entry points; Meson does the work. `make help` lists them.
#
#   BUILD    where to build          PREFIX, DESTDIR   where to install
#   SETUP    what installs missing packages (SETUP=: for nothing)
#   ARCH     the processor to build for: this machine's, or aarch64 (the runtime, or the glibc of `make glibc`)
#   GLIBC    where the glibc of `make glibc` is, and RELEASE which one to build: the system's unless given

ARCH ?= $(shell uname -m)
BUILD ?= build$(if $(CROSS),-$(ARCH))
CROSS = $(filter-out $(shell uname -m),$(ARCH))
PREFIX ?= /usr/local
SETUP ?= tools/setup
GLIBC ?= $(BUILD)/glibc
PLIMSOLL = $(BUILD)/plimsoll
DEMO = $(BUILD)/demo.plim

# DESTDIR as an absolute path: Meson takes a relative one to be relative to BUILD.
STAGE = $(if $(DESTDIR),$(shell realpath --canonicalize-missing --no-symlinks -- "$(DESTDIR)"))

# -jN is passed on to the tools that this file runs. With a bare -j they choose the number themselves.
JOBS = $(filter-out -j,$(filter -j%,$(MAKEFLAGS)))

.PHONY: all help demo page glibc check soak bench hot install install-glibc uninstall dist deb format clean

all: $(BUILD)/build.ninja          ## build the command, the runtime and the examples
	@ninja -C $(BUILD) $(JOBS) product

help:                              ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 15

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing: run tools/setup build" >&2; exit 1; }
	@mkdir -p $(BUILD) 2>/dev/null && test -w $(BUILD) || \
	    { echo "cannot write to $(BUILD): name another directory, as in: make BUILD=/tmp/plimsoll" >&2; exit 1; }
	meson setup $(BUILD) --libdir lib --prefix "$(PREFIX)" $(if $(CROSS),--cross-file tools/cross/$(CROSS).ini)

demo:                              ## profile an example that leaks, print the report, and write the page
	@$(SETUP) build
	@$(MAKE) --no-print-directory all
	$(PLIMSOLL) run -o $(DEMO) -- $(BUILD)/examples/leaky/indexer --rounds 4 src docs
	$(PLIMSOLL) report $(DEMO)
	$(PLIMSOLL) html -o $(BUILD)/demo.html $(DEMO)

page:                              ## bundle the page from web/src again, after changing it
	@$(SETUP) page
	@tools/modules web
	@node web/build.mjs

glibc:                             ## build a glibc with the profiler in its malloc
	@$(SETUP) build glibc $(CROSS)
	@src/glibc/build --into $(GLIBC) $(JOBS:-j%=--jobs %) $(if $(RELEASE),--release $(RELEASE)) \
	    $(if $(CROSS),--arch $(CROSS))

check:                             ## build with gcc, clang and sanitizers, and for aarch64; run every test
	@$(SETUP) build check glibc aarch64
	@tools/check $(JOBS)

soak:                              ## the long tests
	@$(SETUP) build check soak glibc aarch64 arm64
	@tools/check --soak $(JOBS)

bench:                             ## print the tables of docs/cost.md
	@$(SETUP) build check bench
	@$(MAKE) --no-print-directory all
	@bench/run --build $(BUILD)
	@bench/symbolize/run.sh $(BUILD)

hot: all                           ## print what malloc and free cost when nothing is sampled
	@tools/hot --arch $(ARCH) $(BUILD)/libplimsoll.so

# The prefix is part of the configuration. Meson refuses to replace a file by a link; earlier versions installed a file.
install: $(BUILD)/build.ninja      ## install under $(DESTDIR)$(PREFIX)
	@[ "$$(cat $(BUILD)/prefix 2>/dev/null)" = "$(PREFIX)" ] || \
	    meson setup --reconfigure $(BUILD) --prefix "$(PREFIX)" >$(BUILD)/reconfigure.log 2>&1 || \
	    { cat $(BUILD)/reconfigure.log >&2; exit 1; }
	@echo "$(PREFIX)" >$(BUILD)/prefix
	@$(MAKE) --no-print-directory all
	@[ -L "$(STAGE)$(PREFIX)/lib/plimsoll/libplimsoll.so" ] || rm -f "$(STAGE)$(PREFIX)/lib/plimsoll/libplimsoll.so"
	@DESTDIR="$(STAGE)" meson install -C $(BUILD) --no-rebuild
	@[ ! -d $(GLIBC)/lib ] || $(MAKE) --no-print-directory install-glibc
	@tools/installed record --log "$(BUILD)/meson-logs/install-log.txt" "$(STAGE)" "$(PREFIX)"

# Meson cannot know whether our glibc was built. It is replaced, not overwritten: programs may be running with it.
install-glibc: INSTALLED = $(STAGE)$(PREFIX)/lib/plimsoll/glibc
install-glibc:
	@mkdir -p "$(INSTALLED)"
	@cp -R --remove-destination $(GLIBC)/lib $(GLIBC)/SOURCE "$(INSTALLED)/"
	@echo "Installing $(GLIBC)/lib to $(INSTALLED)/lib"

uninstall:                         ## remove what `make install` has put there, and nothing else
	@tools/installed remove "$(STAGE)" "$(PREFIX)"

dist:                              ## make the release tarball of the last commit, in $(BUILD)/dist
	@tools/dist "$(BUILD)/dist"

deb:                               ## build Debian packages, in $(BUILD)/deb
	@$(SETUP) build deb
	@DEB_BUILD_OPTIONS="$(DEB_BUILD_OPTIONS) $(JOBS:-j%=parallel=%)" tools/deb "$(BUILD)/deb"

format:                            ## clang-format every C and C++ file, except those in glibc's style
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' ':!src/glibc/add' | \
	    xargs clang-format -i

clean:                             ## remove what was built
	rm -rf $(BUILD) build-check
