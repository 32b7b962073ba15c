# make demo: installs what building needs, builds the binary, lets the built-in model answer, spreads
#   models over emulated devices, and kills one of five workers while they answer.
# make build: what building needs and the binary only; says which parts it is without, and how to have them.
# make all: every part that this machine can have: gRPC, videos, MQTT, OpenCL, Vulkan, mDNS, MPI, Python.
# make install: installs what is built; PREFIX=/usr/local DESTDIR=.
# make test: also installs compilers and oracles; builds and runs the tests that every change must pass.
# make test-all: the rest of the tests, once before a release.
# make docs: the API reference, in build/docs.
# make python: builds the Python package into build/python.
# make deb: builds Debian packages into build/deb, for this machine and, from amd64, for arm64, with a
#   bill of materials and checksums; make deb SIGN=KEY signs these with a GnuPG key.
# make fast: the checks before a commit. make bench: the race against ONNX Runtime.

# One for each core, fewer where that leaves a job less than about 1 GB of memory.
JOBS ?= $(shell awk -v cores=$$(nproc) '/^MemTotal/ { fit = int($$2 / 1048576 + 0.5); \
  print fit < 1 ? 1 : fit < cores ? fit : cores }' /proc/meminfo)
PREFIX = /usr/local
# Groups of packages.txt for parts that a build may lack (cmake/optional_parts.cmake).
PARTS = grpc video mqtt opencl vulkan avahi mpi python
CONFIGURE = cmake --preset $(1) -Wno-dev >/dev/null
BUILD = cmake --build --preset $(1) -j$(JOBS)

.PHONY: demo build all install deb docs python test test-all test-arm fast bench format

demo: build
	build/release/shoal run
	build/release/shoal emulate --workers 4 --device pi4 --link gigabit --dilate 3
	build/release/shoal chaos --workers 5 --survive 1 --kills 1 --requests 40 --model zoo:squeezenet

build:
	tools/setup
	$(call CONFIGURE,release)
	$(call BUILD,release) --target shoal
	@cat build/release/parts.txt

# Where some packages cannot be had, it goes on without their parts.
all:
	tools/setup
	tools/setup $(PARTS) || for part in $(PARTS); do tools/setup $$part || echo "make all: without $$part" >&2; done
	$(call CONFIGURE,release) -DSHOAL_MPI=AUTO -DSHOAL_PYTHON=AUTO
	$(call BUILD,release) --target shoal_installed
	ln -sfn release/python build/python
	@cat build/release/parts.txt

# Configured anew for another prefix only: as root, after `make all`, nothing is left to build.
install:
	@[ -e build/release/CMakeCache.txt ] || { echo "nothing is built: make all comes first" >&2; exit 1; }
	grep -qx 'CMAKE_INSTALL_PREFIX:PATH=$(PREFIX)' build/release/CMakeCache.txt || \
	  $(call CONFIGURE,release) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	$(call BUILD,release) --target shoal_installed
	DESTDIR='$(DESTDIR)' cmake --install build/release
	[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || ldconfig

docs:
	tools/setup docs
	tools/docs build/docs

# PYTHONPATH=build/python python3 -c 'import shoal'
python:
	tools/setup python
	$(call CONFIGURE,release) -DSHOAL_PYTHON=ON
	$(call BUILD,release) --target shoal_python
	ln -sfn release/python build/python

deb:
	tools/setup deb python avahi grpc $(if $(filter amd64,$(shell dpkg --print-architecture)),deb-arm64)
	SIGN='$(SIGN)' tools/deb

# What lands. Optimised build by g++: every test but those labelled `all`; one that waits runs beside as many that
# compute as there are cores. Sanitized build by clang of what reads hostile bytes and of what has threads: its tests,
# and fuzzers for ten seconds from one seed (longer and from new seeds by hand: tools/fuzz 600).
test:
	tools/setup test oracles sanitize mpi avahi opencl vulkan video rtsp mqtt etcd grpc docs python python-test peers
	$(call CONFIGURE,release) -DSHOAL_TESTS=ON -DSHOAL_TESTS_ONCE=ON -DSHOAL_MPI=ON -DSHOAL_PYTHON=ON
	$(call BUILD,release)
	tools/check
	ctest --preset release -j$$(($(JOBS) + 1)) -LE all
	$(call CONFIGURE,fuzz) -DSHOAL_TESTS=ON
	$(call BUILD,fuzz) --target sanitized_tests
	ctest --preset fuzz -j$(JOBS) -L sanitized
	FUZZ_SEED=1 tools/fuzz 10

# The rest, by hand: 20,000 histories, packages, power cuts, the browser; every test with sanitizers, threads under the
# thread sanitizer, fuzzers for a minute; 64-bit ARM.
test-all: test
	tools/setup kubernetes browser
	ctest --preset release -j$$(($(JOBS) + 1)) -L all
	$(call BUILD,fuzz)
	ctest --preset fuzz -j$(JOBS) -L 'fast|sanitize' -LE sanitized
	tools/fuzz 60
	$(call CONFIGURE,tsan) -DSHOAL_TESTS=ON
	$(call BUILD,tsan) --target threaded_tests
	ctest --preset tsan -j$(JOBS) -L threads
	$(MAKE) --no-print-directory test-arm

# The C++ tests on 64-bit ARM, by cross compiler and qemu-user.
test-arm:
	tools/setup arm
	$(call CONFIGURE,cross-aarch64) -DSHOAL_TESTS=ON
	$(call BUILD,cross-aarch64)
	ctest --preset cross-aarch64 -j$(JOBS)

# What to run before every commit.
fast:
	tools/setup test
	$(call CONFIGURE,release) -DSHOAL_TESTS=ON -DSHOAL_TESTS_ONCE=OFF
	$(call BUILD,release)
	tools/check
	ctest --preset release -L fast

# The race against ONNX Runtime, on a machine that does nothing else: half an hour. Writes
# docs/measurements/. While working on a kernel: bench/peers/race.py build/release --quick. 77 means
# that ONNX Runtime is not here.
bench:
	tools/setup test oracles peers
	$(call CONFIGURE,release) -DSHOAL_BENCH=ON
	$(call BUILD,release) --target shoal bench_gemm bench_peak
	bench/peers/race.py build/release --checks --report --save build/release/race.jsonl || [ $$? = 77 ]

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i
