# make demo: set up, build, let the built-in model answer, spread models over emulated devices, and
# kill one of five workers while they answer.
# make test: set up, build, all tests.
# make bench: set up, build, race against ONNX Runtime.
JOBS ?= 2
BUILD = cmake --preset $(1) -Wno-dev >/dev/null && cmake --build --preset $(1) -j$(JOBS)

.PHONY: demo test test-arm fast bench build format setup setup-peers

demo: build
	build/release/shoal run
	build/release/shoal emulate --workers 4 --device pi4 --link gigabit --dilate 3
	build/release/shoal chaos --workers 5 --survive 1 --kills 1 --requests 40 --model zoo:mobilenetv2

# Optimised build by g++ with every test; sanitized build by clang with the fast ones and the
# hostile models; then each fuzzer for twenty seconds (longer by hand: tools/fuzz 600).
test: setup-peers
	tools/setup mpi avahi
	cmake --preset release -Wno-dev -DSHOAL_MPI=ON >/dev/null && cmake --build --preset release -j$(JOBS)
	tools/check
	ctest --preset release -j$(JOBS)
	$(call BUILD,fuzz)
	ctest --preset fuzz -j$(JOBS) -L 'fast|sanitize'
	tools/fuzz 20

# The C++ tests on 64-bit ARM, by cross compiler and qemu-user.
test-arm:
	tools/setup arm
	$(call BUILD,cross-aarch64)
	ctest --preset cross-aarch64 -j$(JOBS)

# What to run before every commit.
fast: build
	tools/check
	ctest --preset release -L fast

# The race against ONNX Runtime, on a machine that does nothing else: half an hour. Writes
# docs/performance.md. While working on a kernel: bench/peers/race.py build/release --quick.
bench: setup-peers
	cmake --preset release -Wno-dev -DSHOAL_BENCH=ON >/dev/null
	cmake --build --preset release -j$(JOBS) --target shoal bench_gemm bench_peak
	bench/peers/race.py build/release --checks --report --save build/release/race.jsonl

build: setup
	$(call BUILD,release)

format:
	git ls-files '*.cc' '*.h' | xargs clang-format -i

setup:
	tools/setup

setup-peers:
	tools/setup peers
